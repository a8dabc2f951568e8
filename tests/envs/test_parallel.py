"""The PettingZoo parallel environment `nap_v0.parallel_env`."""

import copy
import json
import pickle
import random
import re
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pettingzoo import ParallelEnv
from results import arrays, same

import nap_env
from nap_env import nap_v0
from nap_env.actions import NUM_ACTIONS, action_id
from nap_env.envs.aec import OrderError, OutOfBoundsError
from nap_env.rules import PRESETS

# Tests that take illegal actions mean to.
pytestmark = pytest.mark.filterwarnings("ignore:.*an illegal action")

with warnings.catch_warnings():
    # It imports a game of its own in a way that it has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import parallel_api_test, parallel_seed_test, state_test

ROOT = Path(nap_env.__file__).parent.parent
MASKS = [
    {"mask_in": "both"},
    {"mask_in": "obs"},
    {"mask_in": "info"},
    {"flat_obs": True},
    {"flat_obs": True, "mask_in": "info"},
]
PARTS = ("observations", "rewards", "terminations", "truncations", "infos")
E01 = json.loads((Path(__file__).parent.parent / "examples.jsonl").read_text().splitlines()[0])
TABLES = [
    pytest.param(name, players, id=f"{name}-{players}")
    for name, rules in PRESETS.items()
    for players in range(rules.player_range[0], rules.player_range[1] + 1)
]
every_table = pytest.mark.parametrize(("rules", "num_players"), TABLES)
every_preset = pytest.mark.parametrize(
    ("rules", "num_players"),
    [
        pytest.param(name, max(low, min(high, 4)), id=name)
        for name, rules in PRESETS.items()
        for low, high in [rules.player_range]
    ],
)
every_form = pytest.mark.parametrize("form", MASKS, ids=str)


def mask_of(observation, info):
    """An agent's mask, wherever it is."""
    if isinstance(observation, dict) and "action_mask" in observation:
        return observation["action_mask"]
    return info["action_mask"]


def legal(env, observations, infos):
    """What the agent to move may do."""
    agent = env.agent_selection
    return np.flatnonzero(mask_of(observations[agent], infos[agent]))


def at(env, count, **arguments):
    """Reset, and let `count` agents take their last legal action; return what is then seen."""
    observations, infos = env.reset(**arguments)
    while env.agents and count:
        action = int(legal(env, observations, infos)[-1])
        observations, *_, infos = env.step({env.agent_selection: action})
        count -= 1
    return observations, infos


def match(env, rng, **arguments):
    """Play a match; return what `reset` gave and what every `step` gave."""
    observations, infos = env.reset(**arguments)
    return [(observations, infos), *play_on(env, rng, observations, infos)]


def play_on(env, rng, observations, infos):
    """Play random legal actions to the end of a match; return what every step gave."""
    results = []
    while env.agents:
        action = int(rng.choice(legal(env, observations, infos)))
        results.append(env.step({env.agent_selection: action}))
        observations, *_, infos = results[-1]
    return results


# PettingZoo's own tests.


@every_form
def test_parallel_api_test(form):
    parallel_api_test(nap_v0.parallel_env(**form), num_cycles=100)


@every_preset
def test_parallel_api_test_of_every_preset(rules, num_players):
    parallel_api_test(nap_v0.parallel_env(rules, num_players), num_cycles=100)


@every_form
def test_parallel_seed_test(form):
    parallel_seed_test(lambda: nap_v0.parallel_env(**form))


@every_preset
def test_parallel_seed_test_and_state_test_of_every_preset(rules, num_players):
    parallel_seed_test(lambda: nap_v0.parallel_env(rules, num_players))
    state_test(nap_v0.env(rules, num_players), nap_v0.parallel_env(rules, num_players))


