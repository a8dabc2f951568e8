"""The native vector environment of `nap/Nap-v0`: rows that are single environments."""

import copy
import pickle
import sys
from importlib.metadata import version
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from deals import shuffle_hidden_cards
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from nap_env import IllegalActionError
from nap_env.actions import NUM_ACTIONS, PASS
from nap_env.agents import from_policy
from nap_env.envs.single import NapEnv
from nap_env.envs.vector import NapVectorEnv
from nap_env.rules import PRESETS

# Tests that take illegal actions mean to.
pytestmark = pytest.mark.filterwarnings("ignore:.*an illegal action")

ID = "nap_env:nap/Nap-v0"
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode
every_mode = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
every_preset = pytest.mark.parametrize("rules", list(PRESETS))


def players(rules):
    low, high = PRESETS[rules].player_range
    return max(low, min(high, 5))


def singles(count, mode, **arguments):
    """The same environment as Gymnasium's Python loop over single ones."""
    return SyncVectorEnv([lambda: NapEnv(**arguments)] * count, autoreset_mode=mode)


def legal(envs, infos, rng):
    """A random legal action a row, where there is one."""
    return (rng.random(infos["action_mask"].shape) * infos["action_mask"]).argmax(1)


def either(envs, infos, rng):
    return rng.integers(0, 2, envs.num_envs)


# A check of vector environments, which Gymnasium lacks


def rows_of(value, row):
    """What one row has of a batch."""
    if isinstance(value, dict):
        return {key: rows_of(part, row) for key, part in value.items()}
    return value[row]


def same(one, other):
    return data_equivalence(one, other, exact=True)


def arrays(value):
    """Every array in an observation or info."""
    if isinstance(value, dict):
        return [array for part in value.values() for array in arrays(part)]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [value, *(array for part in value for array in arrays(part))]
    return [value] if isinstance(value, np.ndarray) else []


def check_infos(infos, count):
    for key, value in infos.items():
        if key.startswith("_"):
            assert key[1:] in infos
            assert value.dtype == np.bool_ and value.shape == (count,)
        else:
            assert f"_{key}" in infos
            if isinstance(value, dict):
                check_infos(value, count)
            else:
                assert len(value) == count


def check_step(envs, result):
    """Check the types and shapes of what `step` gives."""
    observations, rewards, terminated, truncated, infos = result
    count = envs.num_envs
    assert observations in envs.observation_space
    assert rewards.shape == (count,) and rewards.dtype.kind == "f" and np.isfinite(rewards).all()
    for ended in (terminated, truncated):
        assert ended.shape == (count,) and ended.dtype == np.bool_
    assert isinstance(infos, dict)
    check_infos(infos, count)
    finals = {key.lstrip("_") for key in infos} & {"final_obs", "final_info"}
    if envs.metadata["autoreset_mode"] is not SAME_STEP or not (terminated | truncated).any():
        assert not finals
        return
    assert "final_obs" in finals
    ended = terminated | truncated
    assert (infos["_final_obs"] == ended).all() and (infos["_final_info"] == ended).all()
    for row in range(count):
        final = infos["final_obs"][row]
        assert final in envs.single_observation_space if ended[row] else final is None


