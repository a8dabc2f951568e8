"""Worlds: they agree with all that a seat knows, and none is likelier than another."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from deals import act, deal, shuffle_hidden_cards
from scipy import stats
from test_observation import SPECIAL, TABLES

from nap_env.agents.worlds import KNOWLEDGE, deal_world, determinize, know
from nap_env.batch import Batch
from nap_env.cards import CARDS, NUM_CARDS, card_id, hand_cards
from nap_env.engine.state import SWAPPING, new_games
from nap_env.game import Game
from nap_env.presets import resolve
from nap_env.records import open_record, replay
from nap_env.rules import rules_table

KINDS = [(name, players, {}) for name, players in TABLES] + [
    (name, max(4, resolve(name).player_range[0]), options) for name, options in SPECIAL
]


def deal_worlds(batch: Batch) -> Batch:
    """Return a copy of the games in which each is a world of its own."""
    worlds = batch.clone()
    table = rules_table(batch.rules, batch.num_players)
    knowledge = np.zeros(1, KNOWLEDGE)
    for game, world in zip(batch.games, worlds.games, strict=True):
        know(game, table[0], game["seat"], knowledge[0])
        deal_world(game, table[0], knowledge[0], world)
    worlds._show()
    return worlds


def cards_of(world: Any, players: int, pack_size: int) -> list[str]:
    """Return every card of a world that is somewhere, those in two places twice."""
    masks = [*world["hand"][:players], *world["discards"][:players], world["widow_left"]]
    masks += [seen & ((1 << NUM_CARDS) - 1) for seen in world["seen"][:players]]
    cards = [card for mask in masks for card in hand_cards(int(mask))]
    return cards + [CARDS[card] for card in world["pack"][world["stock_next"] : pack_size]]


@pytest.mark.parametrize(("name", "players", "options"), KINDS)
def test_a_world_keeps_all_that_its_seat_knows(
    name: str, players: int, options: dict[str, Any]
) -> None:
    batch = Batch(name, players, 24, 3, options=options)
    pack_size = int(rules_table(batch.rules, players)["pack_size"][0])
    moved = np.zeros(24, bool)
    for _ in range(60):
        worlds = deal_worlds(batch)
        assert (worlds.observation == batch.observation).all()
        assert (worlds.action_mask == batch.action_mask).all()
        for game, world in zip(batch.games, worlds.games, strict=True):
            cards = cards_of(world, players, pack_size)
            assert len(cards) == len(set(cards)) == pack_size
            for field in ("hand", "discards"):
                sizes = [int(mask).bit_count() for mask in game[field]]
                assert [int(mask).bit_count() for mask in world[field]] == sizes
        moved |= (worlds.games["hand"] != batch.games["hand"]).any(1)
        batch.step(batch.sample())
    assert moved.all()


def history(game: Game, world: Any) -> Game:
    """Play the deal so far from the hands that a world says were dealt.

    Raises:
        ValueError: somebody could not have done what he did.
    """
    record = game.record()
    for seat, hand in enumerate(record["hands"]):
        if hand:
            played = int(world["seen"][seat]) & ((1 << NUM_CARDS) - 1)
            record["hands"][seat] = hand_cards(int(world["hand"][seat]) | played)
    del record["stock"]
    replayed = Game(game.rules, game.num_players)
    replayed.set_up_as(None, {"record": record})
    return replayed


@pytest.mark.parametrize(
    ("name", "players", "options"),
    [kind for kind in KINDS if not resolve(kind[0], kind[2]).exchanges],
)
def test_in_a_world_everybody_has_obeyed_the_rules_of_play(
    name: str, players: int, options: dict[str, Any]
) -> None:
    batch = Batch(name, players, 8, 5, options=options)
    for _ in range(40):
        worlds = deal_worlds(batch)
        for row in range(8):
            history(Game.of(batch.rules, players, batch.games[row : row + 1]), worlds.games[row])
        batch.step(batch.sample())


def distribution(game: Game, count: int) -> tuple[Counter[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return how often each deal of the others' hands came up, and all deals that can be."""
    g = game.games[0]
    table = rules_table(game.rules, game.num_players)
    knowledge = np.zeros(1, KNOWLEDGE)
    know(g, table[0], g["seat"], knowledge[0])
    worlds = new_games(1)
    worlds[0] = g
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(count):
        deal_world(g, table[0], knowledge[0], worlds[0])
        seen[tuple(int(hand) for hand in worlds[0]["hand"][: game.num_players])] += 1
    return seen, consistent(game)


