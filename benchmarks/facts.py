"""Facts of the game: what can be made with open cards, and what a player bids and makes.

    python -m benchmarks.facts                       both tables
    python -m benchmarks.facts --markdown            the same as they stand in README.md
    python -m benchmarks.facts --tables self-play    only the second one
    python -m benchmarks.facts --tables exact        small games solved

First table: a hand's owner is the declarer, leads, and everybody sees all cards; how often can he
make a bid with the hand as it was dealt, under the trump suit that suits him best? Rules that give
the same answer share a row. Second table: how often an agent that plays every seat gets to each
contract, and makes it. What small games are worth and how they are played best is in
`benchmarks.exact`.
"""

import datetime
import itertools
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from textwrap import fill
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import tyro
from scipy import stats

from benchmarks import exact
from benchmarks.throughput import OUR_PACKAGES, origin
from nap_env import Batch
from nap_env.actions import BIDS, NUM_BIDS
from nap_env.agents import make
from nap_env.cards import NUM_RANKS, NUM_SUITS, RANKS, SUIT_MASK
from nap_env.engine.kernel import kernel
from nap_env.engine.state import OVER, new_games, popcount
from nap_env.engine.step import step
from nap_env.presets import PRESETS, resolve
from nap_env.rules import TARIFF, Rules, rules_table, tricks_needed
from nap_env.solver import new_work, solve_deal
from nap_env.terminal import Progress
from training.provenance import commit, machine, versions
from training.tree import MOST_DECISIONS, is_small

Array = npt.NDArray[Any]
Situations = dict[Rules, dict[str, list[int]]]

# Columns of the first table: the bid whose contract is tried.
QUESTIONS = {name: TARIFF[name] for name in ("one", "two", "three", "four", "nap", "six", "seven")}
QUESTIONS["nap, lowest trump led"] = replace(TARIFF["napoleon"], lead="lowest_trump")
QUESTIONS["nap, lowest side card led"] = replace(TARIFF["wellington"], lead="lowest_plain")
QUESTIONS["misère"] = TARIFF["misere"]
PLAYED = ("standard", "parlett")  # presets of the second table, unless told
SOLVED_SEAT = 0  # which hand of a deal is solved makes no difference
SOLVED_AT_ONCE = 100  # deals between two looks at the clock
PLAYED_AT_ONCE = 4096
NO_CAP = 1 << 62  # nodes: every deal is solved, however long it takes


@dataclass(frozen=True)
class Options:
    """Count what can be made double dummy, and what an agent bids and makes."""

    tables: tuple[Literal["deals", "self-play", "exact"], ...] = ("deals", "self-play")
    """Tables to make."""
    rules: tuple[str, ...] = ()
    """Presets; by default all are solved, of the exact tables all that are small enough, and
    standard and parlett are played."""
    players: tuple[int, ...] = ()
    """Numbers of players; by default all that the rules seat."""
    deals: int = 1_000_000
    """Deals of a row. Where there are no more different ones, each is solved once."""
    seconds: float = 90.0
    """A row of random deals in the first table ends after so many seconds with what it has."""
    agent: str = "heuristic"
    """Player of the second table."""
    seed: int = 0
    """Seed of the deals and of the agent's choices."""
    markdown: bool = False
    """Print tables for a page, not for a terminal."""

    def __post_init__(self) -> None:
        """Refuse what counts nothing."""
        if self.deals < 1:
            raise ValueError(f"deals={self.deals}: at least 1")
        if not self.seconds > 0:
            raise ValueError(f"seconds={self.seconds}: more than 0")


def seated(names: Sequence[str], players: Sequence[int] = ()) -> list[tuple[Rules, int]]:
    """Presets with each number of players that they seat, of those that are wanted.

    Raises:
        ValueError: An unknown preset, or nobody is seated.
    """
    tables = [
        (rules, num_players)
        for rules in map(resolve, names)
        for num_players in range(rules.player_range[0], rules.player_range[1] + 1)
        if not players or num_players in players
    ]
    if not tables:
        raise ValueError(f"players={players}: {', '.join(names)} seat no such number")
    return tables


