"""Deals written down in cards, for the tests of the rules.

    game = deal("standard", {0: "AS KS 9S QH 8D", 2: "JS"}, num_players=4)
    act(game, "three pass pass pass  AS TS JS 9C")
    assert game.legal() == names("9S KS QH 8D")

Cards that are not written come from the rest of the pack, lowest first. The dealer is the last
seat unless said otherwise, so seat 0 is the eldest hand.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nap_env.cards import CARDS, JOKER, RANKS
from nap_env.engine.state import EVENT_SEAT
from nap_env.game import Game
from nap_env.presets import resolve
from nap_env.rules import Rules


def names(text: str) -> list[str]:
    """Return names of actions as `Game.legal` gives them: sorted as strings."""
    return sorted(text.split())


def height(card: str) -> tuple[int, int]:
    """Return a key that sorts cards from the twos to the aces and the joker."""
    return (len(RANKS) if card == "JK" else RANKS.index(card[0]), CARDS.index(card))


def deal(
    rules: str | Rules = "standard",
    hands: Mapping[int, str] | None = None,
    *,
    num_players: int = 4,
    widow: str = "",
    stock: str = "",
    dealer: int | None = None,
    pool: int | None = None,
    multiplier: int | None = None,
    scores: list[int] | None = None,
    **options: Any,
) -> Game:
    """Return a game that has been dealt the cards as written.

    Args:
        rules: a preset or rules, which `options` change.
        hands: cards by seat. What is missing from a hand is filled up with the lowest cards that
            are not written anywhere, seat by seat from the dealer's left, then the widow.
        num_players: players at the table.
        widow: cards on the table.
        stock: the first cards of the stock; the rest follows, lowest first.
        dealer: a seat, else the last one.
        pool: chips in the pool before the antes.
        multiplier: 1 or 2.
        scores: chips of each seat before the deal.
        options: as in a record.
    """
    game = Game(resolve(rules, options), num_players, seed=0)
    dealer = num_players - 1 if dealer is None else dealer
    game.set_up(dealer=dealer)
    drawn = game.record()
    written = {seat: cards.split() for seat, cards in (hands or {}).items()}
    table, first = widow.split(), stock.split()
    used = {card for cards in (*written.values(), table, first) for card in cards}
    pack = [card for cards in (*drawn["hands"], drawn["widow"], drawn["stock"]) for card in cards]
    rest = sorted((card for card in pack if card not in used), key=height)

    def filled(cards: list[str], size: int) -> list[str]:
        missing, rest[:] = rest[: size - len(cards)], rest[size - len(cards) :]
        return cards + missing

    dealt: list[list[str]] = [[] for _ in range(num_players)]
    for step in range(1, num_players + 1):
        seat = (dealer + step) % num_players
        dealt[seat] = filled(written.get(seat, []), len(drawn["hands"][seat]))
    table = filled(table, len(drawn["widow"]))
    game.set_up(
        dealer=dealer,
        hands=dealt,
        widow=table,
        stock=first + rest,
        pool=pool,
        multiplier=multiplier,
        scores=scores,
    )
    return game


def act(game: Game, actions: str) -> Game:
    """Let the seats act in turn: calls, marks, cards, as in records."""
    for name in actions.split():
        game.act(name)
    return game


def play_out(game: Game) -> Game:
    """Let everybody play the first legal card of his hand in the order in which it was dealt.

    Cards that came later, from the stock or the table, follow after those.
    """
    hands = game.record()["hands"]
    while not game.over:
        legal = game.legal()
        game.act(next((card for card in hands[game.seat] if card in legal), legal[0]))
    return game


def result(game: Game) -> dict[str, Any]:
    """Return the result of a deal that is over."""
    assert game.over, f"not over: seat {game.seat} to move, {game.legal()}"
    return game.record()["result"]


def payments(game: Game) -> list[int]:
    """Return every chip that a deal moved, by seat."""
    return result(game)["payments"]


def shuffle_hidden_cards(game: Game, me: int, chance: np.random.Generator) -> None:
    """Permute the cards that seat `me` cannot see, wherever they are or have been marked."""
    g = game.games[0]
    seats = [seat for seat in range(game.num_players) if seat != me]
    others = [(name, seat) for name in ("hand", "discards") for seat in seats]
    size = int(game._table["pack_size"][0])
    hidden = [card for name, seat in others for card in bits(int(g[name][seat]))]
    hidden += g["pack"][int(g["stock_next"]) : size].tolist()
    known = 1 << JOKER if game.phase == "name" else 0  # it may have been led
    if game.observe(me)[0][game.layout.slice("looked")].any():
        known |= int(g["widow"])  # whoever has swapped it in is known to have had it
    else:
        hidden += bits(int(g["widow_left"]))
    hidden = [card for card in hidden if not known >> card & 1]
    turned = np.arange(EVENT_SEAT)
    turned[hidden] = chance.permutation(hidden)
    for name, seat in others:
        g[name][seat] = sum(1 << int(turned[card]) for card in bits(int(g[name][seat])))
    for name in ("widow", "widow_left"):
        g[name] = sum(1 << int(turned[card]) for card in bits(int(g[name])))
    g["pack"][:size] = turned[g["pack"][:size]]
    events = g["events"][: g["num_events"]]
    actions = events % EVENT_SEAT
    events += (turned[actions] - actions).astype(np.int16)


def bits(mask: int) -> list[int]:
    """Return the cards of a mask, by id."""
    return [card for card in range(53) if mask >> card & 1]
