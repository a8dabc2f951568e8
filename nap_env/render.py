"""A deal as text, from its record: the transcript in errors, and the `ansi` view of a table."""

from collections.abc import Mapping
from typing import Any

from nap_env.cards import CARDS, SUIT_NAMES, SUITS

Record = Mapping[str, Any]


def transcript(record: Record) -> str:
    """Return a deal so far on one line: rules, dealer, every event."""
    events = ", ".join(f"{seat} {action}" for seat, action in record["events"])
    return (
        f"{record['rules']}, {record['num_players']} players, dealer {record['dealer']}: "
        f"{events or 'no call yet'}"
    )


def table_text(record: Record, viewer: int | None = None, to_move: int | None = None) -> str:
    """Return a deal as a person would note it down.

    Args:
        record: the deal so far.
        viewer: the seat whose cards are shown; None shows every hand. Once the deal is over all
            hands are shown.
        to_move: the seat that is to move, if any.
    """
    result = record.get("result")
    if result is not None:
        viewer = None
    seats = range(record["num_players"])
    calls = [event for event in record["events"] if event[1] not in CARDS]
    plays = [event for event in record["events"] if event[1] in CARDS]
    lines = [f"{record['rules']}, {record['num_players']} players, seat {record['dealer']} deals"]
    if record["pool"] or record["multiplier"] != 1:
        lines[0] += f", pool {record['pool']}, stakes times {record['multiplier']}"
    for seat in seats:
        held = held_cards(record, seat)
        shown = " ".join(held) if viewer in (None, seat) else " ".join(["--"] * len(held))
        lines.append(f"  seat {seat}: {shown or 'no cards'}")
    lines.append("calls:   " + (", ".join(f"{seat} {name}" for seat, name in calls) or "none yet"))
    hands = sum(1 for hand in record["hands"] if hand)
    won = [0] * record["num_players"]
    for number in range(0, len(plays), hands):
        trick = plays[number : number + hands]
        line = f"trick {number // hands + 1}: " + "  ".join(f"{s} {card}" for s, card in trick)
        if number + hands < len(plays):
            winner = plays[number + hands][0]
        elif result is not None and len(trick) == hands:
            winner = next(seat for seat in seats if result["tricks"][seat] > won[seat])
        elif to_move is not None and len(trick) == hands:
            winner = to_move
        else:
            winner = None
        if winner is not None:
            won[winner] += 1
            line += f"  -> {winner}"
        lines.append(line)
    if result is None:
        lines.append(f"to move: {'nobody' if to_move is None else f'seat {to_move}'}")
    else:
        lines += _result_lines(result)
    return "\n".join(lines)


def held_cards(record: Record, seat: int) -> list[str]:
    """Return the cards that a seat still holds, by suit, spades first, high to low."""
    played = {card for player, card in record["events"] if player == seat and card in CARDS}
    held = [card for card in record["hands"][seat] if card not in played]
    return sorted(held, key=CARDS.index, reverse=True)


def _result_lines(result: Mapping[str, Any]) -> list[str]:
    if result["declarer"] is None:
        outcome = "passed out"
    else:
        trumps = "none" if result["trump"] is None else SUIT_NAMES[SUITS.index(result["trump"])]
        verb = "makes" if result["made"] else "fails"
        outcome = (
            f"seat {result['declarer']} {verb} {result['contract']}, trumps {trumps}, "
            f"tricks {' '.join(map(str, result['tricks']))}"
        )
    chips = "  ".join(f"{seat} {chips:+d}" for seat, chips in enumerate(result["payments"]))
    return [f"result:  {outcome}", f"chips:   {chips}", f"pool:    {result['pool']}"]