def situations(names: Sequence[str], players: Sequence[int] = ()) -> Situations:
    """Rules that hold all that the cards' worth depends on, and the presets that they stand for.

    A dealer who takes no cards is left out: `player_range` is the number of hands. What is dealt
    to the table or exchanged later is left out too.

    Returns:
        By such rules: by preset the numbers of players. Short hands and small packs come first.
    """
    found: Situations = {}
    for rules, num_players in seated(names, players):
        hands = rules.hands(num_players)
        size = rules.num_tricks
        situation = Rules(
            bids=tuple(b for b in QUESTIONS.values() if tricks_needed(b, size) <= size),
            player_range=(hands, hands),
            deck=rules.pack_size(num_players),
            suits=rules.suits,
            joker=rules.joker,
            hand_size=size,
            must_trump=rules.must_trump,
            misere_goal=rules.misere_goal,
            misere_trump=rules.misere_trump,
        )
        found.setdefault(situation, {}).setdefault(rules.name, []).append(num_players)
    return dict(sorted(found.items(), key=lambda item: order(item[0])))


def order(rules: Rules) -> tuple[Any, ...]:
    """Where a row stands in the first table."""
    hands = rules.player_range[0]
    besides = rules.joker, rules.must_trump, rules.misere_trump, rules.misere_goal
    return rules.hand_size, hands, rules.deck, rules.suits, *besides


@kernel
def _solve_first_hands(work, games, table, made):
    """Add the makeable bids of the solved seat to `made`, int64 (NUM_BIDS,).

    Returns:
        In how many deals a longest suit is as good as any as trumps.
    """
    w = work[0]
    longest_is_best = 0
    for i in range(len(games)):
        g = games[i]
        solve_deal(w, g, table[0], np.int64(SOLVED_SEAT))
        for bid in range(NUM_BIDS):
            made[bid] += w["bid_made"][bid] == 1
        longest = np.int64(0)
        tricks = np.int64(0)
        most = np.int64(0)
        for suit in range(NUM_SUITS):
            length = popcount(g["hand"][SOLVED_SEAT] & (np.int64(SUIT_MASK) << (NUM_RANKS * suit)))
            most = max(most, w["suit_tricks"][suit])
            if length > longest:
                longest = length
                tricks = w["suit_tricks"][suit]
            elif length == longest:
                tricks = max(tricks, w["suit_tricks"][suit])
        longest_is_best += tricks == most
    return longest_is_best


def all_deals(pack: list[int], hands: int, size: int) -> Iterator[tuple[int, ...]]:
    """Every way to deal so many hands from a pack, as masks."""
    if hands == 0:
        yield ()
        return
    for hand in itertools.combinations(pack, size):
        rest = [card for card in pack if card not in hand]
        for others in all_deals(rest, hands - 1, size):
            yield sum(1 << card for card in hand), *others


def num_deals(rules: Rules) -> int:
    """Number of different deals of a situation."""
    hands, size = rules.player_range[0], rules.hand_size
    cards = rules.pack_size(hands) + rules.joker
    return math.prod(math.comb(cards - size * k, size) for k in range(hands))


def dealt(rules: Rules, deals: int, seed: int) -> Iterator[Array]:
    """GAME (n,), n up to SOLVED_AT_ONCE: every deal, or `deals` random ones if there are more."""
    hands = rules.player_range[0]
    if num_deals(rules) <= deals:
        table = rules_table(rules, hands)[0]
        pack = table["pack"][: table["pack_size"]].tolist()
        masks = np.array(list(all_deals(pack, hands, rules.hand_size)))
        games = new_games(len(masks))
        games["hand"][:, :hands] = masks
        yield from np.split(games, range(SOLVED_AT_ONCE, len(games), SOLVED_AT_ONCE))
        return
    batch = Batch(rules, hands, num_games=SOLVED_AT_ONCE, seed=seed, observe="none")
    for done in range(0, deals, SOLVED_AT_ONCE):
        yield batch.games[: deals - done]
        batch.reset()