@every_form
@pytest.mark.parametrize("masked", [False, True])
def test_samplers_with_and_without_masks_come_to_an_end(form, masked):
    env = nap_v0.parallel_env(**form)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(number)
    for seed in range(20):
        observations, infos = env.reset(seed=seed)
        steps = 0
        while env.agents:
            actions = {}
            for agent in env.agents:
                mask = mask_of(observations[agent], infos[agent]) if masked else None
                actions[agent] = env.action_space(agent).sample(mask)
            observations, rewards, terminations, truncations, infos = env.step(actions)
            steps += 1
        assert steps >= 4 * masked
        assert set(terminations.values()) == {True} and set(truncations.values()) == {False}
        assert sum(rewards.values()) == 0 or sum(rewards.values()) == -3 * 20  # Blücher's price


# What it is a view of.


@every_table
def test_every_step_is_that_of_the_aec_environment(rules, num_players):
    arguments = {"rules": rules, "num_players": num_players}
    arguments |= {"options": {"deals": 2, "target": None}, "mask_in": "both"}
    env, aec = nap_v0.parallel_env(**arguments), nap_v0.env(**arguments)
    rng = random.Random(num_players)
    for seed in range(2):
        observations, infos = env.reset(seed=seed)
        aec.reset(seed=seed)
        sums, paid, end = Counter(), Counter(), False
        while True:
            assert same(observations, {agent: aec.observe(agent) for agent in aec.agents})
            assert same(infos, aec.infos)
            if end:
                break
            agent = env.agent_selection
            assert agent == aec.agent_selection
            paid[agent] += aec.last()[1]
            movers = [other for other in env.agents if infos[other]["action_mask"].any()]
            assert movers == [agent]
            action = int(rng.choice(legal(env, observations, infos)))
            observations, rewards, terminations, truncations, infos = env.step({agent: action})
            aec.step(action)
            assert (rewards, terminations, truncations) == (
                aec.rewards, aec.terminations, aec.truncations
            )  # fmt: skip
            sums.update(rewards)
            end = all(terminations.values())
            assert any(terminations.values()) == end == (not env.agents)
        for agent in aec.agent_iter():
            paid[agent] += aec.last()[1]
            aec.step(None)
        assert sums == paid
        assert sum(sums.values()) == 0


@every_preset
def test_state_and_record_are_those_of_the_aec_environment(rules, num_players):
    env, aec = nap_v0.parallel_env(rules, num_players), nap_v0.env(rules, num_players)
    observations, infos = env.reset(seed=3)
    aec.reset(seed=3)
    while env.agents:
        action = int(legal(env, observations, infos)[-1])
        observations, *_, infos = env.step({env.agent_selection: action})
        aec.step(action)
        assert same(env.state(), aec.state()) and env.state_space.contains(env.state())
        assert env.record() == aec.record()


