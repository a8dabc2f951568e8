"""Files with anything in them are refused by their path, or are what they have to be."""

import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from drawn import accepted, as_json, changed, fuzz, json_values, values
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from nap_env import Batch
from nap_env.agents.network import NetworkAgent, Training, load_network, parts, widths_of
from nap_env.agents.seal import SEAL, sealed, sealed_archive
from nap_env.observation import LAYOUT_VERSION
from training import ppo
from training.arena import enter
from training.checkpoint import load_log, load_state, save_state
from training.config import Config, parse
from training.network import new_weights
from training.trainer import Trainer

PLAN = Training(("mini_3p",), {"stake": 2}, (3,), (16,), LAYOUT_VERSION, True)
WIDTHS = widths_of(PLAN.num_features, PLAN.hidden)
WEIGHTS = new_weights(WIDTHS, 0)
TOLD = json.loads(json.dumps(asdict(PLAN)))
TINY = Config(
    rules=("mini_3p",),
    num_players=(3,),
    num_games=32,
    total_decisions=10_000,
    hidden=(16,),
    minibatches=1,
    threads=1,
    against=("passer",),
    eval_sets=2,
)


def npz(told: Any, weights: Any) -> bytes:
    content = io.BytesIO()
    np.savez(content, weights=weights, training=json.dumps(told), note="")
    return sealed_archive(content)


def safetensors(told: Any, weights: Any) -> bytes:
    tensors = {"heads.bias": weights}
    if weights.shape == WEIGHTS.shape:
        tensors = {
            name: weights[at : at + int(np.prod(shape))].reshape(shape)
            for name, (at, shape) in parts(WIDTHS).items()
        }
    tensors["sha256"] = np.zeros(SEAL, np.uint8)
    return sealed(save(tensors, {"training": json.dumps(told)}))


FILES: dict[str, tuple[Callable[[Any, Any], bytes], Callable[[Path], NetworkAgent]]] = {
    "it.npz": (npz, load_network),
    "it.safetensors": (safetensors, lambda path: enter([str(path)])[2][0][0].agent),
}


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Load here what the children would have to load again."""
    for name, (write, read) in FILES.items():
        play(in_a_file(name, write(TOLD, WEIGHTS), read))


def in_a_file(name: str, content: bytes, read: Callable[[Path], Any]) -> Any:
    """Read content from a file, whose name every refusal must begin with."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        try:
            return read(path)
        except ValueError as error:
            assert str(error).startswith((f"{path}:", f"{name}:")), error
            raise


def play(agent: NetworkAgent) -> None:
    games = Batch(agent.rules, agent.num_players, 8, seed=0)
    games.step(agent(games, np.arange(8)))
    assert np.isfinite(agent.answer(games, np.arange(8))[1]).all()


CHANGES: tuple[Callable[[Any], Any], ...] = (
    *(lambda w: w, lambda w: w[:-1], lambda w: w.astype(np.float64), lambda w: w.astype(np.int32)),
    *(lambda w: w.reshape(1, -1), lambda w: np.where(w > 0.1, np.nan, w).astype(np.float32)),
    lambda w: w.astype(bool),
)


def is_kept(told: Any, kept: Any) -> bool:
    """Whether all that is told is there, beside what has a default."""
    if isinstance(told, dict):
        return all(name in kept and is_kept(told[name], kept[name]) for name in told)
    if isinstance(told, list):
        return len(told) == len(kept) and all(map(is_kept, told, kept))
    return as_json(told) == as_json(kept)


@fuzz(4)
@given(
    name=st.sampled_from(sorted(FILES)),
    told=changed(TOLD, json_values),
    change=st.just(CHANGES[0]) | st.sampled_from(CHANGES),
)
def test_networks(name: str, told: Any, change: Any) -> None:
    write, read = FILES[name]
    weights = change(WEIGHTS)

    def played() -> None:
        agent = in_a_file(name, write(told, weights), read)
        play(agent)
        kept = json.loads(as_json(asdict(agent.training)))
        assert is_kept({**told, "content": told["content"] or TOLD["content"]}, kept)
        assert weights.dtype == np.float32 and np.isfinite(weights).all()

    accepted(played, "it.", str(name))


