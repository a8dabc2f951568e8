"""The Gymnasium environment `nap/Nap-v0`: one learner among opponents."""

import copy
import json
import pickle
import random
import subprocess
import sys
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence

from nap_env import Batch, IllegalActionError
from nap_env.actions import ACTIONS, FIRST_BID, NUM_ACTIONS, PASS, action_id
from nap_env.agents import from_policy
from nap_env.envs.single import NapEnv
from nap_env.game import Game, hash_seed
from nap_env.rules import PRESETS

# Tests that take illegal actions mean to.
pytestmark = pytest.mark.filterwarnings("ignore:.*an illegal action")

ID = "nap_env:nap/Nap-v0"
FORMS = [
    {"mask_in": "both"},
    {"mask_in": "obs"},
    {"mask_in": "info"},
    {"flat_obs": True},
    {"flat_obs": True, "mask_in": "info"},
]
TABLES = [
    pytest.param(name, players, id=f"{name}-{players}")
    for name, rules in PRESETS.items()
    for players in sorted({*rules.player_range, min(4, rules.player_range[1])})
]
every_table = pytest.mark.parametrize(("rules", "num_players"), TABLES)
# Six at this table: the dealer takes no cards.
SITTING_OUT = {"rules": "standard", "num_players": 6}
BROKE = {"options": {"deals": None, "chips": 12, "pool_each": 1, "pool_start": 2}}
CUT_OFF = {"options": {"deals": None, "target": 1000, "max_deals": 3}}


def choose(mask, rng):
    return int(rng.choice(np.flatnonzero(mask)))


def episode(env, rng, **arguments):
    """Play an episode; return what `reset` and every `step` gave."""
    results = [env.reset(**arguments)]
    done = False
    while not done:
        results.append(env.step(choose(env.unwrapped.action_masks(), rng)))
        done = results[-1][2] or results[-1][3]
    return results


def legal(env):
    return [ACTIONS[action] for action in np.flatnonzero(env.action_masks())]


# Standard checks


@every_table
def test_check_env_finds_nothing_to_say(rules, num_players):
    for form in FORMS:
        check_env(
            gymnasium.make(ID, rules=rules, num_players=num_players, **form).unwrapped,
            skip_render_check=form != FORMS[0],
        )


def test_wrappers_of_make_find_nothing_to_say():
    rng = np.random.default_rng(0)
    env = gymnasium.make(ID)
    for _ in range(20):
        episode(env, rng)


FRESH = """
import sys
import warnings
import gymnasium
env = gymnasium.make("nap_env:nap/Nap-v0", rules="modern", num_players=5, opponents="passer")
observation, _ = env.reset(seed=3)
envs = gymnasium.make_vec("nap_env:nap/Nap-v0", num_envs=2)
print(type(envs).__name__, observation["observation"].sum(), observation["action_mask"].sum())
"""


def test_ids_work_in_a_fresh_interpreter_and_two_processes_agree():
    env = gymnasium.make(ID, rules="modern", num_players=5, opponents="passer")
    observation, _ = env.reset(seed=3)
    run = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)
    sums = f"{observation['observation'].sum()} {observation['action_mask'].sum()}"
    assert run.stdout == f"NapVectorEnv {sums}\n"


def test_import_of_the_package_does_not_import_numba():
    code = "import sys, nap_env; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


# Rewards


def told(rules, num_players, seat, opponents, seed, rng):
    """Play a match as the environment should, with nothing but a Game.

    Returns:
        Actions of the learner, its rewards, what it earned before its first decision, and whether
        the match was cut off.
    """
    game = Game(rules, num_players, seed=seed)
    actions, rewards, earned = [], [], 0
    while True:
        while game.over:
            chips = game.rewards()[seat]
            if rewards:
                rewards[-1] += chips
            else:
                earned += chips
            if game.match_over and rewards:
                return actions, rewards, earned, game.truncated
            game.next_deal()
        if game.seat == seat:
            bits = game.legal_bits
            actions.append(int(rng.choice([a for a in range(NUM_ACTIONS) if bits >> a & 1])))
            rewards.append(0)
            game.step(actions[-1])
        elif opponents == "passer" and "pass" in game.legal():
            game.act("pass")
        else:
            game.step(game.random_action())