def check_vector_env(make, choose, steps=400):
    """Check that vector environments do what Gymnasium 1.4 says that they do.

    Args:
        make: makes one; all that it makes are the same.
        choose: actions of a random policy, (environments, infos, generator) -> (N,).
        steps: number of steps; some episodes must end in them.
    """
    envs, twin = make(), make()
    mode, count = envs.metadata["autoreset_mode"], envs.num_envs
    assert isinstance(mode, AutoresetMode)
    assert "render_modes" in envs.metadata and envs.unwrapped is envs and count > 1
    assert envs.observation_space == batch_space(envs.single_observation_space, count)
    assert envs.action_space == batch_space(envs.single_action_space, count)

    # Seeds fix everything, rows differ, and a reset without a seed goes on.
    first = envs.reset(seed=123)
    assert first[0] in envs.observation_space and isinstance(first[1], dict)
    check_infos(first[1], count)
    assert same(first, twin.reset(seed=123))
    assert not same(first[0], twin.reset()[0])
    assert not same(first[0], twin.reset(seed=124)[0])
    assert any(not same(rows_of(first[0], 0), rows_of(first[0], row)) for row in range(1, count))
    assert same(envs.reset(), (envs.reset(seed=123), envs.reset())[1])
    first = envs.reset(seed=123)
    twin.reset(seed=123)

    rng = np.random.default_rng(0)
    kept, ended, ends = [first], np.zeros(count, np.bool_), 0
    seen = copy.deepcopy(first)
    for _ in range(steps):
        if mode is DISABLED and ended.any():
            before = kept[-1][0]
            with pytest.raises((AssertionError, ResetNeeded)):
                copy.deepcopy(envs).step(choose(envs, kept[-1][-1], rng))
            results = [some.reset(options={"reset_mask": ended.copy()}) for some in (envs, twin)]
            assert same(*results)
            for row in np.flatnonzero(~ended):
                assert same(rows_of(results[0][0], row), rows_of(before, row))
            check_infos(results[0][1], count)
            kept.append(results[0])
        actions = choose(envs, kept[-1][-1], rng)
        other = actions.copy()
        if mode is NEXT_STEP:
            # The action of a row that begins anew is ignored.
            other[ended] = envs.single_action_space.n - 1 - other[ended]
        result, again = envs.step(actions), twin.step(other)
        check_step(envs, result)
        assert same(result, again)
        if mode is NEXT_STEP:
            assert not result[1][ended].any() and not (result[2] | result[3])[ended].any()
        ended = result[2] | result[3]
        assert not (result[2] & result[3]).any()
        ends += ended.sum()
        kept.append(result)
    assert ends > count

    # What was given is neither changed nor given again.
    assert same(first, seen)
    for now, later in pairwise(kept):
        for part in arrays(now[0]) + arrays(now[-1]):
            for other in arrays(later[0]) + arrays(later[-1]):
                assert not np.shares_memory(part, other)
    envs.close()
    envs.close()
    twin.close()


def test_the_check_is_content_with_gymnasiums_own_vector_environment():
    check_vector_env(
        lambda: gymnasium.make_vec("CartPole-v1", 4, vectorization_mode="vector_entry_point"),
        either,
    )


@every_mode
def test_the_check_is_content_with_gymnasiums_loop(mode):
    check_vector_env(
        lambda: SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 3, autoreset_mode=mode),
        either,
    )


@every_mode
def test_the_check_is_content_with_a_loop_over_single_environments(mode):
    check_vector_env(lambda: singles(5, mode), legal)


@every_mode
@every_preset
def test_the_check_is_content_with_ours(mode, rules):
    def make():
        arguments = {"rules": rules, "num_players": players(rules)}
        return gymnasium.make_vec(ID, 5, autoreset_mode=mode.value, **arguments)

    check_vector_env(make, legal, steps=200)


@pytest.mark.parametrize(
    "fault", ["reward", "late", "final", "alias", "seed", "ended", "dtype", "mask"]
)
def test_the_check_finds_faults(fault):
    class Faulty(NapVectorEnv):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=None if fault == "seed" else seed, options=options)

        def step(self, actions):
            before = self._tables.status == 5
            observations, rewards, terminated, truncated, infos = super().step(actions)
            if fault == "reward":
                rewards[before] = 1
            if fault == "late":
                terminated |= before
            if fault == "final":
                infos = {key: value for key, value in infos.items() if "final" not in key}
            if fault == "ended":
                truncated |= terminated
            if fault == "dtype":
                rewards = rewards.astype(np.int64)
            if fault == "mask":
                del infos["_pool"]
            return observations, rewards, terminated, truncated, infos

    mode = SAME_STEP if fault == "final" else NEXT_STEP
    with pytest.raises(AssertionError):
        check_vector_env(lambda: Faulty(3, autoreset_mode=mode, copy=fault != "alias"), legal)


# Rows are single environments


def play_both(envs, loop, steps, reset_mask=False, illegal=0.02, seed=9):
    """Step both with the same actions, a few of them illegal; all results must be the same."""
    rng = np.random.default_rng(0)
    results = [some.reset(seed=seed) for some in (envs, loop)]
    assert same(*results)
    ends = 0
    for _ in range(steps):
        infos = results[0][-1]
        actions = legal(envs, infos, rng)
        wrong = rng.random(envs.num_envs) < illegal
        actions[wrong] = rng.integers(NUM_ACTIONS, size=wrong.sum())
        results = [some.step(actions) for some in (envs, loop)]
        assert same(*results)
        ended = results[0][2] | results[0][3]
        ends += ended.sum()
        if reset_mask and ended.any():
            fresh = [some.reset(options={"reset_mask": ended.copy()}) for some in (envs, loop)]
            assert same(*fresh)
            for key, value in fresh[0][1].items():
                results[0][-1][key] = np.where(
                    ended.reshape((-1,) + (1,) * (value.ndim - 1)), value, results[0][-1][key]
                )
    assert ends > envs.num_envs


