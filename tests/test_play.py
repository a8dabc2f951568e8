"""A person at the table: what is asked, what is understood, and how one leaves."""

import io
import re
import subprocess
import sys

import pytest

from nap_env.agents import AGENTS
from nap_env.play import main
from nap_env.presets import PRESETS


class Terminal:
    """Runs the command with what a person writes, and gives what it prints."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, options: str, *lines: str) -> str:
        self._monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        assert main(options.split()) == 0
        return self._capsys.readouterr().out

    def refusal(self, options: str) -> str:
        with pytest.raises(SystemExit) as stop:
            main(options.split())
        assert stop.value.code == 2
        return self._capsys.readouterr().err


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(monkeypatch, capsys)


# Seat 1 deals, so that seat 2 speaks first; with passers the person gets any bid.
PUB = "--rules pub --players 4 --opponents passer --seat 1 --seed 3"
HAND = ["JS", "9S", "TH", "QD", "9C"]


def test_only_your_cards_are_on_the_screen(terminal: Terminal) -> None:
    out = terminal(PUB)
    assert "You have seat 1. ? shows" in out
    assert "seat 1: JS 9S TH QD 9C" in out and out.count("-- -- -- -- --") == 3
    assert "seat 2 passes" in out and "Seat 1, your call [pass two three misere four nap]:" in out


def test_leaving_tells_the_chips_and_counts_only_whole_deals(terminal: Terminal) -> None:
    assert terminal(PUB).endswith(
        "The deal that you leave does not count.\n"
        "chips after 0 deals: seat 0 +0, you +0, seat 2 +0, seat 3 +0\n"
    )
    out = terminal(PUB, "pass")  # passed out: the antes of 1 each are in the pool
    assert out.endswith(
        "chips after 1 deal: seat 0 -1, you -1, seat 2 -1, seat 3 -1; 4 in the pool\n"
    )
    assert "-- deal 2 --" in out


def test_ctrl_c_leaves_like_ctrl_d(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert main(PUB.split()) == 0
    assert "chips after 0 deals" in capsys.readouterr().out


def test_question_mark_tells_what_is_allowed_and_the_rules(terminal: Terminal) -> None:
    out = terminal(PUB, "?")
    assert "  nap         take 5 tricks: 10 from each if made, 5 to each if not" in out
    assert "  misere      take none" in out and "  pass        make no bid" in out
    assert out.count("pool      1 from each in every deal") == 2  # at the start, and here


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("qq", "'qq' is neither a card nor a call. Write a card as its rank and suit"),
        ("two hearts", "'two hearts' is neither a card nor a call"),
        ("as", "AS is not in your hand. You may choose pass two"),
        ("js", "You chose JS but must pass or bid. You may choose pass two"),
        ("wellington", "You chose wellington but must pass or bid"),
        ("", "Write one of pass two three misere four nap; ? shows"),
    ],
)
def test_wrong_input_explains_itself(written: str, answer: str, terminal: Terminal) -> None:
    out = terminal(PUB, written)
    assert answer in out and out.count("Seat 1, your call [") == 2


def test_a_card_that_does_not_follow_is_explained(terminal: Terminal) -> None:
    # Somebody else leads in trick 2 of one of these deals, and the person has another suit, too.
    for seed in range(30):
        out = terminal(f"--seat 0 --opponents random --seed {seed}", *["pass"] * 3)
        asked = re.search(r"your card \[([^]]+)\]: ", out)
        hand = re.findall(r"seat 0: ([^\n-]+)\n", out)
        if asked and set(hand[-1].split()) - set(asked[1].split()):
            (other, *_) = set(hand[-1].split()) - set(asked[1].split())
            passes = out.count("your call [")
            again = terminal(
                f"--seat 0 --opponents random --seed {seed}", *["pass"] * passes, other
            )
            assert f"You chose {other} but must follow " in again
            assert f"You may choose {asked[1]}." in again
            return
    raise AssertionError("no such deal")


@pytest.mark.parametrize("written", ["th", "10h", "10H", "Th"])
def test_cards_and_calls_in_any_spelling(written: str, terminal: Terminal) -> None:
    assert "you play TH" in terminal(PUB, "Two", written)
    assert "you bid misere" in terminal(PUB, "Misère")


def test_u_shows_the_last_trick(terminal: Terminal) -> None:
    out = terminal(PUB, "two", "u", HAND[0], "u")
    assert "No trick has been taken yet." in out
    last = re.search(r"Trick 1: you JS, seat 2 \w\w, seat 3 \w\w, seat 0 \w\w; (.*) took it", out)
    assert last is not None
    taker = last[1]
    verb = "take" if taker == "you" else "takes"
    assert f"  {taker} {verb} the trick\n" in out


def test_a_deal_shows_all_cards_at_its_end(terminal: Terminal) -> None:
    out = terminal(PUB + " --deals 1", "pass")
    assert "result:  passed out" in out and "seat 0: AS KH JD KC 8C" in out
    assert "does not count" not in out


def test_chips_are_kept_and_the_deal_goes_round(terminal: Terminal) -> None:
    out = terminal(PUB + " --deals 3", *["pass"] * 3)
    assert re.findall(r"seat (\d) deals", out)[::2] == ["1", "2", "3"]
    assert "chips after 3 deals: seat 0 -3, you -3, seat 2 -3, seat 3 -3; 12 in the pool" in out


def test_cards_put_away_by_others_are_not_named(terminal: Terminal) -> None:
    for seed in range(20):
        out = terminal(f"--rules draw --seat 0 --seed {seed}", *["pass"] * 2)
        asked = out.split("your card to put away")[0]
        if "puts a card away" in asked:
            assert not re.search(r"seat \d puts \w\w away", asked)
            return
    raise AssertionError("nobody has put a card away")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_played(name: str, terminal: Terminal) -> None:
    """A person who tries all actions in turn comes through any deal."""
    players = PRESETS[name].player_range[1]
    cards = [rank + suit for suit in "CDHS" for rank in "AKQJT98765432"]
    tries = ["done", "pass", "hold", "one", *cards, "jk", "hearts", "clubs", "diamonds"] * 8
    out = terminal(f"--rules {name} --players {players} --seed 1 --deals 1 --seat 0", *tries)
    assert "chips after 1 deal: you " in out and "result:" in out


def test_watching_shows_all_cards_and_asks_nothing(terminal: Terminal) -> None:
    out = terminal("--watch --opponents random passer --players 2 --rules parlett --seed 2")
    assert "--  " not in out and "[" not in out and "You" not in out
    assert len(re.findall(r"^  seat \d: (\w\w ){4}\w\w$", out, re.M)) == 2
    assert "result:" in out and out.count("-- deal ") == 1
    assert terminal("--watch --deals 3 --seed 2").count("-- deal ") == 3


def test_a_match_to_a_target_is_played_as_one(terminal: Terminal) -> None:
    out = terminal("--watch --rules thirty --players 3 --deals 40 --seed 1")
    assert "the match to 30 is over" in out


def test_the_same_seed_gives_the_same_evening(terminal: Terminal) -> None:
    options = "--rules pub --opponents random --seed 9"
    assert terminal(options, "pass", "pass") == terminal(options, "pass", "pass")
    seats = {terminal(f"--seed {seed}").split("You have seat ")[1][0] for seed in range(9)}
    assert len(seats) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--players 9", "num_players=9"),
        ("--seat 4", "seat=4: seats are 0 to 3"),
        ("--seed -1", "seed=-1: a whole number from 0 on"),
        ("--opponents random passer", "opponents: 2 names; one is allowed, or 3"),
        ("--opponents nobody", "'nobody': allowed are random, passer"),
        ("--deals 0", "--deals 0: at least 1"),
        ("--watch --seat 1", "--seat is for a person"),
        ("--rules whist", "rules='whist': a Rules object or one of standard"),
    ],
)
def test_impossible_options_are_refused(options: str, message: str, terminal: Terminal) -> None:
    assert message in terminal.refusal(options)


def test_the_command_runs_and_has_help() -> None:
    command = [sys.executable, "-m", "nap_env.play"]
    shown = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    help_text = "".join(shown.stdout.split())  # names are broken at their hyphens
    assert all(name in help_text for name in AGENTS) and "--watch" in help_text
    done = subprocess.run(
        [*command, "--num_players", "3", "--seed", "1"],
        input="?\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "chips after 0 deals" in done.stdout and done.stderr == ""