def assert_same_match(rules, num_players, seat, opponents, seed, rng, env):
    actions, rewards, earned, cut = told(rules, num_players, seat, opponents, seed, rng)
    _, info = env.reset(seed=seed)
    assert info["earned"] == earned
    for k, (action, reward) in enumerate(zip(actions, rewards, strict=True)):
        _, given, terminated, truncated, info = env.step(action)
        last = k == len(actions) - 1
        assert (given, terminated, truncated) == (reward, last and not cut, last and cut)
        assert info["earned"] == 0
    return sum(rewards)


@every_table
@pytest.mark.parametrize("opponents", ["random", "passer"])
def test_all_of_a_deals_payment_arrives(rules, num_players, opponents):
    rng = np.random.default_rng(0)
    for seat in range(num_players):
        env = NapEnv(rules, num_players, opponents, seat)
        for seed in range(40):
            assert_same_match(PRESETS[rules], num_players, seat, opponents, seed, rng, env)


def test_thousands_of_deals_pay_what_the_engine_pays():
    rng = np.random.default_rng(0)
    env = NapEnv("pub", 5, "random", seat=2)
    won = paid = 0
    for _ in range(3000):
        results = episode(env, rng)
        won += results[0][1]["earned"] + sum(result[1] for result in results[1:])
        result = env.record()["result"]
        # The last deal of a match shares out the pool, odd chips from the dealer's left.
        each, odd = divmod(result["pool"], 5)
        paid += result["payments"][2] + each + ((2 - env.record()["dealer"] - 1) % 5 < odd)
    assert won == paid


@pytest.mark.parametrize("match", [BROKE, CUT_OFF], ids=["broke", "cut off"])
def test_a_match_of_several_deals_pays_each_of_them(match):
    rng = np.random.default_rng(0)
    env = NapEnv(**match, opponents="random", seat=1)
    ends = set()
    for seed in range(60):
        assert_same_match(env.rules, 4, 1, "random", seed, rng, env)
        results = episode(env, rng, seed=seed)
        total = results[0][1]["earned"] + sum(result[1] for result in results[1:])
        assert total == results[-1][4]["scores"][1]
        ends.add(results[-1][2:4])
    assert ends == {(False, True) if match is CUT_OFF else (True, False)}


def test_reward_belongs_to_the_learner_and_arrives_with_the_deals_end():
    env = NapEnv(seat=3, opponents="passer")
    hands = [
        "8C 9C TC JC QC".split(),
        "8D 9D TD JD QD".split(),
        "8H 9H TH JH QH".split(),
        "AS KS QS JS TS".split(),
    ]
    env.reset(options={"dealer": 2, "hands": hands})
    rewards = [env.step(action_id(name))[1] for name in "nap AS KS QS JS TS".split()]
    assert rewards == [0, 0, 0, 0, 0, 3 * 10]  # nap wins 10 from each of three


# Where the learner has no decision


def test_a_dealer_who_sits_out_is_dealt_on():
    env = NapEnv(**SITTING_OUT, seat=0)
    earned = []
    for seed in range(200):
        _, info = env.reset(seed=seed)
        assert env.record()["dealer"] != 0 and env.action_masks().any()
        earned.append(info["earned"])
        passed_by = Game(PRESETS["standard"], 6, seed=seed).games["dealer"][0] == 0
        assert passed_by or info["earned"] == 0
    assert any(earned)


def test_a_deal_without_the_learner_inside_a_match_is_paid_with_the_decision_before():
    rng = np.random.default_rng(0)
    env = NapEnv(**SITTING_OUT, opponents="random", seat=1, options={"deals": 4})
    for seed in range(60):
        assert_same_match(env.rules, 6, 1, "random", seed, rng, env)


