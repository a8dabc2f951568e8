"""Worlds: they agree with all that the seat to move knows, and none is likelier than another."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from deals import act, deal
from scipy import stats
from test_observation import SPECIAL, TABLES

from nap_env.agents.worlds import KNOWLEDGE, deal_world, know
from nap_env.batch import Batch
from nap_env.cards import CARDS, NUM_CARDS, card_id, hand_cards
from nap_env.engine.state import new_games
from nap_env.game import Game
from nap_env.presets import resolve
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
        know(game, table[0], knowledge[0])
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
    know(g, table[0], knowledge[0])
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
