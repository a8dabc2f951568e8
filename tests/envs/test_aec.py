"""The PettingZoo environments `nap_v0.env` and `nap_v0.raw_env`."""

import copy
import json
import pickle
import random
import re
import subprocess
import sys
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from pettingzoo.utils import wrappers
from results import arrays, same

import nap_env
from nap_env import Batch, IllegalActionError, nap_v0
from nap_env.actions import ACTIONS, NUM_ACTIONS, action_id
from nap_env.cards import CARDS, card_id
from nap_env.envs.aec import OrderError, OutOfBoundsError
from nap_env.rules import PRESETS

# Tests that take illegal actions mean to.
pytestmark = pytest.mark.filterwarnings("ignore:.*an illegal action")

with warnings.catch_warnings():
    # It imports a game of its own in a way that it has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, render_test, seed_test

FACTORIES = [nap_v0.env, nap_v0.raw_env]
MASKS = [
    {"mask_in": "both"},
    {"mask_in": "obs"},
    {"mask_in": "info"},
    {"flat_obs": True},
    {"flat_obs": True, "mask_in": "info"},
]
EXAMPLES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "examples.jsonl").read_text().splitlines()
]


def tables(players=None):
    """Every preset with every number of players, or with the one nearest to `players`."""
    for name, rules in PRESETS.items():
        low, high = rules.player_range
        seats = range(low, high + 1) if players is None else [max(low, min(high, players))]
        for count in seats:
            yield pytest.param(name, count, id=f"{name}-{count}")


every_table = pytest.mark.parametrize(("rules", "num_players"), list(tables()))
every_preset = pytest.mark.parametrize(("rules", "num_players"), list(tables(4)))
both = pytest.mark.parametrize("factory", FACTORIES, ids=["env", "raw_env"])
examples = pytest.mark.parametrize("record", EXAMPLES, ids=lambda record: record["id"])
E01 = EXAMPLES[0]


def of_record(record, factory=nap_v0.env, **arguments):
    return factory(record["rules"], record["num_players"], options=record["options"], **arguments)


def at(record, count=None, **arguments):
    """A table at which the first `count` events of a record have happened."""
    env = of_record(record, **arguments)
    env.reset(options={"record": {**record, "events": record["events"][:count]}})
    return env


def legal(env):
    return np.flatnonzero(env.observe(env.agent_selection)["action_mask"])


def choose(env, rng):
    return int(rng.choice(legal(env)))


def play_on(env, rng, steps=10**6):
    """Play random decisions until the episode is over; return what everybody saw."""
    seen = []
    while not any(env.terminations.values()) and not any(env.truncations.values()) and steps:
        action = choose(env, rng)
        seen.append((env.agent_selection, action, env.state().tobytes()))
        env.step(action)
        steps -= 1
    return seen, env.rewards, env.state().tobytes(), env.record()


def dearest(env):
    """What the dearest bid costs at single stakes: so much to each opponent."""
    return (env.num_players - 1) * env.rules.stake * max(bid.lose for bid in env.rules.bids)


def illegal_action(env):
    mask = env.observe(env.agent_selection)["action_mask"]
    return int(np.flatnonzero(mask == 0)[0])


# PettingZoo's own tests.


@both
@pytest.mark.parametrize("where", MASKS, ids=str)
def test_api_test(factory, where):
    api_test(factory(**where), num_cycles=50)


@every_preset
def test_api_test_of_every_preset(rules, num_players):
    api_test(nap_v0.env(rules, num_players), num_cycles=20)


@both
@pytest.mark.parametrize("where", MASKS, ids=str)
def test_seed_test(factory, where):
    seed_test(lambda: factory(**where))


@both
def test_render_test(factory):
    render_test(
        lambda render_mode: factory(render_mode=render_mode), {"ansi": lambda text: bool(text)}
    )


# Spaces and arguments.


@every_preset
def test_all_agents_share_one_space_object(rules, num_players):
    env = nap_v0.env(rules, num_players)
    assert env.possible_agents == [f"player_{seat}" for seat in range(num_players)]
    assert len({id(env.observation_space(agent)) for agent in env.possible_agents}) == 1
    assert len({id(env.action_space(agent)) for agent in env.possible_agents}) == 1
    space = env.observation_space("player_0")
    assert space["observation"] == gymnasium.spaces.Box(-128, 127, (env.layout.size,), np.int8)
    assert space["action_mask"] == gymnasium.spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
    assert env.action_space("player_0") == gymnasium.spaces.Discrete(NUM_ACTIONS)