def test_a_seat_that_sits_out_for_ever_is_refused():
    options = {"first_dealer": 2}
    with pytest.raises(ValueError, match=r"seat=2: as first_dealer it sits out in every match"):
        NapEnv(**SITTING_OUT, seat=2, options=options)
    NapEnv(**SITTING_OUT, seat=2, options=options | {"deals": 2}).reset(seed=0)
    env = NapEnv(**SITTING_OUT, options=options)
    assert {env.reset()[1]["seat"] for _ in range(100)} == {0, 1, 3, 4, 5}


def test_seats_are_drawn_evenly():
    env = NapEnv()
    env.reset(seed=0)
    seats = [env.reset()[1]["seat"] for _ in range(4000)]
    # 1000 expected, standard deviation 27.
    assert np.abs(np.bincount(seats, minlength=4) - 1000).max() < 120


# Illegal actions


def test_an_illegal_action_ends_the_episode_at_the_price_of_a_failed_blucher():
    env = NapEnv(num_players=5, options={"stake": 2})
    _, before = env.reset(seed=1)
    action = int(np.flatnonzero(before["action_mask"] == 0)[0])
    observation, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (-2 * 4 * 20, True, False)  # stake, opponents, lose
    assert not observation["action_mask"].any() and not info["action_mask"].any()
    with pytest.raises(ResetNeeded):
        env.step(PASS)
    env.reset()
    env.step(choose(env.action_masks(), np.random.default_rng(0)))


def test_an_illegal_action_may_be_replaced_by_a_random_legal_one():
    env = NapEnv(illegal="random", seat=0)
    chosen = set()
    for _ in range(50):
        env.reset(options={"dealer": 3})
        possible = {*legal(env)}
        _, reward, terminated, _, _ = env.step(env.action_masks().argmin())
        (seat, action), *_ = env.record()["events"]
        assert seat == 0 and action in possible
        assert reward == 0 or terminated
        chosen.add(action)
    assert chosen == possible  # all that may be called first


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, 1.5, None, "pass", np.ones(2, int)])
def test_what_is_not_an_action_is_refused_and_changes_nothing(action):
    env = NapEnv(seat=0)
    env.reset(seed=1)
    before = env.record()
    with pytest.raises(IllegalActionError, match=r"seat 0 chose action .* not one of 0 to 77"):
        env.step(action)
    assert env.record() == before
    env.step(np.array(choose(env.action_masks(), np.random.default_rng(0)), np.uint8))


def test_step_needs_a_reset_before_the_first_and_after_the_last_decision():
    env = NapEnv()
    with pytest.raises(ResetNeeded):
        env.step(0)
    episode(env, np.random.default_rng(0))
    with pytest.raises(ResetNeeded):
        env.step(0)


# Masks and observations


@pytest.mark.parametrize("form", FORMS)
def test_masks_are_where_they_are_asked_for(form):
    rng = np.random.default_rng(0)
    env = NapEnv(rules="peep", **form)
    in_info = form["mask_in"] != "obs" if "mask_in" in form else True
    in_obs = not form.get("flat_obs") and form.get("mask_in") != "info"
    for _ in range(20):
        for observation, *_, info in episode(env, rng):
            assert observation in env.observation_space
            assert ("action_mask" in info) == in_info
            assert isinstance(observation, dict) == (not form.get("flat_obs"))
            assert (isinstance(observation, dict) and "action_mask" in observation) == in_obs
    observation, info = env.reset(seed=0)
    holders = [info] * in_info + [observation] * in_obs
    for mask in (holder["action_mask"] for holder in holders):
        assert mask.dtype == np.int8
        assert (mask == env.action_masks()).all() and env.action_masks().dtype == np.bool_
        assert mask[env.action_space.sample(mask)] == 1


def test_flat_observations_go_through_gymnasiums_wrappers():
    rng = np.random.default_rng(0)
    env = gymnasium.make(ID, flat_obs=True)
    size = env.unwrapped.layout.size
    env = wrappers.FlattenObservation(env)
    env = wrappers.DtypeObservation(env, np.float32)
    env = wrappers.FrameStackObservation(wrappers.RecordEpisodeStatistics(env), 3)
    results = episode(env, rng, seed=0)
    assert results[0][0].shape == (3, size) and results[0][0].dtype == np.float32
    assert results[-1][4]["episode"]["r"] == sum(result[1] for result in results[1:])


