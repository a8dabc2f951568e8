"""A table as text: as a person would note it down, and on one line for errors."""

from collections.abc import Sequence

from nap_env.cards import SUIT_NAMES, SUITS
from nap_env.table import HIDDEN, Event, Table


def transcript(table: Table) -> str:
    """Return a deal so far on one line: rules, what is changed in them, dealer, every event."""
    changes = ", ".join(f"{name}={value}" for name, value in table.options.items())
    return (
        f"{_heading(table)}, dealer {table.dealer}{f', with {changes}' if changes else ''}: "
        f"{', '.join(_told(table.events, table)) or 'no call yet'}"
    )


def _heading(table: Table) -> str:
    """Return rules, players, and the chips at stake beside the prices."""
    heading = f"{table.rules}, {table.num_players} players"
    if table.first_pool:
        heading += f", pool {table.first_pool}"
    if table.multiplier != 1:
        heading += f", stakes times {table.multiplier}"
    return heading


def table_text(table: Table) -> str:
    """Return a table as lines of text."""
    lines = [f"{_heading(table)}, seat {table.dealer} deals"]
    lines += [
        f"  seat {seat}: {' '.join(hand) or 'no cards'}" for seat, hand in enumerate(table.hands)
    ]
    if table.widow:
        lines.append(f"  widow: {' '.join(reversed(table.widow))}")
    if table.stock:
        more = ["..."] * (len(table.stock) > 10)
        lines.append(f"  stock: {' '.join([*table.stock[:10], *more])}")
    lines.append(f"calls:   {', '.join(_told(table.calls, table)) or 'none yet'}")
    lines += _trick_lines(table)
    if table.payments is not None:
        return "\n".join(lines + _result_lines(table, table.payments))
    lines.append("to move: " + ("nobody" if table.to_move is None else f"seat {table.to_move}"))
    return "\n".join(lines)


def _told(events: Sequence[Event], table: Table) -> list[str]:
    """Return events in words: of cards that the viewer may not see the number."""
    marking = table.to_move if table.phase in ("buy", "exchange") else None
    following = [*events, (marking, HIDDEN)][1:]  # whoever is marking may go on
    words = []
    hidden = 0
    for (seat, name), follows in zip(events, following, strict=True):
        if name != HIDDEN:
            number = f" ({hidden})" if name == "done" and table.viewer not in (None, seat) else ""
            words.append(f"{seat} {name}{number}")
            hidden = 0
            continue
        hidden += 1
        if follows not in ((seat, HIDDEN), (seat, "done")):
            # A swap, or a number that is due: there is no `done`.
            words.append(f"{seat} puts away {hidden}")
            hidden = 0
    return words


def _trick_lines(table: Table) -> list[str]:
    """Return a line a trick: who played what, and who took it."""
    lines = []
    for number, (trick, winner) in enumerate(zip(table.tricks, table.winners, strict=True), 1):
        line = f"trick {number}: " + "  ".join(f"{seat} {card}" for seat, card in trick)
        taken = number < len(table.tricks) or table.complete
        lines.append(f"{line}  -> {winner}" if taken and winner is not None else line)
    return lines


def _result_lines(table: Table, payments: Sequence[int]) -> list[str]:
    outcome = f"{table.outcome}"
    if table.contract is not None:
        trumps = "none" if table.trump is None else SUIT_NAMES[SUITS.index(table.trump)]
        outcome += f", trumps {trumps}, tricks {' '.join(map(str, table.won))}"
    chips = "  ".join(f"{seat} {chips:+d}" for seat, chips in enumerate(payments))
    pool = table.first_pool - sum(payments)
    return [f"result:  {outcome}", f"chips:   {chips}", f"pool:    {pool}"]
