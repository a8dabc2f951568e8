"""The facts of the game are those of the deals that were counted."""

import itertools
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks import exact, facts
from benchmarks.facts import Options, about, percent, self_played, situations, solved
from nap_env import Batch
from nap_env.actions import ACTIONS, BIDS
from nap_env.agents import make
from nap_env.cards import CARDS, NUM_RANKS, NUM_SUITS, SUIT_MASK
from nap_env.game import Game
from nap_env.presets import PRESETS, resolve
from nap_env.solver import Solver
from training.tree import MOST_DECISIONS, is_small, num_deals

README = Path(__file__).parent.parent.parent / "benchmarks" / "README.md"


def row_of(preset, players, **options):
    (rules, presets), *others = situations([preset], [players]).items()
    assert not others
    return rules, solved(rules, presets, Options(**options))


def test_each_table_of_each_preset_has_one_row():
    covered = Counter(
        (name, num_players)
        for presets in situations(PRESETS).values()
        for name, players in presets.items()
        for num_players in players
    )
    wanted = {
        (name, num_players)
        for name, rules in PRESETS.items()
        for num_players in range(rules.player_range[0], rules.player_range[1] + 1)
    }
    assert covered == Counter(wanted)


def test_a_dealer_who_takes_no_cards_makes_no_other_row():
    (presets,) = situations(["standard"], [5, 6]).values()
    assert presets == {"standard": [5, 6]}  # 36 cards, five hands


@pytest.mark.parametrize(
    ("preset", "players", "cards", "pack"),
    [
        ("standard", 4, "5", "28, 8-A"),
        ("parlett", 4, "5", "52"),
        ("seven_card", 4, "7", "52"),
        ("pub", 4, "5", "28, 8-A; joker"),
        ("house", 4, "5", "32, 7-A; a void hand must trump"),
        ("peel", 4, "5", "52; misère with trumps"),
        ("mini_3x4", 2, "3", "12, J-A; 3 suits"),
    ],
)
def test_rows_keep_what_the_worth_of_cards_depends_on(preset, players, cards, pack):
    ((rules, presets),) = situations([preset], [players]).items()
    assert about(rules, presets) == {
        "hands": str(players),
        "cards": cards,
        "pack": pack,
        "presets": f"{preset} {players}",
    }


@pytest.mark.parametrize("preset", ["standard", "pub", "peel", "house"])
def test_counts_are_those_of_the_solver_on_the_same_deals(preset):
    rules, row = row_of(preset, 3, deals=250, seed=7)
    # The deals as `dealt` describes them: a hundred games, and their next matches.
    batch = Batch(rules, 3, num_games=100, seed=7, observe="none")
    made, longest_is_best = Counter(), 0
    for count in (100, 100, 50):
        games = batch.games[:count]
        for game, result in zip(games, Solver().solve_deals(games, rules, 3), strict=True):
            made.update(np.flatnonzero(result["bid_made"][0] == 1).tolist())
            hand = int(game["hand"][0])
            suits = [hand >> (NUM_RANKS * suit) & SUIT_MASK for suit in range(NUM_SUITS)]
            lengths = [suit.bit_count() for suit in suits]
            tricks = result["suit_tricks"][0].tolist()
            longest = [t for t, n in zip(tricks, lengths, strict=True) if n == max(lengths)]
            longest_is_best += max(longest) == max(tricks)
        batch.reset()
    numbers = {q: BIDS.index(bid.name) for q, bid in facts.QUESTIONS.items()}
    assert row["deals"] == 250
    assert row["made"] == {q: made[numbers[q]] for q in row["made"]}
    assert row["longest_is_best"] == longest_is_best


def outcome(mine, theirs, trump, leads, wish, first_leads=None):
    """Return the most (wish 1) tricks of a declarer with one opponent, or minus the fewest (-1)."""
    if not mine:
        return 0
    leader, follower = (mine, theirs) if leads else (theirs, mine)
    after_leads = []
    for card in first_leads or leader:
        after_answers = []
        for answer in [c for c in follower if c[0] == card[0]] or follower:
            beaten = answer > card if answer[0] == card[0] else answer[0] == trump
            takes = beaten != leads
            left = [[c for c in hand if c not in (card, answer)] for hand in (mine, theirs)]
            after_answers.append(wish * takes + outcome(*left, trump, takes, wish))
        after_leads.append(min(after_answers) if leads else max(after_answers))
    return max(after_leads) if leads else min(after_leads)