@every_mode
@every_preset
@pytest.mark.parametrize("opponents", ["random", "passer"])
def test_rows_are_single_environments(mode, rules, opponents):
    arguments = {"rules": rules, "num_players": players(rules), "opponents": opponents}
    envs = NapVectorEnv(7, autoreset_mode=mode, **arguments)
    assert envs.autoreset_mode is mode
    play_both(envs, singles(7, mode, **arguments), 100, reset_mask=mode is DISABLED)


@every_mode
@pytest.mark.parametrize(
    "arguments",
    [
        {"mask_in": "info"},
        {"flat_obs": True},
        {"flat_obs": True, "mask_in": "info", "observation_layout": "full"},
        {"seat": 2},
        {"rules": "standard", "num_players": 6, "options": {"deals": 3}},
        {"options": {"deals": None, "target": 100, "max_deals": 2}},
        {"opponents": ["random", "passer", "random"]},
        {"opponents": {"random": 1, "passer": 2, "heuristic": 0.5}},
        {"illegal": "random"},
    ],
    ids=str,
)
def test_rows_are_single_environments_with_any_arguments(mode, arguments):
    envs = NapVectorEnv(6, autoreset_mode=mode, **arguments)
    play_both(envs, singles(6, mode, **arguments), 150, reset_mask=mode is DISABLED)


def highest_legal(observations, masks):
    return NUM_ACTIONS - 1 - masks[:, ::-1].argmax(1)


def first_legal(observations, masks):
    return masks.argmax(1)


highest, first = from_policy(highest_legal), from_policy(first_legal)


@every_mode
@pytest.mark.parametrize("opponents", [highest, [first, "random", highest]], ids=["one", "several"])
def test_rows_are_single_environments_with_agents(mode, opponents):
    envs = NapVectorEnv(6, autoreset_mode=mode, opponents=opponents)
    play_both(envs, singles(6, mode, opponents=opponents), 150, reset_mask=mode is DISABLED)


def test_a_list_of_seeds_seeds_the_rows_and_none_lets_a_row_go_on():
    envs = NapVectorEnv(3)
    loop = singles(3, NEXT_STEP)
    for seed in ([5, 5, 1], [None, 7, None], [2, None, 2]):
        if None not in seed:
            play_both(envs, loop, 60, seed=seed)
        else:
            assert same(envs.reset(seed=seed), loop.reset(seed=seed))
    assert same(*(envs.reset(seed=[4, 4, 4])[0]["observation"][k] for k in (0, 2)))


def test_a_row_does_not_depend_on_the_rows_beside_it():
    few, many = NapVectorEnv(2, "modern", 6), NapVectorEnv(50, "modern", 6)
    few_rng, many_rng = np.random.default_rng(0), np.random.default_rng(1)
    few_infos, many_infos = few.reset(seed=3)[1], many.reset(seed=3)[1]
    for _ in range(100):
        actions = legal(few, few_infos, few_rng)
        beside = legal(many, many_infos, many_rng)
        beside[:2] = actions
        result, wide = few.step(actions), many.step(beside)
        few_infos, many_infos = result[-1], wide[-1]
        assert same(result, rows_of_all(wide, 2))


def rows_of_all(result, count):
    def cut(value):
        if isinstance(value, dict):
            return {key: cut(part) for key, part in value.items()}
        return value[:count]

    return tuple(cut(part) for part in result)


# What is particular to ours


@every_mode
def test_episode_statistics_count_every_reward(mode):
    if mode is AutoresetMode.SAME_STEP and version("gymnasium") < "1.4":
        pytest.skip("before 1.4 RecordEpisodeStatistics counts one step too few in SameStep")
    envs = RecordEpisodeStatistics(NapVectorEnv(8, autoreset_mode=mode))
    rng = np.random.default_rng(0)
    infos = envs.reset(seed=0)[1]
    returns, lengths = np.zeros(8), np.zeros(8)
    told = 0
    ended = np.zeros(8, np.bool_)
    for _ in range(300):
        begins = ended & (mode is NEXT_STEP)
        _, rewards, terminated, truncated, infos = envs.step(legal(envs, infos, rng))
        returns += rewards
        lengths += ~begins
        ended = terminated | truncated
        if ended.any():
            assert (infos["episode"]["r"][ended] == returns[ended]).all()
            assert (infos["episode"]["l"][ended] == lengths[ended]).all()
            told += ended.sum()
            returns[ended] = lengths[ended] = 0
            if mode is DISABLED:
                masks = infos["action_mask"]
                infos = envs.reset(options={"reset_mask": ended})[1]
                infos["action_mask"] = np.where(ended[:, None], infos["action_mask"], masks)
    assert told > 300