def test_full_layout_is_one_for_all_rules_and_players():
    spaces = [
        nap_v0.env(rules, players, observation_layout="full").observation_space("player_0")
        for rules, players in (("standard", 4), ("mini_2x4", 2), ("seven_card", 7))
    ]
    assert spaces[0] == spaces[1] == spaces[2]


@both
def test_mask_is_where_mask_in_says(factory):
    seen = {}
    cases = {"default": {}, "flat": {"flat_obs": True}}
    cases |= {where: {"mask_in": where} for where in ("both", "obs", "info")}
    for key, where in cases.items():
        env = factory(**where)
        env.reset(seed=1)
        observation, *_, info = env.last()
        seen[key] = ("action_mask" in observation, "action_mask" in info)
        assert env.observation_space("player_0").contains(observation)
    obs, info = (True, False), (False, True)
    wanted = {"default": obs, "both": (True, True), "obs": obs, "info": info, "flat": info}
    assert seen == wanted


@both
def test_flat_observation_is_the_plain_array(factory):
    flat, full = factory(flat_obs=True), factory(mask_in="both")
    flat.reset(seed=1)
    full.reset(seed=1)
    observation, *_, info = flat.last()
    assert same(observation, full.last()[0]["observation"])
    assert same(info, full.last()[-1])
    assert flat.observation_space("player_0").contains(observation)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"mask_in": "somewhere"}, "mask_in='somewhere': allowed are both, obs, info"),
        ({"mask_in": "obs", "flat_obs": True}, "mask_in='obs' with flat_obs=True"),
        ({"render_mode": "gif"}, "render_mode='gif': allowed are None, ansi"),
        ({"rules": "whist"}, "rules='whist'"),
        ({"num_players": 9}, "num_players=9: standard seats 3 to 7"),
        ({"options": {"jokers": 2}}, "option 'jokers' is not known"),
        ({"observation_layout": "wide"}, "observation_layout='wide'"),
    ],
)
def test_constructor_refuses_what_is_not_allowed(arguments, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        nap_v0.env(**arguments)


def test_options_survive_a_seeded_reset():
    env = nap_v0.env(options={"pay": {"three": [7, 6]}})
    for seed in (None, 4):
        env.reset(seed=seed)
        env.reset(options={"record": {**of_e01(env), "events": E01["events"]}})
        assert env.rewards == chips(3 * 7, -7, -7, -7)


def of_e01(env):
    """E01's deal as a record of a table's own rules."""
    return {**E01, "rules": env.rules.name, "options": env.rules.options}


def chips(*rewards):
    return {f"player_{seat}": reward for seat, reward in enumerate(rewards)}


# Rewards, turns, dead agents.


@every_table
def test_rewards_arrive_once_and_sum_to_zero(rules, num_players):
    env = nap_v0.raw_env(rules, num_players, options={"deals": 1, "target": None})
    rng = random.Random(1)
    env.reset(seed=7)
    for _ in range(6):
        env.reset()
        got, decisions, left = Counter(), 0, []
        for agent in env.agent_iter():
            _, reward, terminated, truncated, _ = env.last()
            got[agent] += reward
            assert not truncated
            if terminated:
                left.append(agent)
                env.step(None)
            else:
                env.step(choose(env, rng))
                decisions += 1
                assert env.infos.keys() == env.rewards.keys() == set(env.agents)
                if env.terminations[env.agent_selection]:
                    record = env.record()
                    paid = env.rewards
        assert left == env.possible_agents
        assert decisions == len(record["events"])
        assert got == paid
        assert sum(paid.values()) == 0
        pool = env.rules.pool_start * num_players
        extra = sum(paid.values()) - sum(record["result"]["payments"])
        assert extra == record["result"]["pool"] - pool


@every_table
def test_everybody_ends_when_the_match_is_over_and_only_then(rules, num_players):
    env = nap_v0.env(rules, num_players, options={"deals": 2, "target": None})
    rng = random.Random(2)
    env.reset(seed=3)
    for _ in range(3):
        env.reset()
        deals = 0
        while True:
            before = len(env.record()["events"])
            env.step(choose(env, rng))
            record = env.record()
            deals += len(record["events"]) != before + 1 or "result" in record
            ended = deals == 2
            assert set(env.terminations.values()) == {ended}
            assert set(env.truncations.values()) == {False}
            if ended:
                break
            assert env.agents == env.possible_agents


@both
@pytest.mark.parametrize(("rules", "num_players"), [("standard", 4), ("pool_nap", 3)])
def test_match_goes_on_inside_the_environment(factory, rules, num_players):
    env = factory(rules, num_players, options={"deals": 3, "target": None})
    rng = random.Random(5)
    for seed in range(8):
        env.reset(seed=seed)
        games = Batch(rules, num_players, 1, seed, options={"deals": 3, "target": None})
        total, paydays, dealers = Counter(), 0, []
        while not any(env.terminations.values()):
            assert env.agent_selection == f"player_{games.seat[0]}"
            assert same(env.observe(env.agent_selection)["observation"], games.observation[0])
            # The scores have paid `pool_start` at once, the rewards with the first deal.
            start = 0 if paydays else env.rules.pool_start
            assert env.infos["player_0"]["scores"] == tuple(
                total[agent] - start for agent in env.possible_agents
            )
            dealers.append(env.record()["dealer"])
            action = choose(env, rng)
            mover = env.agent_selection
            env.step(action)
            games.step([action])
            assert list(env.rewards.values()) == games.payments[0].tolist()
            total.update(env.rewards)
            paydays += bool(games.done[0])
            if not games.done[0]:
                assert env._cumulative_rewards[mover] == 0
        assert games.match_done[0]
        assert paydays == 3
        assert sum(total.values()) == 0
        assert list(dict.fromkeys(dealers)) == [
            (dealers[0] + turn) % num_players for turn in range(min(3, num_players))
        ]


@both
def test_max_deals_truncates_everybody(factory):
    env = factory(options={"deals": 5, "max_deals": 2})
    rng = random.Random(1)
    env.reset(seed=1)
    while not any(env.truncations.values()):
        assert not any(env.terminations.values())
        env.step(choose(env, rng))
    assert list(env.truncations.values()) == [True] * 4
    assert list(env.terminations.values()) == [False] * 4
    assert env.last()[2:4] == (False, True)


@both
def test_reset_between_dead_steps_starts_a_clean_deal(factory):
    env = factory()
    rng = random.Random(3)
    for left in range(5):
        env.reset(seed=left)
        play_on(env, rng)
        for agent in env.possible_agents[:left]:
            assert env.agent_selection == agent
            env.step(None)
        env.reset(seed=9)
        assert env.agents == list(env.rewards) == list(env.terminations) == env.possible_agents
        assert not any(env.rewards.values()) and not any(env._cumulative_rewards.values())
        assert not any(env.terminations.values()) and len(legal(env))
        seen = play_on(env, random.Random(0))
        env.reset(seed=9)
        assert play_on(env, random.Random(0)) == seen


@both
def test_dead_agent_takes_only_none(factory):
    env = at(E01, factory=factory)
    for action in (0, 5, NUM_ACTIONS):
        with pytest.raises(ValueError, match=r"player_0 has ended, action .*: only None"):
            env.step(action)
    assert env.agents == env.possible_agents


@both
def test_calls_after_the_last_agent_has_left_say_so(factory):
    env = at(E01, factory=factory)
    for _ in env.agent_iter():
        env.step(None)
    assert env.agents == [] == list(env.agent_iter())
    assert env.rewards == env.terminations == env.truncations == env.infos == {}
    for call in (lambda: env.step(None), lambda: env.step(3), env.last):
        with pytest.raises(OrderError, match=r"every agent has left; call reset\(\)"):
            call()
    env.reset()
    assert len(env.agents) == 4


@both
def test_calls_before_reset_say_so(factory):
    env = factory(render_mode="ansi")
    calls = {
        "step": lambda: env.step(0),
        "observe": lambda: env.observe("player_0"),
        **{
            name: getattr(env, name) for name in ("last", "agent_iter", "state", "render", "record")
        },
        **{
            name: lambda name=name: getattr(env, name)
            for name in ("agents", "rewards", "terminations", "truncations", "infos")
        },
        "num_agents": lambda: env.num_agents,
        "get_state": env.get_state,
    }
    for call in calls.values():
        with pytest.raises(OrderError, match=r"call reset\(\) first"):
            call()
    assert not hasattr(env, "agents")
    assert issubclass(OrderError, AssertionError) and issubclass(OrderError, AttributeError)


@both
def test_agent_iter_wants_a_step_for_every_agent(factory):
    env = factory()
    env.reset(seed=1)
    with pytest.raises(OrderError, match="agent_iter: call step"):
        for _ in env.agent_iter():
            env.last()
    env.reset(seed=1)
    for _ in env.agent_iter(max_iter=3):
        env.step(legal(env)[0])
    assert len(env.record()["events"]) == 3


# Legality.


@both
@pytest.mark.parametrize("dtype", [int, np.int8, np.int32, np.int64, np.uint8, np.array])
def test_any_integer_is_an_action(factory, dtype):
    env = factory()
    env.reset(seed=0)
    env.step(dtype(action_id("pass")))
    assert env.record()["events"][0][1] == "pass"


@both
@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, 2**80, None, 53.0, "pass", [53], np.zeros(2)])
def test_what_is_no_action_is_refused(factory, action):
    env = factory()
    env.reset(seed=0)
    before = env.state().tobytes(), env.agent_selection
    with pytest.raises(OutOfBoundsError, match=r"is not one of 0 to 77; legal: .*; deal: standard"):
        env.step(action)
    assert (env.state().tobytes(), env.agent_selection) == before
    assert issubclass(OutOfBoundsError, AssertionError)
    assert issubclass(OutOfBoundsError, IllegalActionError)