def about(rules: Rules, presets: dict[str, list[int]]) -> dict[str, str]:
    """What a row of the first table is about, and the presets that it stands for."""
    hands = rules.player_range[0]
    size = rules.pack_size(hands)
    ranks = size // rules.suits
    pack = {
        f"{size}, {RANKS[-ranks]}-A": ranks < NUM_RANKS,
        f"{size}": ranks == NUM_RANKS,
        f"{rules.suits} suits": rules.suits < NUM_SUITS,
        "joker": rules.joker,
        "a void hand must trump": rules.must_trump,
        "misère with trumps": rules.misere_trump == "lead",
        "misère for exactly three tricks": rules.misere_goal == "exact3_nt",
    }
    return {
        "hands": f"{hands}",
        "cards": f"{rules.hand_size}",
        "pack": "; ".join(text for text, applies in pack.items() if applies),
        "presets": ", ".join(f"{name} {span(players)}" for name, players in presets.items()),
    }


def span(numbers: list[int]) -> str:
    """Neighbouring numbers as text."""
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def solved(rules: Rules, presets: dict[str, list[int]], options: Options) -> dict[str, Any]:
    """A row of the first table as counts."""
    table = rules_table(rules, rules.player_range[0])
    work = new_work(NO_CAP)
    made = np.zeros(NUM_BIDS, np.int64)
    deals = longest_is_best = 0
    total = min(options.deals, num_deals(rules))
    exact = total == num_deals(rules)
    _solve_first_hands(work, new_games(0), table, made)  # compiles
    start = perf_counter()
    with Progress(", ".join(presets), total, "deals") as progress:
        for games in dealt(rules, options.deals, options.seed):
            longest_is_best += int(_solve_first_hands(work, games, table, made))
            deals += len(games)
            progress.add(len(games))
            if not exact and perf_counter() - start > options.seconds:
                break
    names = {bid.name: question for question, bid in QUESTIONS.items()}
    return {
        **about(rules, presets),
        "deals": deals,
        "exact": exact,
        "seconds": round(perf_counter() - start, 1),
        "made": {names[bid.name]: int(made[BIDS.index(bid.name)]) for bid in rules.bids},
        "longest_is_best": longest_is_best,
    }


@kernel
def _count_ending(games, table, actions, rows, scratch, contracts, made):
    """Count the deals that these actions will end: by contract, NUM_BIDS for none, and made."""
    g = scratch[0]
    for row in rows:
        scratch[0] = games[row]
        step(g, table[0], actions[row])
        if g["phase"] == OVER:
            contracts[g["contract"]] += 1
            made[g["contract"]] += g["made"] == 1


def self_played(rules: Rules, num_players: int, options: Options) -> dict[str, Any]:
    """A row of the second table as counts."""
    agent = make(options.agent, rules, num_players)
    size = min(PLAYED_AT_ONCE, options.deals)
    games = Batch(rules, num_players, num_games=size, seed=options.seed)
    table = rules_table(rules, num_players)
    listed = [bid.name for bid in rules.all_bids]  # others may be imposed
    scratch = new_games(1)
    contracts, made = np.zeros((2, NUM_BIDS + 1), np.int64)  # the last: nobody has bid
    label = f"{rules.name}, {num_players} players"
    with Progress(label, options.deals, "deals") as progress:
        for done in range(0, options.deals, size):
            rows = np.arange(min(size, options.deals - done))
            while rows.size:
                actions = games.sample()  # for games that are through
                actions[rows] = agent(games, rows)
                _count_ending(games.games, table, actions, rows, scratch, contracts, made)
                games.step(actions)
                rows = rows[~games.done[rows]]
            progress.add(min(size, options.deals - done))
            games.reset()
    return {
        "rules": rules.name,
        "num_players": num_players,
        "deals": options.deals,
        "passed": int(contracts[-1]),
        "contracts": {
            name: {"deals": int(contracts[number]), "made": int(made[number])}
            for number, name in enumerate(BIDS)
            if contracts[number] or name in listed
        },
    }