def test_rows_with_a_mask_are_the_decisions():
    envs = NapVectorEnv(8)
    rng = np.random.default_rng(0)
    infos = envs.reset(seed=0)[1]
    decided = taken = 0
    seats = infos["seat"]
    for _ in range(300):
        may = infos["action_mask"].any(1)
        decided += may.sum()
        events = [len(envs.record(row)["events"]) for row in range(8)]
        _, _, terminated, _, infos = envs.step(legal(envs, infos, rng))
        for row in np.flatnonzero(may):
            record = envs.record(row)
            taken += record["events"][events[row]][0] == seats[row]
        seats = infos["seat"]
        assert not (infos["action_mask"].any(1) & terminated).any()
    assert decided == taken


@every_preset
def test_hidden_cards_change_nothing_that_the_learners_are_told(rules):
    """Observations, masks, infos and what is rendered stay, whatever lies where it is not seen."""
    envs = NapVectorEnv(8, rules, players(rules), render_mode="ansi", autoreset_mode=SAME_STEP)
    rng, changed = np.random.default_rng(5), 0
    _, infos = envs.reset(seed=5)
    for _ in range(30):
        other = envs.clone()
        for row, seat in enumerate(infos["seat"]):
            game = envs._tables.game(row)
            shuffle_hidden_cards(game, int(seat), rng)
            changed += other._tables.games[row : row + 1].tobytes() != game.games.tobytes()
            other._tables.games[row] = game.games[0]
        other._tables.play_on(show_all=True)
        assert same(envs._observation(), other._observation())
        assert same(envs._infos(envs._every), other._infos(other._every))
        assert envs.render() == other.render()
        infos = envs.step(legal(envs, infos, rng))[-1]
    assert changed > 200


def test_without_copies_the_arrays_belong_to_the_environment():
    envs, clean = NapVectorEnv(4, copy=False), NapVectorEnv(4)
    results = [some.reset(seed=1) for some in (envs, clean)]
    held = results[0][0]["observation"]
    assert np.shares_memory(results[0][0]["action_mask"], results[0][1]["action_mask"])
    rng = np.random.default_rng(0)
    for _ in range(50):
        actions = legal(envs, results[0][-1], rng)
        results = [some.step(actions) for some in (envs, clean)]
        assert same(*results)
        assert np.shares_memory(held, results[0][0]["observation"])
        assert same(held, results[0][0]["observation"])


@every_mode
def test_no_array_is_shared(mode):
    envs = NapVectorEnv(6, autoreset_mode=mode)
    rng = np.random.default_rng(0)
    result = envs.reset(seed=0)
    held = []
    for _ in range(15):
        result = envs.step(legal(envs, result[-1], rng))
        held += [*arrays(result[0]), *result[1:4], *arrays(result[-1])]
        ended = result[2] | result[3]
        if mode is DISABLED and ended.any():
            result = envs.reset(options={"reset_mask": ended})
            held += [*arrays(result[0]), *arrays(result[-1])]
            result[-1]["action_mask"] = envs.action_masks().astype(np.int8)
    held += [envs._tables.games, envs._tables.learners]
    for k, one in enumerate(held):
        assert not any(np.may_share_memory(one, other) for other in held[:k])


def test_action_masks_are_bool():
    envs = NapVectorEnv(3)
    observations, infos = envs.reset(seed=0)
    masks = envs.action_masks()
    assert masks.dtype == np.bool_ and masks.shape == (3, NUM_ACTIONS)
    assert (masks == observations["action_mask"]).all()
    assert observations["action_mask"].dtype == infos["action_mask"].dtype == np.int8
    assert not np.shares_memory(observations["action_mask"], infos["action_mask"])
    rows = tuple(infos["action_mask"])
    actions = gymnasium.spaces.Tuple([envs.single_action_space] * 3).sample(rows)
    assert all(masks[row, action] for row, action in enumerate(actions))