def test_all_deals_of_the_smallest_game_are_those_of_plain_minimax():
    row = row_of("mini_2x4", 2)[1]
    pack = set(itertools.product("CD", range(4)))
    made = Counter()
    for mine in itertools.combinations(sorted(pack), 3):
        for theirs in itertools.combinations(sorted(pack - set(mine)), 3):
            tricks = max(
                outcome(mine, theirs, suit, True, 1, [card for card in mine if card[0] == suit])
                for suit in {suit for suit, _ in mine}
            )
            made["one"] += tricks >= 1
            made["two"] += tricks >= 2
            made["three"] += tricks == 3
            made["nap"] += tricks == 3
            made["misère"] += outcome(mine, theirs, None, True, -1) == 0
    assert row["exact"] and row["deals"] == 560
    assert {question: row["made"][question] for question in made} == made


@pytest.mark.parametrize(("preset", "players"), [("mini_2x4", 2), ("mini_3p", 3)])
def test_random_deals_agree_with_all_deals(preset, players):
    exact, sample = (row_of(preset, players, deals=deals)[1] for deals in (1_000_000, 400))
    assert exact["exact"] and not sample["exact"] and sample["deals"] == 400
    for question, count in exact["made"].items():
        p = count / exact["deals"]
        error = 4 * (p * (1 - p) / 400) ** 0.5
        assert sample["made"][question] / 400 == pytest.approx(p, abs=error)


def test_time_ends_a_row_of_random_deals_but_not_one_of_all_deals():
    random, exact = (
        row_of(preset, 3, seconds=1e-9, deals=20_000)[1] for preset in ("standard", "mini_3p")
    )
    assert (random["deals"], random["exact"]) == (facts.SOLVED_AT_ONCE, False)
    assert (exact["deals"], exact["exact"]) == (16_800, True)


@pytest.mark.parametrize(("preset", "players"), [("standard", 4), ("dealer_must", 3)])
def test_contracts_are_those_of_the_records_of_the_same_deals(preset, players):
    deals = 150
    rules = resolve(preset)
    row = self_played(rules, players, Options(agent="random", deals=deals, seed=5))
    games = Batch(rules, players, num_games=deals, seed=5)
    random = make("random", rules, players)
    played, made = Counter(), Counter()
    rows = np.arange(deals)
    while rows.size:
        actions = games.sample()  # streams stay in step with those of `self_played`
        actions[rows] = random(games, rows)
        for i in rows:
            game = Game.of(rules, players, games.games[i : i + 1].copy())
            game.act(ACTIONS[actions[i]])
            if game.over:
                result = game.record()["result"]
                played[result["declarer"] is not None and result["contract"]] += 1
                made[result["contract"]] += bool(result["made"])
        games.step(actions)
        rows = rows[~games.done[rows]]
    assert row["passed"] == played[False]
    contracts = {name: counts for name, counts in row["contracts"].items() if counts["deals"]}
    assert contracts == {
        name: {"deals": played[name], "made": made[name]} for name in BIDS if played[name]
    }


def test_errors_are_in_units_of_the_last_digit():
    assert percent(637_000, 1_000_000) == "63.70(9)"  # 1.96 * sqrt(.637 * .363 / 1e6) = .00094
    assert percent(50, 100) == "50(10)"
    assert percent(0, 1_000_000) == "0.0000(2)"
    assert percent(140, 560, exact=True) == "25.00"


def run(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys, "argv", ["facts", *arguments.split()])
    status = facts.main()
    return status, capsys.readouterr()