def percent(count: int, of: int, exact: bool = False) -> str:
    """A frequency in percent; in brackets the 95 % error in units of its last digit."""
    if exact:
        return f"{100 * count / of:.2f}"
    interval = stats.binomtest(count, of).proportion_ci(method="wilson")
    half = 50 * (interval.high - interval.low)
    decimals = max(0, -int(f"{half:.0e}".split("e")[1]))
    return f"{100 * count / of:.{decimals}f}({round(half * 10**decimals)})"


def markdown(rows: list[list[str]]) -> str:
    """A table, the first row its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def folded(rows: list[list[str]]) -> str:
    """A table for a terminal: of each row what it is about, then its figures by name."""
    lines = []
    heads = rows[0].index("deals") + 1
    for row in rows[1:]:
        what = [f"{name} {cell}" for name, cell in zip(rows[0], row, strict=True) if cell]
        figures = sum(bool(cell) for cell in row[:heads])
        cells = "  ".join(cell.replace(" ", "\0") for cell in what[figures:])  # stay together
        lines.append(fill("; ".join(what[:figures]), 80))
        lines.append(fill(cells, 80, initial_indent="  ", subsequent_indent="  "))
    return "\n".join(lines).replace("\0", " ")


def deals_table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """The first table: bids that can be made double dummy."""
    questions = [name for name in QUESTIONS if any(name in row["made"] for row in rows)]
    what = ["hands", "cards", "pack", "presets"]
    lines = [[*what, "deals", *questions, "longest suit is best"]]
    for row in rows:
        deals, exact = row["deals"], row["exact"]
        counts = [row["made"].get(name) for name in questions] + [row["longest_is_best"]]
        lines.append(
            [row[name] for name in what]
            + [f"all {deals:,}" if exact else f"{deals:,}"]
            + ["" if count is None else percent(count, deals, exact) for count in counts]
        )
    return lines


def self_play_table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """The second table: how often a contract is played, and of these how often it is made."""
    contracts = [bid for bid in BIDS if any(bid in row["contracts"] for row in rows)]
    lines = [["preset", "players", "deals", "passed", *contracts]]
    for row in rows:
        deals = row["deals"]
        cells = [row["rules"], f"{row['num_players']}", f"{deals:,}", percent(row["passed"], deals)]
        for bid in contracts:
            played = row["contracts"].get(bid)
            cell = percent(played["deals"], deals) if played else ""
            if played and played["deals"]:
                cell += f": {percent(played['made'], played['deals'])}"
            cells.append(cell)
        lines.append(cells)
    return lines


def counted(options: Options) -> dict[str, Any]:
    """Count everything the options ask for."""
    start = perf_counter()
    report: dict[str, Any] = {
        "options": asdict(options),
        "machine": machine(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **commit(),
        "versions": versions(OUR_PACKAGES),
    }
    if "deals" in options.tables:
        to_solve = situations(options.rules or tuple(PRESETS), options.players)
        report["deals"] = [solved(rules, presets, options) for rules, presets in to_solve.items()]
    if "self-play" in options.tables:
        report["self_play"] = [
            self_played(rules, num_players, options)
            for rules, num_players in seated(options.rules or PLAYED, options.players)
        ]
    if "exact" in options.tables:
        report["exact"] = [
            exact.exact(rules, num_players)
            for rules, num_players in seated(options.rules or tuple(PRESETS), options.players)
            if is_small(rules, num_players, MOST_DECISIONS)
        ]
    report["seconds"] = round(perf_counter() - start, 1)
    return report


def main() -> int:
    """Run the command; gives its exit status."""
    options = tyro.cli(Options, prog="python -m benchmarks.facts")
    try:
        report = counted(options)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    told = markdown if options.markdown else folded
    if report.get("deals"):
        print(told(deals_table(report["deals"])), end="\n\n")
    if report.get("self_play"):
        print(told(self_play_table(report["self_play"])), end="\n\n")
    if report.get("exact"):
        for table in (exact.worth_table, exact.calls_table, exact.mixed_table):
            print(told(table(report["exact"])), end="\n\n")
    print(origin(report), end="\n\n")
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