def consistent(game: Game) -> list[tuple[int, ...]]:
    """Return all deals of the hands after which the deal could have gone as it has."""
    g = game.games[0]
    me = int(g["seat"])
    record = game.record()
    played = [int(seen) & ((1 << NUM_CARDS) - 1) for seen in g["seen"][: game.num_players]]
    known = int(g["hand"][me]) | sum(played)
    pack = sum(1 << card_id(card) for hand in record["hands"] for card in hand)
    pack |= sum(1 << card_id(card) for card in record["stock"])
    unseen = [card for card in range(NUM_CARDS) if (pack & ~known) >> card & 1]
    found = []
    others = [seat for seat in range(game.num_players) if seat != me]

    def fill(seats: list[int], left: list[int], hands: dict[int, int]) -> None:
        if not seats:
            world = new_games(1)
            world[0] = g
            for seat, hand in hands.items():
                world[0]["hand"][seat] = hand
            try:
                history(game, world[0])
            except ValueError:
                return
            found.append(tuple(int(hand) for hand in world[0]["hand"][: game.num_players]))
            return
        size = int(g["hand"][seats[0]]).bit_count()
        for cards in itertools.combinations(left, size):
            rest = [card for card in left if card not in cards]
            fill(seats[1:], rest, {**hands, seats[0]: sum(1 << card for card in cards)})

    fill(others, unseen, {})
    return found


def check_equal_chances(game: Game) -> float:
    """Return how likely counts as uneven as those of 3,000 worlds are if all have equal chances."""
    seen, possible = distribution(game, 3000)
    assert set(seen) <= set(possible), game.text()
    counts = [seen[hands] for hands in possible]
    return float(stats.chisquare(counts).pvalue) if len(counts) > 1 else 1.0


def test_each_deal_of_unseen_cards_is_equally_likely() -> None:
    game = act(deal("mini_3p", {0: "AC KC QC"}, num_players=3), "two pass pass  AC")
    seen, possible = distribution(game, 3000)
    # Seat 1 does not see six cards: three in seat 2's hand, two in seat 0's, one in the stock.
    assert len(possible) == 6 * 5 * 4 // (3 * 2) * 3
    assert set(seen) == set(possible)
    assert check_equal_chances(game) > 0.001


SMALL: list[tuple[int, dict[str, Any]]] = [
    (4, {"deck": 16}),
    (4, {"deck": 16, "must_trump": True}),
    (3, {"deck": 12, "joker": True, "must_trump": True}),
    (4, {"deck": 16, "lead": {"three": "lowest_trump", "four": "lowest_trump"}}),
    (4, {"deck": 16, "lead": {"three": "lowest_plain", "four": "lowest_plain"}}),
]


@pytest.mark.parametrize(("players", "options"), SMALL)
def test_deals_are_equally_likely_whatever_has_been_played(
    players: int, options: dict[str, Any]
) -> None:
    rules = resolve("standard", {"hand_size": 4, "early_stop": False, **options})
    checked = []
    for seed in range(100):
        game = Game(rules, players, seed)
        while not game.over and game.games["tricks_played"][0] < 2:
            game.step(game.random_action())
        if not game.over and 1 < len(consistent(game)) < 90:
            checked.append(check_equal_chances(game))
        if len(checked) == 6:
            break
    assert len(checked) == 6
    assert min(checked) > 0.001 / 6


def determinized(game: Game, seat: int, key: int) -> Game:
    """Return a copy of the game with all dealt anew that a seat cannot see."""
    world = game.clone()
    table = rules_table(game.rules, game.num_players)
    determinize(world.games, table, np.array([seat]), np.array([key], np.uint64))
    return world


