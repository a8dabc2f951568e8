"""RLCard's agents at our tables."""

import warnings

import numpy as np
import pytest

pytest.importorskip("rlcard", reason="python -m tests.plugins.run rlcard")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    from rlcard.agents import DQNAgent, NFSPAgent, RandomAgent
    from rlcard.utils import reorganize

    from nap_env.adapters.rlcard import NapEnv

from nap_env import IllegalActionError

MATCH = {"rules": "pub", "num_players": 3, "options": {"deals": 3}}


def test_all_chips_reach_the_seat_that_won_them(record_property):
    env = NapEnv(**MATCH, seed=0)
    env.set_agents([RandomAgent(env.num_actions)] * 3)
    found = paid = 0
    for _ in range(100):
        trajectories, payoffs = env.run(is_training=True)
        assert payoffs.sum() == 0
        for rows, chips in zip(reorganize(trajectories, payoffs), payoffs, strict=True):
            assert sum(row[2] for row in rows) == chips
            found, paid = found + abs(sum(row[2] for row in rows)), paid + abs(chips)
    assert paid > 0
    record_property("share", found / paid)


def test_only_the_seat_to_move_is_told_what_is_legal():
    env = NapEnv(seed=0)
    state, seat = env.reset()
    while not env.is_over():
        legal = [*state["legal_actions"]]
        assert legal and legal == sorted(legal)
        for other in range(4):
            assert bool(env.get_state(other)["legal_actions"]) == (other == seat)
        state, seat = env.step(legal[-1])


def test_seeds_and_names_of_actions():
    first, second = NapEnv(seed=3), NapEnv(seed=3)
    assert (first.reset()[0]["obs"] == second.reset()[0]["obs"]).all()
    assert (first.reset()[0]["obs"] == second.reset()[0]["obs"]).all()  # the streams go on
    first.step("pass", raw_action=True)
    assert first.action_recorder[0][1] == "pass" and first.timestep == 1
    assert first.get_perfect_information()["events"][0][1] == "pass"
    with pytest.raises(IllegalActionError):
        second.step(0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("agent_class", [DQNAgent, NFSPAgent])
def test_its_agents_learn_save_and_play_without_an_illegal_action(agent_class, tmp_path):
    env = NapEnv(seed=0)
    shape = {"num_actions": env.num_actions, "state_shape": env.state_shape[0]}
    if agent_class is DQNAgent:
        agent = DQNAgent(**shape, mlp_layers=[16], replay_memory_init_size=64, train_every=16)
    else:
        small = {"hidden_layers_sizes": [16], "q_mlp_layers": [16]}
        agent = NFSPAgent(
            **shape, **small, min_buffer_size_to_learn=64, q_replay_memory_init_size=64
        )
    env.set_agents([agent, *[RandomAgent(env.num_actions)] * 3])
    for _ in range(60):  # an illegal action would raise
        trajectories, payoffs = env.run(is_training=True)
        for row in reorganize(trajectories, payoffs)[0]:
            agent.feed(row)
    torch.save(agent.checkpoint_attributes(), tmp_path / "agent.pt")
    loaded = agent_class.from_checkpoint(torch.load(tmp_path / "agent.pt", weights_only=False))
    state, _ = env.reset()
    np.testing.assert_equal(*(one.eval_step(state)[1] for one in (agent, loaded)))
    env.run(is_training=False)
