"""The engine against `reference.py`, the slow referee written from the rule text alone."""

import random
from typing import Any

import pytest
import reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nap_env.actions import ACTIONS, BIDS
from nap_env.game import Game
from nap_env.presets import PRESETS, resolve

TABLES = [
    (name, players)
    for name, rules in PRESETS.items()
    for players in range(rules.player_range[0], rules.player_range[1] + 1)
]


def assert_same_deal(game: Game) -> None:
    """Play a dealt game by random legal actions beside the referee and compare everything."""
    referee = reference.ReferenceDeal(game.record())
    while not game.over:
        where = game.record()
        assert referee.seat == game.seat, where
        assert referee.legal() == game.legal(), where
        action = game.random_action()
        referee.act(ACTIONS[action])
        game.step(action)
    assert referee.seat is None, game.record()
    assert referee.result() == game.record()["result"], game.record()


def compare_deals(name: str, players: int, deals: int) -> None:
    game = Game(resolve(name), players, seed=players)
    chance = random.Random(players)
    for _ in range(deals):
        assert_same_deal(game)
        if game.rules.has_pool and chance.random() < 0.5:
            game.set_up(pool=chance.randrange(21))
        else:
            game.next_deal()


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_engine_plays_each_preset_like_the_referee(name: str, players: int) -> None:
    compare_deals(name, players, deals=25)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_engine_plays_each_preset_like_the_referee_in_many_deals(name: str, players: int) -> None:
    compare_deals(name, players, deals=500)


OPTIONS: dict[str, Any] = {
    "joker": st.booleans(),
    "must_trump": st.booleans(),
    "early_stop": st.booleans(),
    "allow_revoke": st.just(True),
    "misere_goal": st.sampled_from(["lose_all", "exact3_nt"]),
    "misere_trump": st.sampled_from(["none", "lead"]),
    "all_pass": st.sampled_from(["next_dealer", "dealer_one", "eldest_one", "double_next"]),
    "first_bidder": st.sampled_from(["eldest", "dealer"]),
    "hold": st.booleans(),
    "widow": st.sampled_from(["none", "peep", "floater", "garnet"]),
    "look_cost": st.integers(0, 2),
    "look_needed": st.booleans(),
    "dealer_free_look": st.booleans(),
    "buy": st.booleans(),
    "buy_cost": st.integers(0, 2),
    "draw": st.sampled_from(["none", "maker_then_opponents", "maker_one"]),
    "overtrick": st.integers(0, 2),
    "stake": st.integers(1, 3),
    "scheme": st.sampled_from(["table", "alt"]),
    "separate_call": st.booleans(),
    "garnet_fail": st.integers(1, 2),
    "garnet_pool": st.integers(0, 2),
    "pool_start": st.integers(0, 2),
    "pool_each": st.integers(0, 1),
    "pool_dealer": st.integers(0, 2),
    "pool_fail": st.sampled_from(["none", "as_player"]),
    "pool_five_fail": st.sampled_from(["none", "double"]),
    "pool_revoke": st.sampled_from([0, 5]),
    "discard_to": st.sampled_from(["none", 3, 4, 5]),
    "hand_size": st.integers(3, 7),
    "dealer_out_from": st.sampled_from(["none", 3, 4, 5, 6]),
    "wellington_over": st.sampled_from(["none", "nap", "four"]),
    "blucher_over": st.sampled_from(["none", "wellington"]),
    "transfer": st.sampled_from(["each", "split"]),
    "deck": st.sampled_from([24, 28, 32, 36, 40, 52]),
    "player_range": st.just([2, 8]),
}
DEPENDENT = {
    ("widow", ("peep", "floater")): ("look_cost",),
    ("widow", ("peep",)): ("look_needed",),
    ("widow", ("floater",)): ("dealer_free_look",),
    ("widow", ("garnet",)): ("garnet_fail", "garnet_pool"),
    ("buy", (True,)): ("buy_cost",),
}
# The referee has no price for bids whose base price the rule text does not give.
LISTED = [bid for bid in BIDS if bid in reference.BASE_TARIFF]


@st.composite
def overridden_rules(draw: Any) -> tuple[str, dict[str, Any], int]:
    """Draw a preset, options over it, and a number of players."""
    chosen = draw(st.lists(st.sampled_from(sorted(OPTIONS)), min_size=1, max_size=6, unique=True))
    options = {name: draw(OPTIONS[name]) for name in chosen}
    preset = draw(st.sampled_from(sorted(PRESETS)))
    merged = {"widow": PRESETS[preset].widow, "buy": PRESETS[preset].buy} | options
    for needed, dependent in DEPENDENT.items():
        # What has no meaning is refused: keep it where what it depends on is chosen.
        if merged[needed[0]] not in needed[1]:
            for name in dependent:
                options.pop(name, None)
                if getattr(PRESETS[preset], name) != getattr(PRESETS["standard"], name):
                    options[name] = getattr(PRESETS["standard"], name)
    if draw(st.booleans()):
        bids = draw(st.lists(st.sampled_from(LISTED), min_size=1, max_size=8, unique=True))
        options["bids"] = bids
        leads = st.sampled_from(["any", "lowest_trump", "lowest_plain"])
        options["lead"] = draw(st.dictionaries(st.sampled_from(bids), leads, max_size=3))
        price = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(list)
        options["pay"] = draw(st.dictionaries(st.sampled_from(bids), price, max_size=3))
    return preset, options, draw(st.integers(2, 8))


@given(table=overridden_rules(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_engine_plays_overridden_rules_like_the_referee(table: Any, seed: int) -> None:
    name, options, players = table
    try:
        game = Game(resolve(name, options), players, seed=seed)
    except ValueError:
        assume(False)
    # The referee's alternative scoring has no prices that `pay` could change.
    assume(game.rules.scheme == "table" or not options.get("pay"))
    for _ in range(3):
        assert_same_deal(game)
        game.next_deal()


@pytest.mark.parametrize("options", [{"hand_size": 4}, {"hand_size": 7}, {"scheme": "alt"}])
def test_engine_plays_the_separate_call_like_the_referee(options: dict[str, Any]) -> None:
    game = Game(resolve("old_russian", {"separate_call": True, **options}), 4, seed=1)
    for _ in range(200):
        assert_same_deal(game)
        game.next_deal()


@given(table=overridden_rules())
@settings(max_examples=300)
def test_options_of_rules_give_the_rules_back(table: Any) -> None:
    name, options, _ = table
    try:
        rules = resolve(name, options)
    except ValueError:
        assume(False)
    assert resolve(rules.name, rules.options) == rules