def assert_replays(world: Game) -> None:
    """Check that the record of a deal leads to where the deal stands, for all seats."""
    replayed = replay(world.record())
    if world.games["deal_number"] == 1:  # later ones keep what nothing reads from earlier deals
        if world.phase not in ("buy", "exchange") or world.games["exchange"] == SWAPPING:
            replayed.games["last_mark"] = -1
        apart = {"key", "draws", "deal_number", "shares", "start_charge"}
        for name in set(world.games.dtype.names or ()) - apart:
            assert (world.games[name] == replayed.games[name]).all(), (name, world.record())
    if not world.match_over or world.games["deals_played"] == 1:
        deals_left = world.layout.slice("deals_left")  # a record does not tell them
        for seat in range(world.num_players):
            sights = [game.observe(seat) for game in (world, replayed)]
            for observation, _ in sights:
                observation[deals_left] = 0
            assert all((one == other).all() for one, other in zip(*sights, strict=True))


@pytest.mark.parametrize(("name", "players", "options"), KINDS)
def test_a_determinized_game_looks_the_same_to_its_seat_and_has_a_past(
    name: str, players: int, options: dict[str, Any]
) -> None:
    rules = resolve(name, options)
    pack_size = int(rules_table(rules, players)["pack_size"][0])
    chance = np.random.default_rng(players)
    game = Game(rules, players, seed=players)
    for _ in range(3):
        over = False
        while not over:
            for seat in range(players):
                world = determinized(game, seat, int(chance.integers(2**63)))
                for before, after in zip(game.observe(seat), world.observe(seat), strict=True):
                    assert (before == after).all()
                assert (world.legal_bits == 0) == world.over
                cards = cards_of(world.games[0], players, pack_size)
                assert len(cards) == len(set(cards)) == pack_size
                assert_replays(world)
            over = game.over
            if not over:
                game.step(game.random_action())
        game.next_deal()


@pytest.mark.parametrize(("name", "players", "options"), KINDS)
def test_nothing_that_the_seat_does_not_know_is_left_in_a_determinized_game(
    name: str, players: int, options: dict[str, Any]
) -> None:
    chance = np.random.default_rng(players)
    game = Game(resolve(name, options), players, seed=players + 1)
    for _ in range(2):
        while not game.over:
            for seat in range(players):
                other = game.clone()
                shuffle_hidden_cards(other, seat, chance)
                other.games["gathered"] = chance.integers(53, size=56)
                other.games["events"][0, game.games["num_events"][0] :] = chance.integers(999)
                other.games["draws"] += 1
                worlds = [determinized(each, seat, key=5) for each in (game, other)]
                assert worlds[0].games.tobytes() == worlds[1].games.tobytes()
            game.step(game.random_action())
        game.next_deal()


def hands_so_far(game: Game) -> list[tuple[int, ...]]:
    """Return everybody's hand when the deal was dealt and after each event."""
    record = game.record()
    replayed = open_record(record)
    hands = [tuple(replayed.games["hand"][0].tolist())]
    for _, name in record["events"]:
        replayed.act(name)
        hands.append(tuple(replayed.games["hand"][0].tolist()))
    return hands