@every_preset
def test_illegal_action_ends_the_game_for_all(rules, num_players):
    env = nap_v0.env(rules, num_players, mask_in="both", options={"stake": 3})
    for count in range(6):
        env.reset(seed=count)
        play_on(env, random.Random(count), steps=count)
        if not env._playing:
            continue
        offender = env.agent_selection
        events = env.record()["events"]
        env.step(illegal_action(env))
        expected = dict.fromkeys(env.possible_agents, 0) | {offender: -dearest(env)}
        assert env.rewards == expected
        assert set(env.terminations.values()) == {True}
        assert set(env.truncations.values()) == {False}
        assert env.record()["events"] == events
        left = {}
        for agent in env.agent_iter():
            observation, left[agent], terminated, truncated, info = env.last()
            assert (terminated, truncated) == (True, False)
            assert not observation["action_mask"].any() and not info["action_mask"].any()
            env.step(None)
        assert left == expected and list(left) == env.possible_agents


def test_price_of_an_illegal_action_is_that_of_blucher():
    env = nap_v0.env("standard", 5)
    env.reset(seed=0)
    env.step(illegal_action(env))
    assert min(env.rewards.values()) == -4 * 20  # to each of four


def test_an_illegal_action_may_be_replaced_by_a_random_legal_one():
    env = nap_v0.env(illegal="random")
    chosen = set()
    with pytest.raises(ValueError, match="illegal='error': allowed are terminate, random"):
        nap_v0.env(illegal="error")
    for seed in range(50):
        env.reset(seed=seed)
        agent, possible = env.agent_selection, {ACTIONS[action] for action in legal(env)}
        env.step(illegal_action(env))
        assert not any(env.terminations.values()) and env.agent_selection != agent
        [[_, action]] = env.record()["events"]
        assert action in possible
        chosen.add(action)
    assert chosen == possible  # all that may be called first