@pytest.mark.parametrize(
    "arguments",
    [
        {"rules": "peep", "num_players": 5, "options": {"look_cost": 2}},
        {"rules": PRESETS["pub"], "num_players": 3, "observation_layout": "full"},
        *({"rules": "draw", **form} for form in MASKS),
    ],
    ids=str,
)
def test_arguments_mean_what_they_mean_there(arguments):
    env, aec = nap_v0.parallel_env(**arguments), nap_v0.env(**arguments)
    assert (env.rules, env.num_players) == (aec.rules, aec.num_players)
    assert env.layout is aec.layout and env.state_space == aec.state_space
    assert env.possible_agents == aec.possible_agents
    assert env.observation_spaces == aec.observation_spaces
    for agent in env.possible_agents:
        assert env.observation_space(agent) == aec.observation_space(agent)
        assert env.observation_space(agent) is env.observation_space("player_0")
        assert env.action_space(agent) is env.action_space("player_0")
    results = match(env, random.Random(1), seed=1)
    aec.reset(seed=1)
    assert same(results[0][1], aec.infos)
    for observations, *_ in results:
        for agent in env.possible_agents:
            assert env.observation_space(agent).contains(observations[agent])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"mask_in": "somewhere"}, "mask_in='somewhere': allowed are both, obs, info"),
        ({"rules": "whist"}, "rules='whist'"),
        ({"num_players": 9}, "num_players=9: standard seats 3 to 7"),
    ],
)
def test_constructor_refuses_what_is_not_allowed(arguments, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        nap_v0.parallel_env(**arguments)


def test_it_is_a_parallel_environment_of_the_same_name():
    env = nap_v0.parallel_env()
    assert isinstance(env, ParallelEnv)
    assert str(env) == "nap_v0" == str(nap_v0.env())
    assert env.unwrapped is env


# Whose action counts.


def test_what_others_send_is_ignored():
    env, twin = nap_v0.parallel_env(), nap_v0.parallel_env()
    observations, infos = env.reset(seed=5)
    twin.reset(seed=5)
    while env.agents:
        agent = env.agent_selection
        action = int(legal(env, observations, infos)[0])
        others = zip(env.agents, (0, None, "pass", NUM_ACTIONS), strict=True)
        results = env.step({**dict(others), agent: action})
        assert same(results, twin.step({agent: action}))
        observations, *_, infos = results


@pytest.mark.parametrize("actions", [{}, {"player_9": 3}, {"others": 3}, 53, None, [53] * 4])
def test_missing_action_of_the_mover_is_named_and_changes_nothing(actions):
    env = nap_v0.parallel_env()
    env.reset(seed=5)
    before = env.state().tobytes()
    agent = env.agent_selection
    if isinstance(actions, dict):
        actions = {**dict.fromkeys(set(env.agents) - {agent}, 53), **actions}
    with pytest.raises(ValueError, match=f"actions=.*: {agent} is to move, its action is missing"):
        env.step(actions)
    assert env.state().tobytes() == before and env.agent_selection == agent


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, None, 53.0, "pass"])
def test_what_is_no_action_is_refused_and_changes_nothing(action):
    env = nap_v0.parallel_env()
    env.reset(seed=5)
    before = env.state().tobytes()
    with pytest.raises(OutOfBoundsError, match=r"is not one of 0 to 77; legal: .*; deal: standard"):
        env.step(dict.fromkeys(env.agents, action))
    assert env.state().tobytes() == before


@every_preset
def test_illegal_action_ends_the_game_for_all(rules, num_players):
    env = nap_v0.parallel_env(rules, num_players, mask_in="both")
    for count in range(6):
        observations, _ = at(env, count, seed=count)
        if not env.agents:
            continue
        offender = env.agent_selection
        illegal = int(np.flatnonzero(observations[offender]["action_mask"] == 0)[0])
        events = env.record()["events"]
        observations, rewards, terminations, truncations, infos = env.step({offender: illegal})
        price = (num_players - 1) * env.rules.stake * max(bid.lose for bid in env.rules.bids)
        assert rewards == dict.fromkeys(env.possible_agents, 0) | {offender: -price}
        assert set(terminations.values()) == {True} and set(truncations.values()) == {False}
        for agent in env.possible_agents:
            assert not observations[agent]["action_mask"].any()
            assert not infos[agent]["action_mask"].any()
        assert env.agents == []
        assert env.record()["events"] == events


# The end.


@every_table
def test_last_step_gives_everything_to_every_seat(rules, num_players):
    env = nap_v0.parallel_env(rules, num_players, mask_in="both")
    results = match(env, random.Random(3), seed=num_players)
    for step in results[1:]:
        for name, part in zip(PARTS, step, strict=True):
            assert list(part) == env.possible_agents, name
    observations, rewards, terminations, truncations, infos = results[-1]
    assert all(type(ended) is bool for ended in (*terminations.values(), *truncations.values()))
    assert set(terminations.values()) == {True} and set(truncations.values()) == {False}
    assert list(rewards.values()) == env._env._game.rewards()
    for agent in env.possible_agents:
        assert env.observation_space(agent).contains(observations[agent])
        assert not observations[agent]["action_mask"].any()
        assert not infos[agent]["action_mask"].any()