def possible_pasts(game: Game, me: int) -> Counter[tuple[tuple[int, ...], ...]]:
    """Return in how many packs, and ways to mark, a seat would have seen what it has seen.

    By brute force: every deal of the cards that were not dealt to the seat, every choice of what
    others may have put away. Of the stock only the cards drawn so far have an order.

    Returns:
        Numbers by everybody's hand after each event.
    """
    record = game.record()
    events = record["events"]
    replayed = open_record(record)
    sights = [[part.tobytes() for part in replayed.observe(me)]]
    for _, name in events:
        replayed.act(name)
        sights.append([part.tobytes() for part in replayed.observe(me)])
    pasts: Counter[tuple[tuple[int, ...], ...]] = Counter()

    def go_on(at: Game, hands: tuple[tuple[int, ...], ...]) -> None:
        number = len(hands)
        if [part.tobytes() for part in at.observe(me)] != sights[number]:
            return
        hands += (tuple(at.games["hand"][0].tolist()),)
        if number == len(events):
            pasts[hands] += 1
            return
        seat, name = events[number]
        names = {name} & set(at.legal())
        if seat != me and at.phase in ("buy", "exchange") and name in CARDS:
            names = {card for card in at.legal() if card in CARDS}
        for choice in names:
            after = at.clone()
            after.act(choice)
            go_on(after, hands)

    def deal_rest(hands: dict[int, list[str]], rest: set[str]) -> None:
        for seat, hand in enumerate(record["hands"]):
            if seat not in hands:
                for cards in itertools.combinations(sorted(rest), len(hand)):
                    deal_rest({**hands, seat: list(cards)}, rest - set(cards))
                return
        drawn = int(game.games["stock_next"][0]) - sum(map(len, record["hands"]))
        drawn -= len(record["widow"])
        for widow in itertools.combinations(sorted(rest), len(record["widow"])):
            for stock in itertools.permutations(sorted(rest - set(widow)), drawn):
                dealt = {
                    "hands": [hands[seat] for seat in range(game.num_players)],
                    "widow": list(widow),
                    "stock": [*stock, *sorted(rest - set(widow) - set(stock))],
                }
                go_on(open_record(record | dealt), ())

    parts = (*record["hands"], record["widow"], record["stock"])
    pack = {card for part in parts for card in part}
    deal_rest({me: record["hands"][me]}, pack - set(record["hands"][me]))
    return pasts


EXCHANGED: list[tuple[int, dict[str, Any]]] = [
    (2, {"buy": True, "draw": "maker_then_opponents"}),
    (3, {"buy": True, "draw": "maker_one"}),
    (2, {"hand_size": 3, "discard_to": 2, "buy": True}),
    (2, {"hand_size": 3, "discard_to": 1, "bids": ["one"]}),
    (2, {"widow": "garnet"}),
    (2, {"widow": "garnet", "deck": 10, "hand_size": 3, "discard_to": 2}),
    (2, {"widow": "peep", "look_needed": False, "buy": True}),
    (2, {"widow": "floater", "bids": ["two", "nap+f", "nap"]}),
    (2, {"deck": 12, "hand_size": 4, "allow_revoke": True, "must_trump": True}),
    (2, {"deck": 12, "hand_size": 3, "allow_revoke": True, "joker": True, "lead": {
        "two": "lowest_trump", "nap": "lowest_plain"}}),
]  # fmt: skip


SMALLEST = {
    **{"deck": 8, "suits": 2, "hand_size": 2, "player_range": [2, 3], "early_stop": False},
    **{"bids": ["one", "two", "nap"], "all_pass": "dealer_one"},
}


def check_pasts(game: Game, me: int, pasts: Counter[tuple[tuple[int, ...], ...]]) -> float:
    """Return how likely counts as uneven as those of ten games for each past are."""
    assert len(set(pasts.values())) == 1
    keys = np.random.default_rng(1).integers(2**63, size=10 * len(pasts))
    found = Counter(tuple(hands_so_far(determinized(game, me, int(key)))) for key in keys)
    assert set(found) <= set(pasts), game.text()
    return float(stats.chisquare([found[past] for past in pasts]).pvalue)


@pytest.mark.parametrize(("players", "options"), EXCHANGED)
def test_each_past_of_a_determinized_game_is_equally_likely(
    players: int, options: dict[str, Any]
) -> None:
    rules = resolve("standard", {**SMALLEST, **options})
    checked: list[float] = []
    seed = 0
    while len(checked) < 6:
        seed += 1
        chance = np.random.default_rng(seed)
        game = Game(rules, players, seed)
        for _ in range(chance.integers(1, 12)):
            if not game.over:
                game.step(game.random_action())
        me = int(chance.integers(players))
        pasts = possible_pasts(game, me)
        if 1 < len(pasts) <= 150:
            checked.append(check_pasts(game, me, pasts))
    assert min(checked) > 0.001 / len(checked)


TWO_HANDS = {0: "AC KC AH", 1: "JC QH AD"}


