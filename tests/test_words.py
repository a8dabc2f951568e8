"""What is said where a name is not known: which one was meant."""

import json
from collections.abc import Callable
from pathlib import Path

import gymnasium
import pytest

import nap_env
from nap_env import Batch, Game, Games, agents, nap_v0
from nap_env.agents import AGENTS
from nap_env.command import main
from nap_env.envs.single import NapEnv
from nap_env.envs.vector import NapVectorEnv
from nap_env.records import main as records
from nap_env.words import did_you_mean
from training.config import parse


def test_only_what_is_alike_is_meant() -> None:
    assert did_you_mean("Heuristik", AGENTS) == "; did you mean 'heuristic'?"
    assert did_you_mean("whist", AGENTS) == ""
    assert did_you_mean(None, []) == ""


@pytest.mark.parametrize(
    ("make", "meant"),
    [
        (lambda: nap_v0.env(players=4), "num_players"),
        (lambda: nap_v0.raw_env(flat_ob=True), "flat_obs"),
        (lambda: nap_v0.parallel_env(player=4), "num_players"),
        (lambda: NapEnv(opponent="random"), "opponents"),
        (lambda: NapVectorEnv(2, opponent="random"), "opponents"),
        (lambda: gymnasium.make("nap_env:nap/Nap-v0", players=4), "num_players"),
        (lambda: Batch(games=4), "num_games"),
        (lambda: Game(players=4), "num_players"),
        (lambda: Games(game=Game().games), "games"),
    ],
)
def test_an_argument(make: Callable[[], object], meant: str) -> None:
    with pytest.raises(TypeError, match=f"no argument .*; did you mean '{meant}'"):
        make()


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: nap_v0.env("parlet"), "parlett"),
        (lambda: nap_v0.env(options={"must_trum": True}), "must_trump"),
        (lambda: nap_v0.env(options={"pay": {"mizere": [3, 3]}}), "misere"),
        (lambda: nap_v0.env(mask_in="infos"), "info"),
        (lambda: nap_v0.env(render_mode="ansii"), "ansi"),
        (lambda: nap_v0.env().reset(options={"hand": []}), "hands"),
        (lambda: agents.make("ppo-standard4"), "ppo-standard-4"),
        (lambda: NapEnv(opponents="passr"), "passer"),
        (lambda: nap_env.layout("standard", 4).slice("trck"), "trick"),
        (lambda: Game().act("mizere"), "misere"),
    ],
)
def test_a_word(ask: Callable[[], object], meant: str) -> None:
    with pytest.raises(ValueError, match=f"; did you mean '{meant}'"):
        ask()


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("evaluat", "evaluate"),
        ("play --rules parlet", "parlett"),
        ("play --opponent-s random", "--opponents"),
        ("presets peeep", "peep"),
        ("records sample --deel 3", "--deals"),
        ("warmup --hepl", "--help"),
        ("train --thread 3", "--threads"),
        ("evaluate passr", "passer"),
    ],
)
def test_on_a_command_line(command: str, meant: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(command.split())
    told = capfd.readouterr().err + str(end.value.code)
    assert end.value.code
    assert f"did you mean '{meant}'?" in told or meant in told.partition("Perhaps you meant")[2]


def test_in_a_file_of_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "it.yaml").write_text("total_decision: 5\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        parse(["--config", str(tmp_path / "it.yaml")])
    assert "total_decision: not an option" in (told := capsys.readouterr().err)
    assert told.endswith("; did you mean 'total_decisions'?\n")


def test_in_options_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        records(["sample", "--options", json.dumps({"jokr": True})])
    assert "did you mean 'joker'?" in capsys.readouterr().err