def test_observations_are_those_of_the_learners_seat():
    env = NapEnv()
    for seed in range(50):
        observation, info = env.reset(seed=seed)
        held = np.flatnonzero(observation["observation"][env.layout.slice("hand")])
        game = env.unwrapped._tables.game(0)
        assert held.tolist() == [action_id(card) for card in game.hand(info["seat"])]


def test_hidden_cards_change_nothing_that_the_learner_is_told():
    mine = "AS KS 9S QH 8D".split()
    others = ["8C 9C TC JC QC".split(), "9D TD JD QD KD".split(), "8H 9H TH JH KH".split()]
    env = NapEnv(opponents="passer", seat=0)
    for dealer in range(4):
        given = [
            env.reset(seed=0, options={"dealer": dealer, "hands": [mine, *hidden]})
            for hidden in (others, others[::-1])
        ]
        assert data_equivalence(*given, exact=True)


def test_a_full_layout_is_one_for_all():
    shapes = {
        NapEnv(rules, players, observation_layout="full").observation_space["observation"].shape
        for rules, players in (table.values for table in TABLES)
    }
    assert len(shapes) == 1


# Seeds


def test_a_seed_fixes_the_episode_and_a_reset_without_one_goes_on():
    rng = np.random.default_rng
    one, other = NapEnv("modern", 5), NapEnv("modern", 5)
    first = [episode(one, rng(k), seed=7 if k == 0 else None) for k in range(20)]
    again = [episode(one, rng(k), seed=7 if k == 0 else None) for k in range(20)]
    there = [episode(other, rng(k), seed=7 if k == 0 else None) for k in range(20)]
    assert data_equivalence(first, again, exact=True)
    assert data_equivalence(first, there, exact=True)
    assert len({str(results[0][0]) for results in first}) > 15


def test_the_first_deal_is_that_of_game_0_of_a_batch():
    env = NapEnv("modern", 5)
    env.reset(seed=11)
    deals = [env.record(), Batch("modern", 5, num_games=1, seed=11).record(0)]
    assert deals[0]["hands"] == deals[1]["hands"] and deals[0]["dealer"] == deals[1]["dealer"]


def test_without_a_seed_environments_differ():
    assert len({str(NapEnv().reset()) for _ in range(10)}) == 10


def test_global_random_state_is_neither_read_nor_written():
    def trajectory(disturb):
        env, rng = NapEnv(), np.random.default_rng(0)
        results = [env.reset(seed=5)]
        for _ in range(200):
            if disturb:
                np.random.seed(1)
                random.seed(1)
            mask = env.action_masks()
            results.append(env.step(choose(mask, rng)) if mask.any() else env.reset())
        return results

    states = np.random.get_state()[1].copy(), random.getstate()
    quiet = trajectory(disturb=False)
    assert (np.random.get_state()[1] == states[0]).all() and random.getstate() == states[1]
    assert data_equivalence(quiet, trajectory(disturb=True), exact=True)


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_a_bad_seed_is_refused_and_changes_nothing(seed):
    env = NapEnv()
    env.reset(seed=0)
    before = env.record()
    with pytest.raises(ValueError, match="a whole number from 0 on"):
        env.reset(seed=seed)
    assert env.record() == before


def test_constructor_arguments_survive_a_seeded_reset():
    env = NapEnv("standard", 4, "passer", 2, options={"stake": 7}, flat_obs=True)
    texts = ["8C 9C TC JC QC", "8D 9D TD JD QD", "AS KS QS JS TS", "8H 9H TH JH QH"]
    hands = [text.split() for text in texts]
    for seed in (None, 1, None, 2):
        observation, info = env.reset(seed=seed, options={"hands": hands})
        rewards = [env.step(action_id(name))[1] for name in "nap AS KS QS JS TS".split()]
        assert sum(rewards) == 7 * 3 * 10  # the stake, three opponents, nap
        assert info["seat"] == 2 and observation.shape == (env.layout.size,)


