"""The command line and YAML files of a training run."""

from pathlib import Path

import pytest
import yaml

from training.config import MAY_CHANGE, Config, parse


@pytest.fixture
def run_yaml(tmp_path):
    def write(text, *argv):
        path = tmp_path / "run.yaml"
        path.write_text(text)
        return parse(["--config", str(path), *argv])

    return write


def test_defaults_without_a_file():
    assert parse([]) == Config()


def test_file_then_command_line(run_yaml):
    config = run_yaml("seed: 3\nnum_games: 64\n", "--num-games", "32")
    assert (config.seed, config.num_games, config.num_players) == (3, 32, (4,))


@pytest.mark.parametrize(("text", "value"), [("false", False), ("no", False), ("True", True)])
def test_a_yes_or_no_in_a_file(run_yaml, text, value):
    assert run_yaml(f"suits_in_order: {text}\n").suits_in_order is value


@pytest.mark.parametrize("key", ["num_players", "players"])
def test_number_of_players_in_a_file(run_yaml, key):
    assert run_yaml(f"{key}: 3\n").num_players == (3,)


@pytest.mark.parametrize("option", ["--players", "--num-players", "--num_players"])
def test_number_of_players_on_the_command_line(option):
    assert parse([option, "3"]).num_players == (3,)


def test_values_of_all_kinds(run_yaml):
    config = run_yaml(
        "learning_rate: 1e-4\nhidden: [64, 32, 16]\noptions: {must_trump: true}\n"
        "against: [passer]\nrules: house\n"
    )
    assert config.learning_rate == 1e-4
    assert config.hidden == (64, 32, 16)
    assert config.options == {"must_trump": True}
    assert config.against == ("passer",)
    assert config.rules == ("house",)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("sed: 3\n", "sed"),
        ("seed: three\n", "seed"),
        ("seed: 1.5\n", "seed"),
        ("seed: true\n", "seed"),
        ("seed: [1, 2]\n", "2"),
        ("seed: -1\n", "seed"),
        ("seed:\n", "seed"),
        ("hidden: [64, wide]\n", "hidden"),
        ("learning_rate: 0\n", "learning_rate=0"),
        ("max_kl: -1\n", "max_kl"),
        ("against: []\n", "against"),
        ("minibatches: 0\n", "minibatches=0"),
        ("gae_lambda: 1.5\n", "gae_lambda"),
        ("eval_sets: 1\n", "eval_sets"),
        ("rules: []\n", "rules=()"),
        ("num_players: [3, 3]\n", "num_players=(3, 3)"),
        ("options: [1]\n", "options"),
        ("options: 2020-01-01\n", "options"),
        ("resume: runs/old\n", "resume"),
        ("ppo:\n  seed: 3\n", "ppo"),
        ("- seed\n", "run.yaml"),
        ("seed: [\n", "run.yaml"),
    ],
)
def test_wrong_file_stops_with_the_name(run_yaml, capsys, text, named):
    with pytest.raises(SystemExit) as stop:
        run_yaml(text)
    assert stop.value.code == 2
    output = capsys.readouterr()
    assert named in output.err
    assert not output.out


def test_a_run_with_options_of_an_older_version_is_refused_by_name(tmp_path, capsys):
    (tmp_path / "config.yaml").write_text("seed: 3\nluck: 0.5\n")
    with pytest.raises(SystemExit) as stop:
        parse(["--resume", str(tmp_path)])
    assert stop.value.code == 2
    said = f"{tmp_path / 'config.yaml'}: luck: not an option (of this version, which resumes no"
    assert said in capsys.readouterr().err


def test_a_damaged_file_is_refused_by_name(tmp_path, capsys):
    (tmp_path / "it.yaml").write_bytes(b"seed: \xff\x00")
    with pytest.raises(SystemExit) as stop:
        parse(["--config", str(tmp_path / "it.yaml")])
    assert stop.value.code == 2
    assert f"{tmp_path / 'it.yaml'}: not YAML" in capsys.readouterr().err


def test_missing_file(capsys):
    with pytest.raises(SystemExit) as stop:
        parse(["--config", "nowhere.yaml"])
    assert stop.value.code == 2
    assert "nowhere.yaml" in capsys.readouterr().err


def test_saved_config_is_read_back(tmp_path):
    told = Config(seed=7, options={"must_trump": True}, num_players=(3,), hidden=(8,))
    told.save(tmp_path / "config.yaml")
    read = parse(["--resume", str(tmp_path)])
    assert read == Config(
        resume=tmp_path, seed=7, options={"must_trump": True}, num_players=(3,), hidden=(8,)
    )


def test_resume_and_config_exclude_each_other(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        parse(["--resume", str(tmp_path), "--config", "x.yaml"])
    assert stop.value.code == 2


@pytest.mark.parametrize("path", sorted(Path("configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_configs_say_only_what_differs(path):
    defaults = Config()
    for key, value in yaml.safe_load(path.read_text()).items():
        value = tuple(value) if isinstance(value, list) else value
        assert getattr(defaults, key) != value, key


def test_help_names_the_players_option_and_what_may_change_on_resuming(capsys):
    with pytest.raises(SystemExit) as stop:
        parse(["--help"])
    assert stop.value.code == 0
    told = capsys.readouterr().out
    assert "--players" in told
    assert all(name in told for name in MAY_CHANGE)  # options have dashes: the list itself
