"""The tables of stable-baselines3, and MaskablePPO at them."""

import subprocess
import sys
from time import process_time

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from nap_env.adapters.sb3 import NapVecEnv
from nap_env.agents import from_policy
from nap_env.envs.single import NapEnv
from nap_env.envs.vector import NapVectorEnv

SMALL = {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "device": "cpu", "seed": 0}

torch.set_num_threads(1)  # for small networks more threads only wait for each other


def choose(masks, rng):
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])


def test_rows_are_those_of_the_vector_environment(record_property):
    arguments = {"rules": "pub", "num_players": 5, "opponents": "random"}
    env = NapVecEnv(6, **arguments)
    twin = NapVectorEnv(6, autoreset_mode="SameStep", flat_obs=True, mask_in="info", **arguments)
    env.seed(7)
    rng = np.random.default_rng(0)
    seen, (wanted, infos) = env.reset(), twin.reset(seed=7)
    early = infos["earned"].copy()
    paid = told = 0.0
    for _ in range(200):
        masks = np.stack(env.env_method("action_masks"))
        assert (seen == wanted).all() and (masks == infos["action_mask"]).all()
        actions = choose(masks, rng)
        seen, rewards, ended, more = env.step(actions)
        wanted, chips, terminated, truncated, infos = twin.step(actions)
        assert (rewards == chips).all() and (ended == terminated | truncated).all()
        for row, info in enumerate(more):
            assert ("episode" in info) == ended[row]
            if ended[row]:
                last = infos["final_info"]
                assert (info["terminal_observation"] == infos["final_obs"][row]).all()
                assert info["TimeLimit.truncated"] == truncated[row]
                won = last["scores"][row, last["seat"][row]] - early[row]
                paid, told = paid + abs(won), told + abs(info["episode"]["r"])
                assert info["episode"]["r"] == won
                early[row] = infos["earned"][row]
    assert paid > 0
    record_property("share", told / paid)


def test_seeds_are_used_once_and_options_are_refused():
    env = NapVecEnv(3, opponents="random")
    seen = []
    for seed in (5, None, 5):
        if seed is not None:
            env.seed(seed)
        seen.append(env.reset())
    assert (seen[0] == seen[2]).all() and (seen[0] != seen[1]).any()
    env.set_options({"dealer": 1})
    with pytest.raises(ValueError, match=r"options=.*none are allowed for many tables"):
        env.reset()


def test_attributes_are_those_of_the_vector_environment():
    env = NapVecEnv(3, rules="peep")
    assert env.has_attr("action_masks") and not env.has_attr("action_mask")
    assert [rules.name for rules in env.get_attr("rules", indices=[0, 2])] == ["peep"] * 2
    env.reset()
    assert env.env_method("record", indices=1)[0]["rules"] == "peep"
    assert env.env_is_wrapped(Monitor) == [True] * 3 and env.env_is_wrapped(NapEnv) == [False] * 3
    with pytest.raises(AttributeError, match="'rules' cannot be set"):
        env.set_attr("rules", "pub")
    with pytest.raises(AttributeError, match="'clone': tables have action_masks and record"):
        env.env_method("clone")
    with pytest.raises(TypeError, match="flat_obs"):
        NapVecEnv(3, flat_obs=False)


@pytest.mark.filterwarnings("ignore:.*an illegal action")  # it looks at no mask
def test_the_librarys_checker_is_content():
    check_env(NapEnv(flat_obs=True, illegal="random", seat=0))


@pytest.mark.filterwarnings("error:.*an illegal action")
def test_it_trains_saves_and_predicts_without_an_illegal_action(tmp_path):
    env = NapVecEnv(16, opponents={"random": 1, "passer": 1})
    model = MaskablePPO("MlpPolicy", env, **SMALL)
    model.learn(512)
    assert model.ep_info_buffer
    model.save(tmp_path / "model")
    loaded = MaskablePPO.load(tmp_path / "model", env=env)
    seen, masks = env.reset(), np.stack(env.env_method("action_masks"))
    actions = model.predict(seen, action_masks=masks, deterministic=True)[0]
    assert (loaded.predict(seen, action_masks=masks, deterministic=True)[0] == actions).all()
    assert masks[np.arange(16), actions].all()
    loaded.learn(256)
    evaluate_policy(loaded, env, n_eval_episodes=32)


@pytest.mark.slow
def test_it_is_ten_times_as_fast_as_single_environments_in_turn(record_property):
    def rate(env, steps):
        env.reset()
        rng, spent = np.random.default_rng(0), 0.0
        for step in range(steps + 10):
            start = process_time()
            masks = np.stack(env.env_method("action_masks"))
            spent += (process_time() - start) * (step >= 10)
            actions = choose(masks, rng)
            start = process_time()
            env.step(actions)
            spent += (process_time() - start) * (step >= 10)
        return steps * env.num_envs / spent

    single = DummyVecEnv([lambda: NapEnv(flat_obs=True, opponents="random")] * 256)
    ratio = rate(NapVecEnv(256, opponents="random"), 200) / rate(single, 30)
    record_property("speed", ratio)
    assert ratio >= 10


@pytest.mark.filterwarnings("error:.*an illegal action")
def test_a_policy_plays_against_itself_at_all_tables_at_once():
    asked = []

    def policy(observations, masks):
        asked.append(len(observations))
        return model.predict(observations, action_masks=masks)[0]

    env = NapVecEnv(32, opponents=from_policy(policy))
    model = MaskablePPO("MlpPolicy", env, **SMALL)
    model.learn(32 * 16)
    assert max(asked) > 16  # most tables at once
    assert len(asked) < 16 * 10  # a few times a step: once for each seat between


def test_the_package_of_adapters_imports_no_library_and_says_what_is_missing():
    asked = "print('stable_baselines3' in sys.modules, 'torch' in sys.modules)"
    code = f"import nap_env.adapters, sys; {asked}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
    code = "import sys; sys.modules['stable_baselines3'] = None; import nap_env.adapters.sb3"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "nap_env[sb3]"' in done.stderr.splitlines()[-1]