@every_preset
def test_raw_env_raises_and_changes_nothing(rules, num_players):
    env = nap_v0.raw_env(rules, num_players)
    env.reset(seed=5)
    before = pickle.dumps(env)
    seat = env.agent_selection[-1]
    with pytest.raises(IllegalActionError, match=f"seat {seat} chose .* legal: .*deal: {rules}"):
        env.step(illegal_action(env))
    observed = pickle.loads(before)
    assert same(env.last()[0], observed.last()[0])
    assert play_on(env, random.Random(1)) == play_on(observed, random.Random(1))


@pytest.mark.skipif(
    version("pettingzoo").startswith("1.24"),
    reason="PettingZoo 1.24's TerminateIllegalWrapper lets dead agents leave in a wrong order",
)
def test_env_behaves_as_raw_env_in_pettingzoos_wrappers():
    ours = nap_v0.env()
    price = dearest(ours)
    wrapped = wrappers.OrderEnforcingWrapper(
        wrappers.AssertOutOfBoundsWrapper(
            wrappers.TerminateIllegalWrapper(nap_v0.raw_env(), illegal_reward=-price)
        )
    )
    rng = random.Random(8)
    for seed in range(30):
        ours.reset(seed=seed)
        wrapped.reset(seed=seed)
        for agent, other in zip(ours.agent_iter(), wrapped.agent_iter(), strict=True):
            assert agent == other
            observation, reward, terminated, _, _ = ours.last()
            theirs = wrapped.last()
            assert same(observation["observation"], theirs[0]["observation"])
            assert (reward, terminated) == (theirs[1], theirs[2])
            if terminated:
                action = None
            elif rng.random() < 0.05:
                action = illegal_action(ours)
            else:
                action = choose(ours, rng)
            ours.step(action)
            wrapped.step(action)
            assert ours.rewards == wrapped.rewards


# Masks, hidden information.