# Copies and aliasing


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("wrapped", [False, True])
def test_copies_keep_the_game_at_every_decision(duplicate, wrapped):
    rng = np.random.default_rng(0)
    env = gymnasium.make(ID, rules="peep", num_players=5)
    env = env if wrapped else env.unwrapped
    for _ in range(5):
        env.reset()
        done = False
        while not done:
            before = env.unwrapped.record()
            ends = []
            for twin in (duplicate(env), duplicate(env)):
                dice = np.random.default_rng(1)
                results = [twin.step(choose(twin.unwrapped.action_masks(), dice))]
                while not results[-1][2]:
                    results.append(twin.step(choose(twin.unwrapped.action_masks(), dice)))
                ends.append([*results, twin.reset()])
            assert data_equivalence(*ends, exact=True)
            assert env.unwrapped.record() == before
            done = env.step(choose(env.unwrapped.action_masks(), rng))[2]


def arrays(result):
    observation, info = result[0], result[-1]
    parts = observation["observation"], observation["action_mask"]
    return [*parts, info["action_mask"], info["scores"]]


def test_results_are_new_and_changing_them_does_not_change_the_game():
    env, twin = NapEnv(), NapEnv()
    rng = np.random.default_rng(0)
    results = [env.reset(seed=4)]
    twin.reset(seed=4)
    kept = copy.deepcopy(results[0])
    for _ in range(60):
        mask = env.action_masks()
        action = choose(mask, rng) if mask.any() else None
        results.append(env.reset() if action is None else env.step(action))
        clean = twin.reset() if action is None else twin.step(action)
        assert data_equivalence(results[-1], clean, exact=True)
        if len(results) == 20:
            assert data_equivalence(results[0], kept, exact=True)
        for array in arrays(results[-1]):
            array[:] = 77
    parts = [array for result in results for array in arrays(result)]
    parts += [*env._tables.told, env._tables.games, env._tables.learners]
    for k, part in enumerate(parts):
        assert not any(np.shares_memory(part, other) for other in parts[:k])


# Opponents


def test_a_passer_never_bids():
    env = NapEnv(opponents="passer", seat=0)
    for seed in range(50):
        episode(env, np.random.default_rng(seed))
        calls = [name for seat, name in env.record()["events"] if seat != 0]
        assert all(name == "pass" or name in ACTIONS[:FIRST_BID] for name in calls)


def lowest(observations, masks):
    """The lowest legal action; a module's function, so that it can be pickled."""
    return masks.argmax(1)


def test_opponents_sit_clockwise_from_the_learners_left():
    asked = []

    def opponent(name):
        def play(observations, masks):
            asked.append(name)
            return np.where(masks[:, PASS] == 1, PASS, masks.argmax(1))

        return from_policy(play)

    for seat in range(4):
        env = NapEnv(opponents=[opponent("left"), "passer", opponent("right")], seat=seat)
        env.reset(options={"dealer": seat})
        assert asked == ["left", "right"]
        asked.clear()


def test_a_policy_sees_what_its_seat_sees():
    seen = []

    def player(observations, masks):
        seen.append((observations[0], masks[0]))
        return [int(np.flatnonzero(masks[0])[-1])]

    env = NapEnv(opponents=from_policy(player), seat=0)
    rng = np.random.default_rng(0)
    for seed in range(20):
        seen.clear()
        env.reset(seed=seed)
        done = False
        while not done:
            done = env.step(choose(env.action_masks(), rng))[2]
        game = Game(env.rules, 4, seed=seed)
        views = []
        for seat, name in env.record()["events"]:
            if seat != 0:
                views.append(game.observe(seat))
            game.act(name)
        assert data_equivalence(views, seen, exact=True)