def test_max_deals_truncates_everybody():
    env = nap_v0.parallel_env(options={"deals": 5, "max_deals": 2})
    results = match(env, random.Random(1), seed=1)
    for _, _, terminations, truncations, _ in results[1:-1]:
        assert not any(terminations.values()) and not any(truncations.values())
    _, _, terminations, truncations, _ = results[-1]
    assert set(truncations.values()) == {True} and set(terminations.values()) == {False}
    assert env.agents == []


def test_a_loop_that_resets_sees_one_end_a_hand():
    env = nap_v0.parallel_env()
    rng = random.Random(2)
    observations, infos = env.reset(seed=2)
    hands, ends, steps = [env.record()["hands"]], 0, 0
    while ends < 5:
        action = int(rng.choice(legal(env, observations, infos)))
        observations, _, terminations, truncations, infos = env.step({env.agent_selection: action})
        steps += 1
        assert set(observations) == set(env.possible_agents)
        if all(terminations.values()) or all(truncations.values()):
            ends += 1
            assert len(env.record()["events"]) == steps
            steps = 0
            observations, infos = env.reset()
            hands.append(env.record()["hands"])
    assert len({str(hand) for hand in hands}) == 6


def test_after_the_end_there_is_nobody_to_step():
    env = nap_v0.parallel_env(render_mode="ansi")
    match(env, random.Random(1), seed=1)
    assert env.agents == [] and env.num_agents == 0
    assert env.step({}) == ({}, {}, {}, {}, {})
    for call in (lambda: env.step({"player_0": 3}), lambda: env.agent_selection):
        with pytest.raises(OrderError, match=r"the match has ended; call reset\(\)"):
            call()
    assert "result" in env.record() and "result" in env.render() and env.state().any()
    observations, _ = env.reset()
    assert env.agents == list(observations) == env.possible_agents


def test_reset_in_the_middle_starts_a_clean_match():
    env = nap_v0.parallel_env()
    fresh = match(env, random.Random(4), seed=9)
    for count in range(6):
        at(env, count, seed=1)
        assert len(env.record()["events"]) == count
        assert same(match(env, random.Random(4), seed=9), fresh)


def test_calls_before_reset_say_so():
    env = nap_v0.parallel_env(render_mode="ansi")
    calls = [
        lambda: env.step({}),
        lambda: env.step({"player_0": 3}),
        lambda: env.agents,
        lambda: env.num_agents,
        lambda: env.agent_selection,
        env.state,
        env.record,
        env.render,
    ]
    for call in calls:
        with pytest.raises(OrderError, match=r"call reset\(\) first"):
            call()
    assert not hasattr(env, "agents")


# Seeds and copies.


def test_seed_gives_the_match_and_no_seed_goes_on():
    env = nap_v0.parallel_env()
    played = [
        (match(env, random.Random(1), seed=12), match(env, random.Random(1))) for _ in range(2)
    ]
    assert same(played[0], played[1])
    assert not same(played[0][0][0], played[0][1][0])
    with pytest.raises(ValueError, match="seed=-1"):
        env.reset(seed=-1)