@every_table
def test_only_the_seat_to_move_has_a_mask(rules, num_players):
    env = nap_v0.env(rules, num_players, mask_in="both")
    rng = random.Random(4)
    env.reset(seed=2)
    for _ in range(2):
        env.reset()
        while env._playing:
            names = {ACTIONS[action] for action in legal(env)}
            assert names
            for agent in env.possible_agents:
                mask = env.observe(agent)["action_mask"]
                assert mask.dtype == np.int8
                assert same(mask, env.infos[agent]["action_mask"])
                assert mask.any() == (agent == env.agent_selection)
            env.step(choose(env, rng))
        for agent in env.possible_agents:
            assert not env.observe(agent)["action_mask"].any()
            assert not env.infos[agent]["action_mask"].any()


def hidden_cards(env, seat):
    """Cards that a seat has neither held nor seen: in other hands, or in the stock."""
    game = env._game.games[0]
    record = env.record()
    pack = [card for hand in record["hands"] for card in hand] + record["stock"]
    seen = set(record["hands"][seat]) | {card for _, card in record["events"]}
    held = int(game["hand"][seat])
    return [card for card in pack if card not in seen and not held >> card_id(card) & 1]


def permuted(env, seat, rng):
    """A copy of the table in which the cards that a seat cannot see have changed places."""
    other = env.clone()
    game = other._game.games[0]
    cards = hidden_cards(env, seat)
    moved = dict(zip(cards, rng.sample(cards, len(cards)), strict=True))
    new = {CARDS.index(card): CARDS.index(to) for card, to in moved.items()}
    game["pack"] = [new.get(int(card), int(card)) for card in game["pack"]]
    for place in set(range(env.num_players)) - {seat}:
        hand = int(game["hand"][place])
        game["hand"][place] = sum(
            1 << new.get(card, card) for card in range(len(CARDS)) if hand >> card & 1
        )
    other.set_state(other.get_state())
    return other


@every_table
def test_hidden_cards_change_nothing_that_a_seat_sees(rules, num_players):
    env = nap_v0.env(rules, num_players, render_mode="ansi")
    rng = random.Random(6)
    env.reset(seed=11)
    changed = 0
    for _ in range(2):
        env.reset()
        while env._playing:
            for seat, agent in enumerate(env.possible_agents):
                other = permuted(env, seat, rng)
                assert same(env.observe(agent), other.observe(agent))
                assert same(env.infos[agent], other.infos[agent])
                if agent == env.agent_selection:
                    assert env.render() == other.render()
                changed += not np.array_equal(env.state(), other.state())
            env.step(choose(env, rng))
    assert changed


@every_preset
def test_state_holds_what_every_seat_sees(rules, num_players):
    env = nap_v0.env(rules, num_players)
    env.reset(seed=1)
    play_on(env, random.Random(1), steps=5)
    state = env.state()
    assert env.state_space.contains(state)
    rows = state[: num_players * env.layout.size].reshape(num_players, env.layout.size)
    for row, agent in zip(rows, env.possible_agents, strict=True):
        assert same(row, env.observe(agent)["observation"])


# Fresh arrays.


@both
def test_no_array_is_shared_or_changes_later(factory):
    env = factory()
    rng = random.Random(1)
    env.reset(seed=1)
    kept = []
    for _ in range(25):
        if not env._playing:
            env.reset()
        now = [env.last(), env.last(), *(env.observe(agent) for agent in env.agents), env.infos]
        now = [*arrays(*now[0], now[1][0], *now[2:])]
        now = list({id(array): array for array in now}.values())
        kept += [(array, array.copy()) for array in [*now, env.state()]]
        env.step(choose(env, rng))
    inside = [env._desk, env._game.games]
    for number, (array, before) in enumerate(kept):
        assert np.array_equal(array, before)
        assert not any(np.shares_memory(array, own) for own in inside)
        assert not any(np.shares_memory(array, other) for other, _ in kept[number + 1 :])


@both
def test_changing_what_was_returned_changes_no_game(factory):
    env, twin = factory(), factory()
    rng = random.Random(2)
    env.reset(seed=3)
    twin.reset(seed=3)
    while env._playing:
        action = choose(env, rng)
        for array in arrays(*env.last(), env.infos, *map(env.observe, env.agents), env.state()):
            array[...] = 1
        for agent in env.agents:
            assert same(env.observe(agent), env.observe(agent))
            assert same(env.observe(agent), twin.observe(agent))
        env.step(action)
        twin.step(action)
        assert same(env.infos, twin.infos)
    assert env.rewards == twin.rewards


@both
def test_info_of_last_is_the_info_of_infos(factory):
    env = factory()
    env.reset(seed=1)
    assert env.last()[-1] is env.infos[env.agent_selection] is env.last()[-1]