def test_an_illegal_action_ends_its_row_only():
    envs = NapVectorEnv(4)
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    actions = legal(envs, infos, rng)
    actions[2] = infos["action_mask"][2].argmin()
    _, rewards, terminated, truncated, infos = envs.step(actions)
    assert rewards[2] == -3 * 20 and terminated[2] and not truncated.any()  # a failed Blücher
    assert (rewards[[0, 1, 3]] == 0).all() or terminated[[0, 1, 3]].any()
    assert not infos["action_mask"][2].any()


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, 10**6])
def test_what_is_not_an_action_is_refused_and_changes_nothing(action):
    envs = NapVectorEnv(3, seat=0)
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    before = [envs.record(row) for row in range(3)]
    actions = legal(envs, infos, rng)
    good = actions.copy()
    actions[1] = action
    with pytest.raises(IllegalActionError, match=rf"game 1: seat 0 chose action {action}"):
        envs.step(actions)
    assert [envs.record(row) for row in range(3)] == before
    result = envs.step(good)
    while not result[2].any():
        result = envs.step(legal(envs, result[-1], rng))
    actions = legal(envs, result[-1], rng)
    actions[result[2]] = action
    assert not envs.step(actions)[1][result[2]].any()


@pytest.mark.parametrize(
    "actions", [[0.0, 1.0], [True, False], [0], [[0], [0]], None, 3, ["pass", "pass"]]
)
def test_bad_arrays_of_actions_are_refused(actions):
    envs = NapVectorEnv(2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"integers \(2,\) are needed"):
        envs.step(actions)


def test_any_integers_are_taken():
    for dtype in (np.int8, np.uint8, np.int32, np.uint64):
        envs = NapVectorEnv(2)
        _, infos = envs.reset(seed=0)
        envs.step(legal(envs, infos, np.random.default_rng(0)).astype(dtype))
    envs.reset(seed=0)
    envs.step([PASS, PASS])


def test_step_needs_a_reset():
    for mode in AutoresetMode:
        envs = NapVectorEnv(3, autoreset_mode=mode)
        with pytest.raises(ResetNeeded, match=r"rows \[0 1 2\]"):
            envs.step([PASS] * 3)
        with pytest.raises(ResetNeeded, match=r"reset_mask: rows \[1\] need a reset, too"):
            envs.reset(options={"reset_mask": np.array([True, False, True])})
        envs.reset(seed=0)
    ended = np.zeros(3, np.bool_)
    rng, infos = np.random.default_rng(0), envs.reset(seed=0)[1]
    while not ended.any():
        _, _, ended, _, infos = envs.step(legal(envs, infos, rng))
    with pytest.raises(ResetNeeded, match=rf"rows \[{' '.join(map(str, np.flatnonzero(ended)))}\]"):
        envs.step([PASS] * 3)


def test_changing_results_does_not_change_what_is_shown_later():
    envs, clean = (NapVectorEnv(4, autoreset_mode=DISABLED) for _ in range(2))
    rng = np.random.default_rng(0)
    results = [some.reset(seed=1) for some in (envs, clean)]
    for _ in range(60):
        actions = legal(envs, results[1][-1], rng)
        masks = envs.action_masks()
        for array in arrays(results[0][0]) + arrays(results[0][-1]):
            array[:] = 77
        assert same(envs.action_masks(), masks)
        results = [some.step(actions) for some in (envs, clean)]
        assert same(*results)
        ended = results[1][2]
        if ended.any():
            for array in arrays(results[0][0]) + arrays(results[0][-1]):
                array[:] = 77
            results = [some.reset(options={"reset_mask": ended.copy()}) for some in (envs, clean)]
            assert same(*results)
            results[1][1]["action_mask"] = clean.action_masks().astype(np.int8)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"seed": [1, 2]}, ValueError, r"seed: 2 of them for num_envs=3"),
        ({"seed": -1}, ValueError, r"seed=-1: a whole number from 0 on"),
        ({"seed": [1, 2, -3]}, ValueError, r"seed=-3"),
        ({"seed": 1.5}, ValueError, r"seed=1.5"),
        ({"options": {"dealer": 1}}, ValueError, r"reset_mask is allowed; a given deal"),
        ({"options": {"reset_mask": [True] * 3}}, TypeError, r"a boolean array is needed"),
        ({"options": {"reset_mask": np.ones(3)}}, TypeError, r"a boolean array is needed"),
        ({"options": {"reset_mask": np.ones(2, bool)}}, ValueError, r"shape \(3,\)"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, ValueError, r"at least one True"),
    ],
)
def test_a_bad_reset_is_refused_and_changes_nothing(arguments, error, text):
    envs = NapVectorEnv(3)
    envs.reset(seed=0)
    before = [envs.record(row) for row in range(3)]
    with pytest.raises(error, match=text):
        envs.reset(**arguments)
    assert [envs.record(row) for row in range(3)] == before


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"num_envs": 0}, r"num_envs=0: a whole number from 1 on is allowed"),
        ({"num_envs": 2.0}, r"num_envs=2.0"),
        ({"autoreset_mode": "Never"}, r"autoreset_mode='Never': allowed are NextStep, SameStep"),
        ({"render_mode": "human"}, r"render_mode='human': allowed are None, ansi"),
        ({"opponents": "nobody"}, r"opponents: 'nobody'"),
    ],
)
def test_bad_arguments_are_named(arguments, text):
    with pytest.raises(ValueError, match=text):
        NapVectorEnv(**arguments)


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))]
)
def test_copies_keep_the_games(duplicate):
    envs = NapVectorEnv(4, "peep", opponents=[first, "random", "passer"])
    rng = np.random.default_rng(0)
    infos = envs.reset(seed=0)[1]
    for _ in range(20):
        infos = envs.step(legal(envs, infos, rng))[-1]
        twin = duplicate(envs)
        before = [envs.record(row) for row in range(4)]
        dice, ours = np.random.default_rng(5), infos
        ends = []
        for _ in range(10):
            ends.append(twin.step(legal(twin, ours, dice)))
            ours = ends[-1][-1]
        assert [envs.record(row) for row in range(4)] == before
    dice = np.random.default_rng(5)
    for end in ends:
        result = envs.step(legal(envs, infos, dice))
        infos = result[-1]
        assert same(result, end)