@pytest.mark.parametrize(
    ("hands", "actions", "over", "options"),
    [
        # Of the cards that seat 1 has bought it may have put one away for a drawn one.
        ({1: "AC JD"}, "done JD done  pass one  AC done done", False,
         {"buy": True, "draw": "maker_then_opponents"}),
        # Seat 1 could have followed, or had to trump, or could have followed and has trumped.
        (TWO_HANDS, "two pass  AH QH AC AD", True, {"allow_revoke": True}),
        ({0: "AC AH KH", 1: "JH QH AD"}, "two pass  AH JH AC AD", True,
         {"allow_revoke": True, "must_trump": True}),
        ({0: "AC AH KD", 1: "JC JH QH"}, "two pass  AH JH AC QH", True,
         {"allow_revoke": True, "must_trump": True}),
        # Seat 0 did not lead its lowest card.
        (TWO_HANDS, "two pass  AC", True, {"allow_revoke": True, "lead": {"two": "lowest_trump"}}),
    ],
)  # fmt: skip
def test_each_past_is_equally_likely_after(
    hands: dict[int, str], actions: str, over: bool, options: dict[str, Any]
) -> None:
    three_suits = {"deck": 12, "suits": 3, "hand_size": 3}
    small = {**SMALLEST, **(three_suits if over else {}), **options}
    game = act(deal("standard", hands, num_players=2, **small), actions)
    assert game.over == over
    for me in range(2):
        pasts = possible_pasts(game, me)
        assert len(pasts) > 1
        assert check_pasts(game, me, pasts) > 0.0001


def test_a_joker_that_has_been_led_stays_with_its_declarer() -> None:
    game = deal("standard", {0: "JK 8C"}, num_players=3, joker=True)
    act(game, "three pass pass  JK")
    for key in range(20):
        for seat in range(3):
            assert "JK" in determinized(game, seat, key).hand(0)


def test_whoever_has_revoked_still_holds_what_he_should_have_played() -> None:
    hands = {0: "AS KS QS JS TS", 1: "9S 8H 8D 8C 9C"}
    game = act(deal("standard", hands, num_players=3, allow_revoke=True), "nap pass pass  AS 8H")
    assert game.over
    held = {tuple(determinized(game, 2, key).hand(1)) for key in range(50)}
    assert len(held) > 40
    assert all(any(card.endswith("S") for card in cards) for cards in held)


def test_a_stock_that_is_gathered_lies_in_any_order() -> None:
    rules = resolve("mini_2x4", {"shuffle": "after_nap", "deals": 9})
    game = act(deal(rules, num_players=2, dealer=1), "one pass")
    assert game.phase == "play"
    keys = np.random.default_rng(1).integers(2**63, size=3000)
    worlds = [determinized(game, 0, int(key)) for key in keys]
    orders = Counter(tuple(world.record()["stock"]) for world in worlds)
    possible = list(itertools.permutations(sorted(set().union(*orders)), 2))
    assert len(possible) == 5 * 4
    assert stats.chisquare([orders[order] for order in possible]).pvalue > 0.001


def test_what_is_still_to_come_depends_on_the_key_alone() -> None:
    game = Game(resolve("standard", {"deals": 2}), 4, seed=1)
    futures = []
    for key in (1, 1, 2):
        world = determinized(game, 2, key)
        while not world.over:
            world.step(world.random_action())
        events = world.record()["events"]
        world.next_deal()
        futures.append((events, world.record()["hands"]))
    assert futures[0] == futures[1]
    assert futures[0][0] != futures[2][0]
    assert futures[0][1] != futures[2][1]


@pytest.mark.parametrize(
    ("seats", "keys", "message"),
    [
        ([4], [0], "seat=4: 0 to 3 are allowed"),
        ([-1], [0], "seat=-1: 0 to 3 are allowed"),
        ([0, 1], [0], "2 seats and 1 keys: 1 games need one of each"),
        ([0], [], "1 seats and 0 keys: 1 games need one of each"),
    ],
)
def test_a_seat_that_is_not_at_the_table_is_refused(
    seats: list[int], keys: list[int], message: str
) -> None:
    game = Game(resolve("standard"), 4, seed=1)
    before = game.games.copy()
    with pytest.raises(ValueError, match=message):
        determinize(
            game.games,
            rules_table(game.rules, 4),
            np.array(seats, np.int64),
            np.array(keys, np.uint64),
        )
    assert (game.games == before).all()