def test_opponents_are_heuristic_by_default():
    for seed in range(20):
        rng = [np.random.default_rng(seed), np.random.default_rng(seed)]
        wanted = episode(NapEnv(opponents="heuristic"), rng[0], seed=seed)
        assert data_equivalence(episode(NapEnv(), rng[1], seed=seed), wanted, exact=True)


def test_a_mixture_of_one_is_that_player():
    for seed in range(20):
        rng = [np.random.default_rng(seed), np.random.default_rng(seed)]
        wanted = episode(NapEnv(opponents="passer"), rng[0], seed=seed)
        mixed = episode(NapEnv(opponents={"passer": 0.1}), rng[1], seed=seed)
        assert data_equivalence(mixed, wanted, exact=True)


def test_a_mixture_is_drawn_by_its_weights_for_every_match_and_seat():
    rng = np.random.default_rng(0)
    asked = np.zeros((2, 3), int)  # deals in which the two agents were asked, by seat
    this_deal = set()

    def noting(number):
        def player(games, rows):
            this_deal.add((number, int(games.games["seat"][rows[0]])))
            return games.sample(rows)

        return player

    few, many = noting(0), noting(1)
    env = NapEnv(opponents=[{few: 1, many: 3.0}, {few: 0.5, many: 1.5}, many], seat=0)
    env.reset(seed=0)
    for _ in range(2000):
        this_deal.clear()
        env.reset()
        while not env.step(choose(env.action_masks(), rng))[2]:
            pass
        assert len({seat for _, seat in this_deal}) == len(this_deal)  # one player a seat and match
        for number, seat in this_deal:
            asked[number, seat - 1] += 1
    shares = asked[0] / asked.sum(0)
    assert shares[2] == 0
    # A standard deviation is 0.01.
    assert np.abs(shares[:2] - 0.25).max() < 0.05


@pytest.mark.parametrize("answer", [[0], [-1], [200], None, 1.0, 3, [1, 2], [1.0], [[1]]])
def test_an_opponents_bad_answer_is_told_and_a_reset_is_needed(answer):
    for agent in (lambda games, rows: answer, from_policy(lambda observations, masks: answer)):
        env = NapEnv(opponents=agent, seat=3)
        with pytest.raises(ValueError, match=r"player .* answered|seat \d chose"):
            env.reset(seed=0, options={"dealer": 3, "hands": None})
        with pytest.raises(ResetNeeded):
            env.step(PASS)


def test_a_function_of_observations_that_is_no_agent_is_told_how_to_become_one():
    env = NapEnv(opponents=lambda observations, masks: 5, seat=3)
    with pytest.raises(ValueError, match=r"agents.from_policy makes one of a function"):
        env.reset(seed=0, options={"dealer": 3})


def last_legal(observations, masks):
    return NUM_ACTIONS - 1 - masks[:, ::-1].argmax(1)


