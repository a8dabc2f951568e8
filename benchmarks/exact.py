"""Exact facts of small games: their worth, how an equilibrium bids, what it leaves to chance.

    python -m benchmarks.facts --tables exact

There may be other equilibria, of the same worth with two players, that bid and play otherwise.
"""

from typing import Any

from nap_env.cards import RANKS, hand_cards
from nap_env.rules import Rules
from training.equilibrium import ITERATIONS, Decision, Solution, calls, decisions, equilibrium

UNTIL = 1e-6
"""Chips a deal that a best answer gains at most, with two players."""

OFTEN = 0.05
"""Share of the deals from which on the hands behind a call are listed."""

SURE = 0.995
"""Chance from which on it is shown as certain."""

NEVER = 1e-4
"""Share of the deals, or chance, up to which nothing is told."""

EVEN = 0.05
"""Chances that differ by less are even."""

MIXED = 5
"""Plays that are listed, those left to chance the most."""


def exact(rules: Rules, num_players: int) -> dict[str, Any]:
    """Return what is found of a game, as the JSON line of `benchmarks.facts` has it."""
    iterations = ITERATIONS if num_players > 2 else None
    solution = equilibrium(rules, num_players, iterations=iterations, until=UNTIL)
    return {**solution.told, "calls": _calls(solution), "mixed": _mixed(solution)}


def _calls(solution: Solution) -> list[dict[str, Any]]:
    """Return by what was called before: how often, what follows how often, and with which hands."""
    hands: dict[tuple[str, ...], dict[str, list[tuple[str, float]]]] = {}
    for decision in decisions(solution):
        if decision.is_call and decision.reached > NEVER:
            by_call = hands.setdefault(decision.before, {})
            for call, chance in decision.chances.items():
                if chance > NEVER:
                    by_call.setdefault(call, []).append((shown(decision.hand), round(chance, 4)))
    rows = []
    for before, shares in calls(solution).items():
        if (total := sum(shares.values())) > NEVER:
            rows.append(
                {
                    "before": " ".join(before),
                    "deals": round(total, 4),
                    "calls": {call: round(share / total, 4) for call, share in shares.items()},
                    "hands": hands[before],
                }
            )
    return rows


def _mixed(solution: Solution) -> list[dict[str, Any]]:
    """Return the plays of cards that are left to chance the most: how often, and how.

    Equal shares are left out: those are, as a rule, cards between which nothing depends.
    """

    def mixing(decision: Decision) -> float:
        return decision.reached * (1 - max(decision.chances.values()))

    def is_even(decision: Decision) -> bool:
        shares = [chance for chance in decision.chances.values() if chance > 1 - SURE]
        return max(shares) - min(shares) < EVEN

    plays = [
        decision
        for decision in decisions(solution)
        if decision.reached > NEVER and not decision.is_call and not is_even(decision)
    ]
    return [
        {
            "seat": decision.seat,
            "hand": hand_cards(decision.hand),
            "before": " ".join(decision.before),
            "chances": {card: round(chance, 4) for card, chance in decision.chances.items()},
            "deals": round(decision.reached, 4),
        }
        for decision in sorted(plays, key=mixing, reverse=True)[:MIXED]
    ]


def shown(hand: int) -> str:
    """Return a hand without the names of the suits: the longest first, `AK-J`."""
    suits: dict[str, str] = {}
    for card in reversed(hand_cards(hand)):
        suits[card[1]] = suits.get(card[1], "") + card[0]

    def rank(cards: str) -> tuple[int, list[int]]:
        return len(cards), [RANKS.index(card) for card in cards]

    return "-".join(sorted(suits.values(), key=rank, reverse=True))


def worth_table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return the table of what games are worth."""
    heads = [
        "preset",
        "players",
        "deals",
        "information sets",
        "worth by seat",
        "a best answer gains",
    ]
    lines = [[*heads, "from uniform play", "all others against a seat"]]
    for row in rows:
        decimals = 5 if row["players"] == 2 else 3
        lines.append(
            [
                *(row["rules"], f"{row['players']}", f"{row['deals']:,}"),
                f"{row['information_sets']:,}",
                " ".join(f"{worth:+.{decimals}f}" for worth in row["values"]),
                f"{row['exploitability']:.1e}",
                f"{row['uniform_exploitability']:.3f}",
                " ".join(f"{low:.3f}-{high:.3f}" for low, high in row.get("gains_together", ())),
            ]
        )
    return lines


def calls_table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return the table of what is called how often, and with which hands."""
    lines = [["preset", "players", "after", "deals", "call", "how often", "hands"]]
    for row in rows:
        for place in row["calls"]:
            if place["deals"] < OFTEN:
                continue
            for call, share in place["calls"].items():
                if share < NEVER:
                    continue
                hands = [
                    hand if chance >= SURE else f"{hand} {100 * chance:.0f} %"
                    for hand, chance in place["hands"][call]
                    if chance >= 1 - SURE
                ]
                what = [row["rules"], f"{row['players']}", place["before"]]
                often = [f"{100 * place['deals']:.1f}", call, f"{100 * share:.1f}"]
                lines.append([*what, *often, ", ".join(hands)])
    return lines


def mixed_table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return the table of plays that are left to chance."""
    lines = [["preset", "players", "deals", "seat", "dealt", "after", "plays"]]
    for row in rows:
        for place in row["mixed"]:
            plays = ", ".join(
                f"{card} {100 * chance:.0f} %"
                for card, chance in place["chances"].items()
                if chance > 1 - SURE
            )
            what = [row["rules"], f"{row['players']}", f"{100 * place['deals']:.2f}"]
            lines.append(
                [*what, f"{place['seat']}", " ".join(place["hand"]), place["before"], plays]
            )
    return lines