@fuzz(2)
@given(name=st.sampled_from(sorted(FILES)), data=st.data())
def test_bytes_of_networks(name: str, data: Any) -> None:
    write, read = FILES[name]
    content = bytearray(write(TOLD, WEIGHTS))
    place = st.integers(0, 400) | st.integers(-600, -1) | st.integers(0, len(content) - 1)
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(place)] = data.draw(st.integers(0, 255))
    cut = data.draw(st.just(0) | st.integers(0, len(content) - SEAL - 1))

    def played() -> None:
        play(in_a_file(name, sealed(bytes(content[cut:])), read))

    accepted(played, "it.")


def can_be_saved(value: Any) -> bool:
    content = io.BytesIO()
    try:
        torch.save(value, content)
        content.seek(0)
        torch.load(content)
    except Exception:
        return False
    return True


@fuzz(0.2, forked=False)
@given(data=st.data())
def test_states_of_runs(data: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ppo.Run(Trainer(replace(TINY, run_dir=Path(folder)))).close()
        path = Path(folder, "state.pt")
        state = load_state(path)
        optimizer = state["trainer"].pop("optimizer")  # torch's own, whatever is in it
        state = data.draw(changed(state, values.filter(can_be_saved)))
        if isinstance(state, dict) and isinstance(state.get("trainer"), dict):
            state["trainer"].setdefault("optimizer", optimizer)
        save_state(path, state)

        def resumed() -> None:
            trainer = Trainer(replace(TINY, resume=Path(folder)))
            run = ppo.Run(trainer)
            try:
                before = trainer.decisions
                metrics = trainer.update() | run.measure()
                assert np.isfinite(list(metrics.values())).all()
                assert trainer.decisions > before >= 0
                run.save()
            finally:
                run.close()

        accepted(resumed, "state.pt")


LINE = b'{"decisions": 100, "charts/deals": 10.0}'


@fuzz(2)
@given(
    lines=st.lists(
        st.just(LINE) | st.binary(max_size=20) | json_values.map(lambda v: as_json(v).encode()),
        max_size=4,
    )
)
def test_logs(lines: list[bytes]) -> None:
    def read() -> None:
        log = in_a_file("metrics.jsonl", b"\n".join(lines), load_log)
        whole = b"\n".join(lines).split(b"\n")[:-1]
        assert [json.loads(line) for line in whole] == log
        assert all(isinstance(line["decisions"], int | float) for line in log)

    accepted(read, "metrics.jsonl:")


DEFAULTS = {name: value for name, value in Config().told().items() if name != "options"}


@fuzz()
@given(
    told=json_values
    | st.dictionaries(
        st.sampled_from([*DEFAULTS, "options", "players", "resume", "config", "joke"]),
        json_values,
        min_size=1,
        max_size=2,
    ),
    raw=st.none() | st.binary(max_size=30) | st.text(max_size=30),
)
def test_yaml(told: Any, raw: Any) -> None:
    text = yaml.safe_dump(told) if raw is None else raw
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")

    def parsed() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "it.yaml")
            path.write_bytes(content)
            try:
                config = parse(["--config", str(path)])
            except SystemExit as end:
                assert end.code == 2
                return
            for name, value in (yaml.safe_load(content) or {}).items():
                name = str(name).replace("-", "_")
                kept = getattr(config, "num_players" if name == "players" else name)
                assert is_as_told(kept, value), (name, kept, value)

    assert accepted(parsed)


def is_as_told(kept: Any, told: Any) -> bool:
    """Whether an option is what a file says: one value may stand for a list of one."""
    if isinstance(kept, tuple):
        told = told if isinstance(told, list) else [told]
        return len(kept) == len(told) and all(map(is_as_told, kept, told))
    if isinstance(kept, float):
        return kept == float(told)
    if isinstance(kept, dict):
        return kept == (json.loads(told) if isinstance(told, str) else told)
    told = told[0] if isinstance(told, list) and len(told) == 1 else told
    return kept == told or f"{kept}" == f"{told}" or (kept is None and told == "None")