def test_an_agent_that_is_not_compiled_is_asked_about_the_games(monkeypatch):
    def last(games, rows):
        assert games.games is env._tables.games and games.num_players == 4
        assert games.rules == env.rules and (games.seat == games.games["seat"]).all()
        return last_legal(*games.observe(rows))

    monkeypatch.setitem(sys.modules["nap_env.agents"].AGENTS, "last", lambda *_: last)
    env = NapEnv(opponents="last")
    twin = NapEnv(opponents=from_policy(last_legal))
    for seed in range(20):
        rng = [np.random.default_rng(seed), np.random.default_rng(seed)]
        ours = episode(env, rng[0], seed=seed)
        assert data_equivalence(ours, episode(twin, rng[1], seed=seed), exact=True)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"opponents": "nobody"}, r"opponents: 'nobody': allowed are random, passer"),
        ({"opponents": 3}, r"opponents=3: one player, or a list of 3"),
        ({"opponents": ["random"]}, r"opponents=\['random'\]: one player, or a list of 3"),
        ({"opponents": ["random", None, "passer"]}, r"opponents: None: a name or an agent"),
        ({"opponents": ["random", ["passer"], "passer"]}, r"opponents: \['passer'\]: a name or"),
        ({"opponents": {}}, r"opponents=\{\}: a mixture has 1 to 16 players"),
        ({"opponents": {"random": 0}}, r"opponents: weight 0 of 'random': a number above 0"),
        ({"opponents": {"random": "1"}}, r"opponents: weight '1' of 'random': a number above 0"),
        ({"opponents": {"nobody": 1}}, r"opponents: 'nobody': allowed are random, passer"),
        ({"illegal": "error"}, r"illegal='error': allowed are terminate, random"),
        ({"seat": 4}, r"seat=4: seats are 0 to 3"),
        ({"seat": -1}, r"seat=-1: seats are 0 to 3"),
        ({"seat": "2"}, r"seat='2': None, or a whole number, 0 to 3"),
        ({"seat": True}, r"seat=True"),
        ({"mask_in": "none"}, r"mask_in='none': allowed are both, obs, info"),
        ({"mask_in": "obs", "flat_obs": True}, r"mask_in='obs' with flat_obs=True"),
        ({"render_mode": "gif"}, r"render_mode='gif': allowed are None, ansi"),
        ({"rules": "whist"}, r"rules='whist'"),
        ({"rules": {"name": "standard"}}, r"rules=\{'name': 'standard'\}: the keys must be"),
        ({"num_players": 9}, r"num_players=9: standard seats 3 to 7"),
        ({"observation_layout": "wide"}, r"observation_layout='wide'"),
    ],
)
def test_bad_arguments_are_named(arguments, text):
    with pytest.raises(ValueError, match=text):
        NapEnv(**arguments)


# Deals that are set up


def play_record(seed, rules="pub", num_players=5):
    env = NapEnv(rules, num_players)
    episode(env, np.random.default_rng(seed), seed=seed)
    return env.record()


def test_a_given_deal_is_dealt():
    record = play_record(1)
    given = {key: record[key] for key in ("dealer", "hands", "pool")}
    env = NapEnv("pub", 5, "passer")
    env.reset(seed=0, options=given)
    assert {key: env.record()[key] for key in given} == given


def test_a_record_goes_on_where_it_stops():
    for seed in range(10):
        record = play_record(seed)
        for count in range(len(record["events"])):
            env = NapEnv("pub", 5, seat=record["events"][count][0])
            part = {**record, "events": record["events"][:count]}
            env.reset(options={"record": part})
            assert env.record()["events"] == part["events"]
            assert record["events"][count][1] in legal(env)


def test_a_complete_record_is_followed_by_a_new_deal():
    record = play_record(3)
    env = NapEnv("pub", 5, seat=1)
    _, info = env.reset(seed=0, options={"record": record})
    game = Game(PRESETS["pub"], 5)
    game.set_up(**{key: record[key] for key in Game.DEAL_KEYS if key in record})
    for _, name in record["events"]:
        game.act(name)
    assert info["earned"] == game.rewards()[1]
    assert env.record()["hands"] != record["hands"]


def test_a_seed_fills_in_what_options_do_not_give():
    env = NapEnv()
    deals = []
    for seed in (1, 1, 2):
        env.reset(seed=seed, options={"dealer": 2})
        deals.append(env.record()["hands"])
    assert deals[0] == deals[1] != deals[2]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"delaer": 1}, r"unknown \['delaer'\]; allowed are dealer, hands"),
        ({"dealer": 4}, r"dealer=4: 0 to 3 are allowed"),
        ({"hands": 3}, r"hands=3"),
        ({"record": 3}, r"record=3: a deal record is a mapping"),
        ({"record": {"rules": "standard"}}, r"the key 'num_players' is missing"),
        ({"record": {"rules": "pub", "num_players": 4}}, r"this table plays rules='standard'"),
        ({"record": {"rules": "standard", "num_players": 5}}, r"num_players=5: this table has 4"),
        ({"record": {"rules": "standard", "num_players": 4}, "dealer": 1}, r"dealer beside record"),
        ("dealer", r"options='dealer': a mapping is allowed"),
        (
            {"record": {"rules": "standard", "num_players": 4, "events": "pass"}},
            r"events='pass': a list",
        ),
        (
            {"record": {"rules": "standard", "num_players": 4, "events": ["pass"]}},
            r"event 0: 'pass' is not",
        ),
        (
            {"record": {"rules": "standard", "num_players": 4, "dealer": 3, "events": [[1, "x"]]}},
            r"event 0: \[1, 'x'\], but seat 0 is to move",
        ),
        (
            {"record": {"rules": "standard", "num_players": 4, "dealer": 3, "events": [[0, "x"]]}},
            r"event 0: 'x' is not an action",
        ),
    ],
)
def test_bad_options_are_named_and_change_nothing(options, text):
    env = NapEnv()
    env.reset(seed=0)
    before = env.record()
    with pytest.raises(ValueError, match=text):
        env.reset(seed=1, options=options)
    assert env.record() == before
    env.step(choose(env.action_masks(), np.random.default_rng(0)))


