"""What a viewer sees of a game, in words and cards: the one source of text, pictures and pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nap_env.actions import BIDS
from nap_env.cards import CARDS, JOKER, SUITS, hand_cards
from nap_env.engine.state import LOOKED_FLAG, NAME, lane
from nap_env.rules import PHASES, TRUMPS_NONE, Rules, trumps_of

HIDDEN = "--"
"""Stands for a card that the viewer may not see."""

Event = tuple[int, str]
"""A seat, and what it said or did: the name of an action, or HIDDEN."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """What a viewer sees of a game; a card that it may not see is HIDDEN.

    Attributes:
        viewer: the seat whose cards and discards are shown; None shows those of all.
        options: what is changed in the rules.
        dealer, to_move, declarer: seats; the declarer may be the highest bidder so far.
        sits_out: the seat that holds no cards in this deal, if there is one.
        hands: by seat, the cards it holds, highest suit and rank first.
        widow: the cards on the table, in the same order.
        stock: the cards that are not dealt, in drawing order, if all cards are shown and the rules
            exchange any.
        events: all that has happened.
        calls: of these what is not a card played.
        tricks: of each the cards in the order of play.
        winners: of each trick its winner, in one that is being played the best card's seat so far;
            None where a wrong card has ended the deal with it.
        won: tricks that each seat has won.
        complete: whether the last of the tricks is complete.
        contract: the name of the contract or of the highest bid so far.
        trump: one of SUITS, or None: there are none, or they are not known yet.
        no_trumps: the contract is played without trumps.
        looked, exchanged: by seat, whether it has seen the widow, how many cards it has bought,
            swapped or drawn.
        scores: chips that each seat has won in the match so far.
        payments: chips that it won in the deal, once that is over.
        outcome: how the deal has ended, in words.
        first_pool: chips in the pool before the deal.
        pool: chips in the pool, None where the rules have none.
        multiplier: stakes count so many times in this deal.
    """

    viewer: int | None
    rules: str
    options: Mapping[str, Any]
    num_players: int
    dealer: int
    to_move: int | None
    sits_out: int | None
    phase: str
    hands: Sequence[Sequence[str]]
    widow: Sequence[str]
    stock: Sequence[str]
    events: Sequence[Event]
    calls: Sequence[Event]
    tricks: Sequence[Sequence[Event]]
    winners: Sequence[int | None]
    won: Sequence[int]
    complete: bool
    contract: str | None
    declarer: int | None
    trump: str | None
    no_trumps: bool
    looked: Sequence[bool]
    exchanged: Sequence[int]
    scores: Sequence[int]
    payments: Sequence[int] | None
    outcome: str | None
    first_pool: int
    pool: int | None
    multiplier: int


def read_table(
    g: np.void, rules: Rules, record: Mapping[str, Any], viewer: int | None, playing: bool
) -> Table:
    """Return what a viewer sees of a game.

    Args:
        g: the engine's record of the game.
        rules: the rules.
        record: the record of the deal so far.
        viewer: the seat whose cards and discards are shown; None shows those of all.
        playing: False where an environment has ended the game, so that nobody is to move.
    """
    seats = range(record["num_players"])
    contract = BIDS[g["contract"]] if g["contract"] >= 0 else None
    result = record.get("result")
    events, played = _events(g, record["events"], viewer)
    plays = [events[place] for place in played]
    size = sum(1 for hand in record["hands"] if hand)
    tricks = [plays[start : start + size] for start in range(0, len(plays), size)]
    complete = bool(tricks) and len(tricks[-1]) == size
    won = [int(lane(g["tricks"], seat)) for seat in seats]
    looked = [bool(int(g["seen"][seat]) & LOOKED_FLAG) for seat in seats]
    drawn = int(g["stock_next"]) - sum(map(len, record["hands"])) - len(record["widow"])
    return Table(
        viewer=viewer,
        rules=record["rules"],
        options=record["options"],
        num_players=record["num_players"],
        dealer=record["dealer"],
        to_move=int(g["seat"]) if playing and result is None else None,
        sits_out=next((seat for seat in seats if not record["hands"][seat]), None),
        phase=PHASES[g["phase"]],
        hands=[_shown(g["hand"][seat], viewer in (None, seat)) for seat in seats],
        widow=_shown(g["widow_left"], viewer is None or looked[viewer]),
        stock=record["stock"][drawn:] if viewer is None and rules.exchanges else [],
        events=events,
        calls=[event for place, event in enumerate(events) if place not in played],
        tricks=tricks,
        winners=_winners(tricks, won, complete, int(g["best_seat"])),
        won=won,
        complete=complete,
        contract=contract,
        declarer=int(g["declarer"]) if contract else None,
        trump=SUITS[g["trump_suit"]] if g["trump_suit"] >= 0 else None,
        no_trumps=any(
            bid.name == contract and trumps_of(bid, rules) == TRUMPS_NONE for bid in rules.all_bids
        ),
        looked=looked,
        exchanged=[int(lane(g["bought"], seat) + lane(g["exchanged"], seat)) for seat in seats],
        scores=[int(g["scores"][seat]) for seat in seats],
        payments=result and result["payments"],
        outcome=result and _outcome(result),
        first_pool=record["pool"],
        pool=int(g["pool"]) if rules.has_pool else None,
        multiplier=record["multiplier"],
    )


def _shown(mask: Any, seen: bool) -> list[str]:
    cards = hand_cards(int(mask))[::-1]
    return cards if seen else [HIDDEN] * len(cards)


def _events(
    g: np.void, events: Sequence[Any], viewer: int | None
) -> tuple[list[Event], Sequence[int]]:
    """Return what has happened, other seats' marked cards hidden, and where cards were played."""
    cards = [place for place, (_, name) in enumerate(events) if name in CARDS]
    num_played = int(g["num_played"])
    if g["phase"] == NAME and events[-1][1] == CARDS[JOKER]:
        num_played += 1  # it lies on the table and waits for its suit
    num_marked = len(cards) - num_played
    shown = [(seat, name) for seat, name in events]
    for place in cards[:num_marked]:
        if viewer not in (None, shown[place][0]):
            shown[place] = (shown[place][0], HIDDEN)
    return shown, cards[num_marked:]


def _winners(
    tricks: Sequence[Sequence[Event]], won: Sequence[int], complete: bool, best: int
) -> list[int | None]:
    """Return who has won each trick: who leads the next one, or whose count the last one raised."""
    winners: list[int | None] = [trick[0][0] for trick in tricks[1:]]
    if complete:
        raised = (seat for seat, count in enumerate(won) if count > winners.count(seat))
        winners.append(next(raised, None))
    elif tricks:
        winners.append(best if len(tricks[-1]) > 1 else tricks[-1][0][0])
    return winners


def _outcome(result: Mapping[str, Any]) -> str:
    if result["declarer"] is None:
        return "passed out"
    verb = "makes" if result["made"] else "fails"
    return f"seat {result['declarer']} {verb} {result['contract']}"