def test_observation_of_a_stranger_is_refused():
    env = nap_v0.env()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="agent 'player_4': there are player_0, player_1"):
        env.observe("player_4")


def test_info_has_the_exact_chips_where_the_observation_saturates():
    env = nap_v0.env("pool_nap", 4)
    env.reset(options={"pool": 5000, "scores": [1000, -1000, 3, -3]})
    info = env.last()[-1]
    assert info["pool"] == 5000 + 2  # the dealer's ante
    assert info["scores"] == (1000, -1000, 3, -3)
    observation = env.observe("player_0")["observation"]
    assert observation[env.layout.slice("pool")] == 127
    assert observation[env.layout.slice("scores")][:4].tolist() == [127, -128, 3, -3]


# Seeds, copies.


@both
def test_seed_gives_the_deal_and_no_seed_goes_on(factory):
    env = factory()
    deals = []
    for _ in range(2):
        env.reset(seed=12)
        first = env.record()["hands"]
        env.reset()
        deals.append((first, env.record()["hands"]))
    assert deals[0] == deals[1]
    assert deals[0][0] != deals[0][1]
    one, other = factory(), factory()
    one.reset()
    other.reset()
    assert one.record()["hands"] != other.record()["hands"]
    with pytest.raises(ValueError, match="seed=-1"):
        env.reset(seed=-1)


@every_preset
def test_seed_deals_what_game_0_of_a_batch_gets(rules, num_players):
    env = nap_v0.env(rules, num_players)
    games = Batch(rules, num_players, 3, seed=8)
    env.reset(seed=8)
    assert same(env.last()[0]["observation"], games.observation[0])
    assert env.record() == games.record(0)


def test_seed_deals_the_same_in_another_process():
    code = "import nap_env; e = nap_env.nap_v0.env(); e.reset(seed=5); print(e.record())"
    root = Path(nap_env.__file__).parent.parent
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    env = nap_v0.env()
    env.reset(seed=5)
    assert run.stdout.strip() == str(env.record())


@both
def test_global_random_state_is_neither_used_nor_changed(factory):
    def play(disturb):
        env = factory()
        env.reset(seed=4)
        seen = []
        while env._playing:
            if disturb:
                np.random.seed(1)
                random.seed(1)
            seen.append(env.state().tobytes())
            env.step(int(legal(env)[0]))
        return seen

    np.random.seed(77)
    random.seed(77)
    before = str(np.random.get_state()), random.getstate()
    undisturbed = play(disturb=False)
    assert (str(np.random.get_state()), random.getstate()) == before
    assert play(disturb=True) == undisturbed


def test_no_module_uses_global_random_functions():
    allowed = "SeedSequence|Generator|default_rng|PCG64|Philox|SFC64|BitGenerator"
    banned = re.compile(
        rf"(np|numpy)\.random\.(?!({allowed})\b)|(?<![\w.])random\.[a-z_]+\("
        r"|from (numpy\.)?random import (?!Random\b)"
    )
    found = [
        f"{path}: {line}"
        for path in Path(nap_env.__file__).parent.rglob("*.py")
        for line in path.read_text().splitlines()
        if banned.search(line)
    ]
    assert not found


def copies(env):
    """The ways to copy a table."""
    twin = type(env)(env.rules, env.num_players)
    twin.set_state(env.get_state())
    return [copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env.clone(), twin]


@both
@pytest.mark.parametrize(("rules", "num_players"), [("standard", 4), ("pub", 3), ("thirty", 2)])
def test_copy_at_any_decision_plays_on_alike(factory, rules, num_players):
    env = factory(rules, num_players, options={"deals": 2, "target": None})
    env.reset(seed=21)
    rng = random.Random(1)
    while env._playing:
        twins = copies(env)
        before = env.state().tobytes(), env.record(), env.agent_selection, dict(env.rewards)
        played = [play_on(twin, random.Random(7)) for twin in twins[1:]]
        assert (env.state().tobytes(), env.record(), env.agent_selection, env.rewards) == before
        assert same(env.last()[0], twins[0].last()[0]) and same(env.infos, twins[0].infos)
        assert env._cumulative_rewards == twins[0]._cumulative_rewards
        played.append(play_on(twins[0], random.Random(7)))
        assert all(game == played[0] for game in played)
        for twin in twins:
            twin.reset()
        assert len({str(twin.record()) for twin in twins}) == 1
        env.step(choose(env, rng))
    for twin in copies(env):
        assert twin.rewards == env.rewards and twin.terminations == env.terminations
        assert [twin.step(None) for _ in twin.agent_iter()] == [None] * num_players
    assert env.agents == env.possible_agents


