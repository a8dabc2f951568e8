"""A deal as text: the transcript in errors, and the table as a person would note it down."""

from collections.abc import Mapping, Sequence
from typing import Any

from nap_env.cards import CARDS, SUIT_NAMES, SUITS

Record = Mapping[str, Any]


def transcript(record: Record) -> str:
    """Return a deal so far on one line: rules, what is changed in them, dealer, every event."""
    changes = ", ".join(f"{name}={value}" for name, value in record["options"].items())
    events = ", ".join(f"{seat} {action}" for seat, action in record["events"])
    return (
        f"{_heading(record)}, dealer {record['dealer']}{f', with {changes}' if changes else ''}: "
        f"{events or 'no call yet'}"
    )


def _heading(record: Record) -> str:
    """Return rules, players, and the chips at stake beside the prices."""
    heading = f"{record['rules']}, {record['num_players']} players"
    if record["pool"]:
        heading += f", pool {record['pool']}"
    if record["multiplier"] != 1:
        heading += f", stakes times {record['multiplier']}"
    return heading


def table_text(
    record: Record,
    hands: Sequence[Sequence[str]],
    table: Mapping[str, Sequence[str]],
    num_played: int,
    viewer: int | None,
    to_move: int | None,
    marking: bool,
) -> str:
    """Return a table as text.

    Args:
        record: the deal so far.
        hands: the cards that each seat holds now.
        table: what else lies on the table, by name, as the viewer may see it.
        num_played: how many of the record's last card events were cards played.
        viewer: the seat whose cards and discards are shown; None shows those of all.
        to_move: the seat that is to move, if any.
        marking: whether it is marking cards to put away.
    """
    lines = [f"{_heading(record)}, seat {record['dealer']} deals"]
    for seat, hand in enumerate(hands):
        cards = sorted(hand, key=CARDS.index, reverse=True)
        shown = cards if viewer in (None, seat) else ["--"] * len(cards)
        lines.append(f"  seat {seat}: {' '.join(shown) or 'no cards'}")
    lines += [f"  {name}: {' '.join(cards)}" for name, cards in table.items() if cards]
    card_events = [event for event in record["events"] if event[1] in CARDS]
    plays = card_events[len(card_events) - num_played :]
    calls = [event for event in record["events"] if event not in plays]
    lines.append(
        "calls:   " + (", ".join(_calls(calls, viewer, to_move if marking else None)) or "none yet")
    )
    lines += _trick_lines(record, plays, to_move)
    if "result" not in record:
        lines.append("to move: " + ("nobody" if to_move is None else f"seat {to_move}"))
    else:
        lines += _result_lines(record["result"])
    return "\n".join(lines)


def _calls(events: Sequence[Any], viewer: int | None, marking: int | None) -> list[str]:
    """Return calls and exchanges as the viewer may see them: of others' discards the number."""
    shown: list[str] = []
    marked = 0
    for place, (seat, name) in enumerate(events):
        hidden = viewer not in (None, seat)
        if not hidden or name not in CARDS:
            shown.append(f"{seat} {name}" + (f" ({marked})" if hidden and name == "done" else ""))
            marked = 0
            continue
        marked += 1
        follows = events[place + 1][0] if place + 1 < len(events) else marking
        if follows != seat:
            # A swap, or a number that is due: there is no `done`.
            shown.append(f"{seat} puts away {marked}")
            marked = 0
    return shown


def _trick_lines(record: Record, plays: Sequence[Any], to_move: int | None) -> list[str]:
    """Return a line a trick: who played what, and who took it."""
    size = sum(1 for hand in record["hands"] if hand)
    won = [0] * record["num_players"]
    lines = []
    for start in range(0, len(plays), size):
        trick = plays[start : start + size]
        line = f"trick {start // size + 1}: " + "  ".join(f"{seat} {card}" for seat, card in trick)
        winner = None
        if start + size < len(plays):
            winner = plays[start + size][0]
        elif len(trick) == size and "result" in record:
            tricks = record["result"]["tricks"]
            winner = next((seat for seat, won_ in enumerate(won) if tricks[seat] > won_), None)
        elif len(trick) == size:
            winner = to_move
        if winner is not None:
            won[winner] += 1
            line += f"  -> {winner}"
        lines.append(line)
    return lines


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
