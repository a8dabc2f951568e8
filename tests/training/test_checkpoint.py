"""What a run leaves on disk is whole, or it is refused by name."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from nap_env.agents.network import Training, load_network, packed, widths_of
from nap_env.observation import LAYOUT_VERSION
from training.arena import enter
from training.checkpoint import (
    load_log,
    load_state,
    load_weights,
    replace,
    save_state,
    save_weights,
)
from training.export import main as export
from training.network import new_weights

PLAN = Training(("mini_3p",), {}, (3,), (16,), LAYOUT_VERSION, True)
WEIGHTS = new_weights(widths_of(PLAN.num_features, PLAN.hidden), 0)

LOADERS = {"it.npz": load_network, "it.safetensors": load_weights, "it.pt": load_state}
every_file = pytest.mark.parametrize("name", LOADERS)


@pytest.fixture
def path(tmp_path, name):
    """A file of each kind, small."""
    path = tmp_path / name
    if path.suffix == ".npz":
        path.write_bytes(packed(WEIGHTS, PLAN, "made by hand"))
    elif path.suffix == ".pt":
        save_state(path, {"trainer": {"weights": torch.from_numpy(WEIGHTS), "updates": 3}})
    else:
        save_weights(path, WEIGHTS, PLAN)
    LOADERS[name](path)
    return path


def refusal(path):
    """Load a file; return what is said against it, which begins with its path."""
    with pytest.raises(ValueError) as error:
        LOADERS[path.name](path)
    said = str(error.value)
    assert said.startswith(f"{path}: ")
    return said.removeprefix(f"{path}: ")


DAMAGED = "damaged, or written by an older nap_env: take a whole copy, or train again"


@every_file
def test_one_bit_that_is_wrong_is_found_wherever_it_is(path):
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    ends = range(100)  # of the file: heads, lists of contents, the checksum itself
    for place in (*ends, *(-1 - k for k in ends), *random.integers(0, len(whole), 200)):
        broken = bytearray(whole)
        broken[place] ^= 1 << random.integers(8)
        path.write_bytes(broken)
        assert refusal(path) == DAMAGED, place


def test_a_system_that_opens_no_folder_keeps_files_as_well(tmp_path, monkeypatch):
    def of_files(path, *flags):
        assert not Path(path).is_dir()
        raise AssertionError("nothing else is opened so")

    monkeypatch.delattr("os.O_DIRECTORY")
    monkeypatch.setattr("os.open", of_files)
    replace(tmp_path / "file", b"content")
    assert (tmp_path / "file").read_bytes() == b"content"


@every_file
def test_what_is_cut_off_or_something_else_is_refused(path, tmp_path):
    whole = path.read_bytes()
    for content in (b"", b"x", whole[:-1], whole[: len(whole) // 2], whole + b"\n", bytes(5000)):
        path.write_bytes(content)
        assert refusal(path) == DAMAGED
    path.unlink()
    assert refusal(path).startswith("No such file or directory")
    path.mkdir()
    assert refusal(path) == "Is a directory"


@every_file
@pytest.mark.parametrize("other", LOADERS)
def test_a_whole_file_of_another_kind_is_refused(path, tmp_path, other):
    if other == path.name:
        return
    shutil.move(path, tmp_path / other)
    assert "that training." in refusal(tmp_path / other)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(tmp_path, value, capsys):
    broken = WEIGHTS.copy()
    broken[7] = value
    weights, network = tmp_path / "last.safetensors", tmp_path / "it.npz"
    save_weights(weights, broken, PLAN)
    network.write_bytes(packed(broken, PLAN, ""))
    said = r"weights: 1 of them are not finite numbers"
    with pytest.raises(ValueError, match=rf"last\.safetensors: {said}"):
        enter([str(weights)])
    with pytest.raises(SystemExit, match=rf"last\.safetensors: {said}"):
        export([str(weights), str(tmp_path / "other.npz")])
    with pytest.raises(ValueError, match=rf"it\.npz: {said}"):
        load_network(network)


def test_usual_readers_read_these_files(tmp_path):
    from safetensors.numpy import load_file

    save_weights(tmp_path / "it.safetensors", WEIGHTS, PLAN)
    tensors = load_file(tmp_path / "it.safetensors")
    assert tensors["heads.bias"].shape == (79,) and tensors["sha256"].shape == (32,)
    (tmp_path / "it.npz").write_bytes(packed(WEIGHTS, PLAN, "made by hand"))
    assert str(np.load(tmp_path / "it.npz")["note"]) == "made by hand"
    save_state(tmp_path / "it.pt", {"trainer": {"updates": 3}})
    assert torch.load(tmp_path / "it.pt") == {"trainer": {"updates": 3}}


LINE = '{"decisions": 100, "charts/deals": 10.0}\n'


def test_a_last_line_that_was_not_finished_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for end in ("", '{"decisions": 2', LINE[:-1]):
        path.write_text(2 * LINE + end)
        assert load_log(path) == 2 * [{"decisions": 100, "charts/deals": 10.0}]


@pytest.mark.parametrize(
    "line",
    [b'{"decisions": 2', b"", b"3", b"[]", b"{}", b"\xff\x00", LINE.replace("100", '"x"').encode()],
)
def test_any_other_bad_line_is_named(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(LINE.encode() + line.strip() + b"\n" + LINE.encode())
    with pytest.raises(ValueError, match=r"metrics\.jsonl:2: not a line of a log: mend it or"):
        load_log(path)