def test_seed_deals_the_same_in_another_process():
    code = (
        "import nap_env; env = nap_env.nap_v0.parallel_env(); env.reset(seed=5);print(env.record())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    env = nap_v0.parallel_env()
    env.reset(seed=5)
    assert run.stdout.strip() == str(env.record())


def test_options_survive_a_seeded_reset():
    env = nap_v0.parallel_env(options={"pay": {"three": [7, 6]}})
    deal = {key: E01[key] for key in ("dealer", "hands", "stock")}
    for seed in (None, 4):
        env.reset(seed=seed)
        env.reset(seed=seed, options=deal)
        for seat, name in E01["events"]:
            _, rewards, *_ = env.step({f"player_{seat}": action_id(name)})
        assert rewards == dict(zip(env.possible_agents, (3 * 7, -7, -7, -7), strict=True))


def test_global_random_state_is_neither_used_nor_changed():
    class Disturbing(random.Random):
        def choice(self, seq):
            np.random.seed(1)
            random.seed(1)
            return super().choice(seq)

    np.random.seed(77)
    random.seed(77)
    before = str(np.random.get_state()), random.getstate()
    undisturbed = match(nap_v0.parallel_env(), random.Random(1), seed=4)
    assert (str(np.random.get_state()), random.getstate()) == before
    assert same(match(nap_v0.parallel_env(), Disturbing(1), seed=4), undisturbed)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize(("rules", "num_players"), [("standard", 4), ("pub", 3), ("peep", 5)])
def test_copy_at_any_decision_plays_on_alike(duplicate, rules, num_players):
    env = nap_v0.parallel_env(rules, num_players, options={"deals": 2})
    observations, infos = env.reset(seed=21)
    rng = random.Random(1)
    while env.agents:
        twins = [duplicate(env), duplicate(env)]
        before = env.state().tobytes(), env.record(), env.agent_selection
        played = [play_on(twin, random.Random(7), observations, infos) for twin in twins]
        assert (env.state().tobytes(), env.record(), env.agent_selection) == before
        assert same(*played)
        last = duplicate(env)
        assert same(play_on(last, random.Random(7), observations, infos), played[0])
        action = int(rng.choice(legal(env, observations, infos)))
        observations, *_, infos = env.step({env.agent_selection: action})
    twin = duplicate(env)
    assert twin.agents == [] and twin.record() == env.record()
    assert same(twin.reset(), env.reset())


# Fresh results.


@every_form
def test_no_result_is_shared_or_changes_later(form):
    env = nap_v0.parallel_env(**form)
    rng = random.Random(1)
    kept = []
    for _ in range(2):
        results = match(env, rng, seed=1)
        for step in results:
            assert len({id(part) for part in step}) == len(step)
        kept += [array for step in results for array in arrays(*step)]
    copies = [array.copy() for array in kept]
    match(env, rng)
    assert all(map(np.array_equal, kept, copies))
    inside = [env._env._desk, env._env._game.games]
    assert not any(np.shares_memory(array, own) for array in kept for own in inside)
    recent = kept[-60:]
    for number, array in enumerate(recent):
        assert not any(np.shares_memory(array, other) for other in recent[number + 1 :])


def test_changing_results_changes_no_game():
    env, twin = nap_v0.parallel_env(), nap_v0.parallel_env()
    rng = random.Random(2)
    observations, infos = env.reset(seed=3)
    twin.reset(seed=3)
    while env.agents:
        agent = env.agent_selection
        action = int(rng.choice(legal(env, observations, infos)))
        for array in arrays(observations, infos, env.state()):
            array[...] = 1
        for part in (observations, infos):
            part.clear()
        results, untouched = env.step({agent: action}), twin.step({agent: action})
        assert same(results, untouched)
        observations, infos = copy.deepcopy((results[0], results[-1]))
        for part in results:
            part.clear()
    assert env.record() == twin.record()


# Deals set up in reset, rendering.


def test_record_may_stop_anywhere():
    env = nap_v0.parallel_env()
    for count in range(len(E01["events"])):
        record = {**E01, "events": E01["events"][:count]}
        observations, infos = env.reset(options={"record": record})
        assert env.agent_selection == f"player_{E01['events'][count][0]}"
        assert list(observations) == list(infos) == env.agents
    observations, infos = env.reset(options={"record": E01})
    assert env.agents == []
    assert list(observations) == list(infos) == env.possible_agents
    assert env.record()["result"] == E01["result"]
    with pytest.raises(ValueError, match="unknown"):
        env.reset(options={"dealler": 1})


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_render_is_that_of_the_aec_environment(mode):
    aec = nap_v0.env(render_mode=mode, reveal=True)
    env = nap_v0.parallel_env(render_mode=mode, reveal=True)
    aec.reset(seed=1)
    env.reset(seed=1)
    assert env.render_mode == mode and env.metadata == aec.metadata
    assert same(env.render(), aec.render())
    env.close()
    env.close()
