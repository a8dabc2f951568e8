"""What a network sees: all of the observation, whatever the suits are called."""

import numpy as np
import pytest

from nap_env.actions import ACTIONS, FIRST_BID, FIRST_SUIT, action_id
from nap_env.agents import features
from nap_env.batch import Batch
from nap_env.cards import SUIT_NAMES, SUITS
from nap_env.engine.kernel import kernel
from nap_env.game import Game
from nap_env.observation import layout
from nap_env.presets import PRESETS
from nap_env.rules import rules_table


@kernel
def write(games, table, i, seat, in_order, entries, views, places, values, actions):
    g = games[i]
    turn = features.suit_order(g, table[0], seat, in_order)
    end = features.write_features(g, table[0], seat, turn, entries, views[0], places, values, 0)
    return turn, end, features.write_actions(g, turn, actions, 0)


def seen(games, table, shape, seat, in_order, i=0):
    """Return what a seat sees as a dense row (K,), and the actions, as a network knows them."""
    entries = features.entries(shape)
    places, values = np.zeros(shape.size, np.uint16), np.zeros(shape.size, np.int8)
    actions = np.zeros(len(ACTIONS), np.uint8)
    turn, end, last = write(
        games, table, i, seat, in_order, entries, shape.new_view(), places, values, actions,
    )  # fmt: skip
    assert len(set(places[:end].tolist())) == end
    row = np.zeros(shape.size, np.float32)
    row[places[:end]] = values[:end] * entries["factor"][places[:end]]
    return row, actions[:last].tolist(), turn


@pytest.mark.parametrize("preset", PRESETS)
def test_features_are_the_observation_in_short(preset):
    rules = PRESETS[preset]
    players = max(n for n in range(2, 9) if can_seat(rules, n))
    games = Batch(rules, players, 40, seed=1)
    table, shape = rules_table(rules, players), layout(rules, players)
    scale = np.ones(shape.size, np.float32)
    scale[shape.num_bits :] = 1 / 16
    scale[shape.slice("order")] = 0
    for _ in range(40):
        for i in range(0, 40, 7):
            row, actions, _ = seen(games.games, table, shape, games.seat[i], False, i)
            np.testing.assert_array_equal(row, games.observation[i] * scale)
            assert actions == np.flatnonzero(games.action_mask[i]).tolist()
        games.step(games.sample())


def can_seat(rules, players):
    try:
        rules.check_players(players)
    except ValueError:
        return False
    return True


def renamed(record, names):
    """Return a record with its suits renamed: `names` says what C, D, H, S become."""

    def card(text):
        return text[0] + names[SUITS.index(text[1])] if text != "JK" else text

    def event(name):
        if name in SUIT_NAMES:
            return SUIT_NAMES[SUITS.index(names[SUIT_NAMES.index(name)])]
        return card(name) if action_id(name) < FIRST_SUIT - 6 else name

    return {
        **record,
        "hands": [[card(text) for text in hand] for hand in record["hands"]],
        "widow": [card(text) for text in record["widow"]],
        "stock": [card(text) for text in record["stock"]],
        "events": [[seat, event(name)] for seat, name in record["events"]],
    }


@pytest.mark.parametrize("names", ["DCHS", "HSDC", "SHCD"])
@pytest.mark.parametrize(("preset", "players"), [("standard", 4), ("peep", 5), ("modern", 4)])
def test_suits_have_no_names(preset, players, names):
    rules = PRESETS[preset]
    table, shape = rules_table(rules, players), layout(rules, players)
    games = Batch(rules, players, 30, seed=3)
    different = 0
    for _ in range(25):
        for i in range(0, 30, 4):
            record = games.record(i)
            try:
                other = Game(rules, players, 0)
                other.set_up_as(None, {"record": renamed(record, names)})
            except ValueError:
                continue  # marks are made in increasing ids: renamed, they may come in wrong order
            if other.over or other.seat is None:
                continue
            mine, actions, _ = seen(games.games, table, shape, games.seat[i], True, i)
            theirs, theirs_too, _ = seen(other.games, table, shape, other.seat, True)
            np.testing.assert_array_equal(mine, theirs)
            assert sorted(actions) == sorted(theirs_too)
            as_is, _, _ = seen(games.games, table, shape, games.seat[i], False, i)
            different += (as_is != mine).any()
        games.step(games.sample())
    assert different > 20


def test_trumps_come_first_then_the_longest_suit():
    rules = PRESETS["parlett"]
    table, shape = rules_table(rules, 3), layout(rules, 3)
    game = Game(rules, 3, 0)
    hands = ["AC KH QH 2S 3S", "AS KS QS JS 4D", "2C 3C 4C 5C 6C"]
    game.set_up_as(None, {"dealer": 2, "hands": [hand.split() for hand in hands]})
    while game.phase != "play":
        game.step(action_id("three" if game.seat == 0 else "pass"))
    game.step(action_id("AC"))
    _, _, turn = seen(game.games, table, shape, 0, True)
    # Clubs are trumps; two hearts and two spades: K Q are more than 3 2; no diamonds.
    assert [turn >> (2 * suit) & 3 for suit in range(4)] == [0, 3, 1, 2]


def test_an_action_is_turned_with_the_suits():
    @kernel
    def turned(turn, action):
        return features.turned_action(turn, action)

    turn = 0b00_01_10_11  # clubs last, spades first
    assert turned(turn, action_id("2C")) == action_id("2S")
    assert turned(turn, action_id("AH")) == action_id("AD")
    assert turned(turn, action_id("spades")) == action_id("clubs")
    for name in ("JK", "pass", "done", "decline", *ACTIONS[FIRST_BID:]):
        assert turned(turn, action_id(name)) == action_id(name)