def test_unpickled_table_plays_on_its_own():
    env = nap_v0.env()
    env.reset(seed=2)
    twin = copy.deepcopy(env)
    env.step(int(legal(env)[0]))
    assert not np.shares_memory(env._observation, twin._observation)
    assert np.shares_memory(twin._observation, twin._desk)
    assert len(twin.record()["events"]) == 0
    assert len(nap_v0.env().clone().possible_agents) == 4  # before reset, too


def test_state_can_be_set_again_and_again():
    env = nap_v0.env()
    env.reset(seed=6)
    state = env.get_state()
    games = [play_on(env, random.Random(1))]
    for _ in range(3):
        env.set_state(state)
        games.append(play_on(env, random.Random(1)))
    assert all(game == games[0] for game in games)


def test_state_of_another_table_is_refused():
    env = nap_v0.env()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="num_players=4: this table has 3"):
        nap_v0.env(num_players=3).set_state(env.get_state())
    with pytest.raises(ValueError, match=r"state of rules=.*this table has"):
        nap_v0.env(options={"must_trump": True}).set_state(env.get_state())


# Deals set up in reset.


@examples
def test_record_may_stop_anywhere(record):
    env = of_record(record)
    for count in range(len(record["events"])):
        env.reset(options={"record": {**record, "events": record["events"][:count]}})
        assert env.agent_selection == f"player_{record['events'][count][0]}"
        assert sorted(ACTIONS[action] for action in legal(env)) == record["legal"][count]
        assert env.record()["events"] == record["events"][:count]
        assert not any(env.rewards.values()) and not any(env.terminations.values())


@examples
def test_complete_record_leaves_everybody_terminated_with_the_rewards(record):
    env = at(record)
    assert set(env.terminations.values()) == {True}
    assert set(env.truncations.values()) == {False}
    for key in ("hands", "stock", "pool", "multiplier", "events", "result"):
        assert env.record()[key] == record[key]
    extra = record["result"]["pool"] if env._game.match_over else 0
    paid = record["result"]["payments"]
    assert sum(env.rewards.values()) == sum(paid) + extra
    if not extra:
        assert list(env.rewards.values()) == paid
    left = {}
    for agent in env.agent_iter():
        left[agent] = env.last()[1]
        env.step(None)
    assert len(left) == env.num_players and sum(left.values()) == sum(paid) + extra


@examples
def test_events_of_a_record_can_be_stepped(record):
    env = at(record, 0)
    for seat, name in record["events"]:
        assert env.agent_selection == f"player_{seat}"
        env.step(action_id(name))
    if env._game.match_over:
        assert env.rewards == at(record).rewards
        assert env.record()["result"] == record["result"]


@every_preset
def test_record_of_a_table_sets_up_the_same_position(rules, num_players):
    one_deal = {"deals": 1, "target": None}
    env = nap_v0.env(rules, num_players, options=one_deal)
    other = nap_v0.env(rules, num_players, options=one_deal)
    rng = random.Random(3)
    env.reset(seed=1)
    for _ in range(2):
        env.reset()
        while True:
            other.reset(options={"record": json.loads(json.dumps(env.record()))})
            assert other.record() == env.record()
            if not env._playing:
                break
            assert np.array_equal(other.state(), env.state())
            env.step(choose(env, rng))


def test_each_key_sets_up_its_part_and_the_rest_comes_from_the_seed():
    env = nap_v0.env("pool_nap", 4)
    env.reset(seed=3)
    plain = env.record()
    for key, value in (("dealer", 2), ("pool", 40), ("scores", [5, -5, 1, -1])):
        env.reset(seed=3, options={key: value})
        record = env.record()
        assert record[key] == value
        if key != "dealer":
            # With a given pool `pool_start` is taken as paid.
            ignored = {key: None, "scores": None}
            assert record | ignored == plain | ignored
    for key in ("hands", "stock"):
        env.reset(seed=3, options={key: plain[key]})
        assert env.record()[key] == plain[key]
    hands = [plain["hands"][seat] for seat in (1, 2, 3, 0)]
    env.reset(seed=3, options={"hands": hands})
    assert env.record()["hands"] == hands
    env.reset(seed=3, options={"options": 1})
    assert env.record() == plain