def test_command_prints_the_tables_and_one_line_of_counts(monkeypatch, capsys):
    arguments = "--rules mini_2x4 standard --players 2 3 --deals 1000 --agent random --markdown"
    status, printed = run(monkeypatch, capsys, arguments)
    assert status == 0
    deals, self_play, _, line = printed.out.strip().split("\n\n")
    report = json.loads(line)
    assert [line.split(" | ")[3:5] for line in deals.splitlines()[2:]] == [
        ["mini_2x4 2", "all 560"],
        ["standard 3", "1,000"],
    ]
    assert [line.split(" | ")[:3] for line in self_play.splitlines()[2:]] == [
        ["| mini_2x4", "2", "1,000"],
        ["| standard", "3", "1,000"],
    ]
    for row in report["self_play"]:
        counts = [counts["deals"] for counts in row["contracts"].values()]
        assert row["passed"] + sum(counts) == 1000


def test_the_same_tables_fit_a_terminal(monkeypatch, capsys):
    arguments = "--rules mini_2x4 parlett --players 2 3 --deals 100"
    status, printed = run(monkeypatch, capsys, arguments)
    assert status == 0
    *tables, _ = printed.out.splitlines()
    assert max(map(len, tables)) <= 80
    assert tables[0] == "hands 2; cards 3; pack 8, J-A; 2 suits; presets mini_2x4 2; deals 100"
    text = printed.out
    told, page = text.split("\n\n")[:2], run(monkeypatch, capsys, f"{arguments} --markdown")[1].out
    for table, markdown in zip(told, page.split("\n\n")[:2], strict=True):
        _, _, *rows = ([*line.split(" | ")] for line in markdown.splitlines())
        figures = [cell.strip(" |") for row in rows for cell in row[len(row) - 2 :]]
        assert all(figure in table for figure in figures)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--rules nap", "rules='nap': "),
        ("--rules standard --players 9", "players=(9,): standard "),
        ("--rules mini_2x4 --agent nobody", "'nobody': "),
    ],
)
def test_errors_go_to_standard_error(monkeypatch, capsys, arguments, message):
    status, printed = run(monkeypatch, capsys, arguments)
    assert status == 2
    assert printed.err.startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("options", "message"),
    [({"deals": 0}, "deals=0: at least 1"), ({"seconds": 0.0}, "seconds=0.0: more than 0")],
)
def test_options_that_count_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Options(**options)


def test_readme_has_all_rows():
    text = README.read_text()
    for rules, presets in situations(PRESETS).items():
        assert f"| {' | '.join(about(rules, presets).values())} |" in text
    for rules, num_players in facts.seated(facts.PLAYED):
        assert f"| {rules.name} | {num_players} | 1,000,000 |" in text


def test_small_games_are_told_exactly(monkeypatch, capsys):
    arguments = "--tables exact --rules mini_2x4 standard --players 2 4 --markdown"
    status, printed = run(monkeypatch, capsys, arguments)
    assert status == 0
    worth, calls, mixed, _, line = printed.out.strip().split("\n\n")
    (row,) = json.loads(line)["exact"]
    assert worth.splitlines()[2].startswith("| mini_2x4 | 2 | 560 | 13,520 | +0.89286 -0.89286 |")
    first = [line.split(" | ") for line in calls.splitlines()[2:] if " | 100.0 | " in line]
    assert sum(float(cells[5]) for cells in first) == pytest.approx(100, abs=0.2)
    (opening,) = (place for place in row["calls"] if place["before"] == "")
    hands = Counter()
    for of_call in opening["hands"].values():
        for hand, chance in of_call:
            hands[hand] += chance
    assert len(hands) == 28  # half of 56: each has a twin in the other suits
    assert min(hands.values()) == pytest.approx(1, abs=1e-3)
    assert "AKQ" in dict(opening["hands"]["nap"])
    assert 2 < len(mixed.splitlines()) <= 2 + exact.MIXED


def test_hands_are_shown_without_the_names_of_suits():
    hands = {"AC KC JD": "AK-J", "JD AC KD": "KJ-A", "QD QH AS": "A-Q-Q"}
    for cards, text in hands.items():
        assert exact.shown(sum(1 << CARDS.index(card) for card in cards.split())) == text


def test_the_page_of_small_games_has_all_of_them():
    page = (README.parent.parent / "docs" / "small-games.md").read_text()
    for rules, num_players in facts.seated(PRESETS):
        if is_small(rules, num_players, MOST_DECISIONS):
            assert f"| {rules.name} | {num_players} | {num_deals(rules, num_players):,} |" in page