# Opponents


def test_an_agent_is_asked_once_for_all_rows_where_it_is_to_move():
    sizes = []

    @from_policy
    def player(observation, mask):
        assert observation.shape == (len(mask), envs.layout.size) and observation.dtype == np.int8
        assert mask.shape == (len(mask), NUM_ACTIONS) and mask.dtype == np.int8
        assert mask.any(1).all()
        sizes.append(len(mask))
        return mask.argmax(1)

    envs = NapVectorEnv(64, seat=0, opponents=player)
    rng = np.random.default_rng(0)
    infos = envs.reset(seed=0)[1]
    for _ in range(20):
        sizes.clear()
        infos = envs.step(legal(envs, infos, rng))[-1]
        # A call plays one card or makes one call everywhere; few rows need very many of them.
        assert sizes[0] > 20 and len(sizes) < 64


def test_an_opponents_illegal_action_names_its_row_and_a_reset_is_needed():
    envs = NapVectorEnv(3, seat=3, opponents=lambda games, rows: np.zeros(len(rows), int))
    with pytest.raises(IllegalActionError, match=r"game \d: seat \d chose 2C but must pass or bid"):
        envs.reset(seed=0)
    with pytest.raises(ResetNeeded):
        envs.step([PASS] * 3)


def test_a_named_agent_that_is_not_compiled_is_asked_for_its_rows(monkeypatch):
    monkeypatch.setitem(sys.modules["nap_env.agents"].AGENTS, "highest", lambda *_: highest)
    envs, twin = (NapVectorEnv(5, opponents=opponents) for opponents in ("highest", highest))
    play_both(envs, twin, 60)


# Specifications and pictures


def test_a_vector_spec_goes_to_json_and_back():
    envs = gymnasium.make_vec(ID, 3, rules=PRESETS["pub"], autoreset_mode="SameStep")
    spec = EnvSpec.from_json(envs.spec.to_json())
    again = gymnasium.make_vec(spec)
    assert again.unwrapped.rules == PRESETS["pub"] and again.num_envs == 3
    assert again.metadata["autoreset_mode"] is SAME_STEP
    assert same(envs.reset(seed=0), again.reset(seed=0))
    assert NapVectorEnv.metadata["autoreset_mode"] is NEXT_STEP


def test_gymnasiums_loop_over_the_same_id_is_the_same():
    loop = gymnasium.make_vec(ID, 3, vectorization_mode="sync")
    assert same(loop.reset(seed=4), gymnasium.make_vec(ID, 3).reset(seed=4))


def test_render_gives_every_table():
    envs = NapVectorEnv(2, render_mode="ansi", seat=1)
    envs.reset(seed=0)
    texts = envs.render()
    assert len(texts) == 2 and all(text.endswith("to move: seat 1") for text in texts)
    silent = NapVectorEnv(2)
    silent.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert silent.render() is None