def test_multiplier_can_be_set_where_the_rules_double_the_stakes():
    env = nap_v0.env(options={"all_pass": "double_next"})
    env.reset(options={"record": {**of_e01(env), "multiplier": 2}})
    assert env.rewards == chips(3 * 2 * 3, -2 * 3, -2 * 3, -2 * 3)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"dealler": 1}, "options: unknown ['dealler']; allowed are dealer, hands"),
        ({"dealer": 4}, "dealer=4: 0 to 3 are allowed"),
        ({"dealer": 1.0}, "dealer=1.0"),
        ({"hands": [["AS"]] * 4}, "hands[0]=['AS']"),
        ({"hands": [["AS", "KS", "QS", "JS", "TS"]] * 4}, "card AS"),
        ({"stock": ["2C"]}, "stock=['2C']"),
        ({"pool": 3}, "pool=3: 0 is allowed"),
        ({"multiplier": 2}, "multiplier=2: 1 is allowed"),
        ({"scores": [0, 0]}, "scores=[0, 0]: one score for each of 4"),
        ({"record": E01, "dealer": 1}, "options: dealer beside record"),
        ({"record": 7}, "record=7: a deal record is a mapping"),
        ({"record": {"rules": "standard"}}, "record: the key 'num_players' is missing"),
        ({"record": {**E01, "rules": "pub"}}, "record of rules='pub', options={}: this table"),
        ({"record": {**E01, "options": {"must_trump": True}}}, "options={'must_trump': True}"),
        ({"record": {**E01, "num_players": 5}}, "num_players=5: this table has 4"),
        ({"record": {**E01, "events": 3}}, "record: events=3"),
        ({"record": {**E01, "events": [[0]]}}, "event 0: [0] is not [seat, action name]"),
        ({"record": {**E01, "events": [[1, "pass"]]}}, "event 0: [1, 'pass'], but seat 0 is"),
        ({"record": {**E01, "events": [[0, "fold"]]}}, "event 0: 'fold' is not an action"),
        ({"record": {**E01, "events": [[0, "AS"]]}}, "event 0: seat 0 chose AS"),
        ({"record": {**E01, "events": [*E01["events"], [0, "QH"]]}}, "event 16: action"),
        ("dealer", "options='dealer': a mapping is allowed"),
    ],
)
def test_impossible_set_up_is_refused_and_changes_nothing(options, text):
    env = nap_v0.env()
    with pytest.raises(ValueError, match=re.escape(text)):
        env.reset(options=options)
    assert not hasattr(env, "agents")
    env.reset(seed=1)
    twin = env.clone()
    with pytest.raises(ValueError, match=re.escape(text)):
        env.reset(seed=4, options=options)
    assert play_on(env, random.Random(1)) == play_on(twin, random.Random(1))


def test_illegal_event_of_a_record_is_an_illegal_action():
    with pytest.raises(IllegalActionError, match="event 4: seat 0 chose AC"):
        at({**E01, "events": [*E01["events"][:4], [0, "AC"]]})


# Rendering.


def test_render_shows_only_the_hand_to_move():
    env = at(E01, 3, render_mode="ansi")
    lines = env.render().splitlines()
    assert lines[1:5] == [
        "  seat 0: -- -- -- -- --",
        "  seat 1: -- -- -- -- --",
        "  seat 2: -- -- -- -- --",
        "  seat 3: JH TH KD AC 9C",
    ]
    assert "to move: seat 3" in lines


def test_reveal_shows_every_hand():
    assert "--" not in at(E01, 3, render_mode="ansi", reveal=True).render()


def test_render_shows_every_hand_once_the_deal_is_over():
    text = at(E01, render_mode="ansi").render()
    assert "--" not in text
    assert "0 +9  1 -3  2 -3  3 -3" in text


def test_render_after_an_illegal_action_has_nobody_to_move():
    env = at(E01, 3, render_mode="ansi")
    env.step(action_id("AS"))
    assert "to move: nobody" in env.render()
    assert env.render().count("--") == 15


def test_render_without_a_mode_gives_a_warning():
    env = at(E01, 3)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None
    env.close()
    env.close()


def test_environment_has_pettingzoos_name():
    env = nap_v0.env()
    assert str(env) == "nap_v0" == env.metadata["name"]
    assert env.metadata["is_parallelizable"] is False
    assert env.unwrapped is env


def test_state_holds_the_cards_that_no_seat_sees():
    env = nap_v0.env("peep", 4)
    env.reset(seed=0)
    state, record = env.state(), env.record()
    assert env.state_space.contains(state)
    widow, stock = state[4 * env.layout.size :].reshape(2, -1)
    assert [CARDS[card] for card in np.flatnonzero(widow)] == record["widow"]
    assert [CARDS[card] for card in stock if card >= 0] == record["stock"]