# Specifications


def test_a_spec_goes_to_json_and_back():
    rules = replace(PRESETS["thirty"], deck=((2, 32), (4, 40), (6, 52)), name="thirty")
    env = gymnasium.make(ID, rules=rules, num_players=4, opponents=["random", "passer", "random"])
    spec = EnvSpec.from_json(env.spec.to_json())
    assert isinstance(spec.kwargs["rules"], dict)
    again = gymnasium.make(spec)
    assert again.unwrapped.rules == rules
    dice = [np.random.default_rng(0), np.random.default_rng(0)]
    ours = episode(env, dice[0], seed=1)
    assert data_equivalence(ours, episode(again, dice[1], seed=1), exact=True)


def test_an_agent_makes_a_spec_that_is_not_json():
    env = gymnasium.make(ID, opponents=from_policy(lowest))
    with pytest.raises(TypeError):
        env.spec.to_json()
    pickle.loads(pickle.dumps(env)).reset()


def test_spec_json_is_plain():
    spec = json.loads(gymnasium.make(ID, seat=2).spec.to_json())
    assert spec["kwargs"] == {"seat": 2}
    assert spec["entry_point"] == "nap_env.envs.single:NapEnv"


# Pictures


def test_render_shows_the_learners_cards_only():
    env = gymnasium.make(ID, render_mode="ansi", seat=1, opponents="passer").unwrapped
    env.reset(seed=0)
    lines = env.render().splitlines()
    assert ["--" in line for line in lines[1:5]] == [True, False, True, True]
    assert lines[-1] == "to move: seat 1"
    results = episode(env, np.random.default_rng(0))
    assert results[-1][2] and "--" not in env.render() and "result" in env.render()
    shown = NapEnv(render_mode="ansi", reveal=True)
    shown.reset(seed=0)
    assert "--" not in shown.render()


def test_after_an_illegal_action_nobody_is_to_move():
    env = NapEnv(render_mode="ansi")
    env.reset(seed=0)
    env.step(int(np.flatnonzero(~env.action_masks())[0]))
    assert env.render().splitlines()[-1] == "to move: nobody"


def test_render_without_a_mode_says_so_and_close_is_safe():
    env = NapEnv()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None
    env.close()
    env.close()


# The engine without the JIT


PLAIN = """
import numpy as np
from nap_env.envs.single import NapEnv
env = NapEnv("peep", 5, ["random", "passer", "random", "passer"])
rng = np.random.default_rng(0)
env.reset(seed=9)
for _ in range(60):
    mask = env.action_masks()
    result = env.step(rng.choice(np.flatnonzero(mask))) if mask.any() else env.reset()
    print(result[0]["observation"].tobytes(), result[1])
"""


def test_trajectories_are_the_same_without_the_jit(monkeypatch):
    outputs = []
    for jit in ("0", "1"):
        monkeypatch.setenv("NUMBA_DISABLE_JIT", jit)
        run = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]


def test_hashed_seeds_are_those_of_the_table():
    env = NapEnv()
    env.reset(seed=6)
    game = Game(env.rules, 4)
    game.reset(hash_seed(6))
    assert env.unwrapped._tables.games["key"][0] == game.games["key"][0]
