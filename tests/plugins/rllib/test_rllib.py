"""RLlib's new stack with our module, at tables where all seats learn."""

import warnings

import pytest

from nap_env import Batch

pytest.importorskip("ray", reason="python -m tests.plugins.run rllib")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec
    from ray.tune import register_env

    from nap_env.adapters.rllib import MaskedTorchRLModule, env_creator

pytestmark = pytest.mark.filterwarnings("ignore")  # it deprecates much of itself


@pytest.fixture(scope="module")
def algorithm():
    register_env("nap", env_creator)
    config = PPOConfig().environment("nap", env_config={"rules": "pub", "num_players": 3})
    config.env_runners(num_env_runners=0, batch_mode="complete_episodes")
    config.multi_agent(policies={"all"}, policy_mapping_fn=lambda *_, **__: "all")
    spec = RLModuleSpec(module_class=MaskedTorchRLModule, model_config={"hidden": (16,)})
    config.rl_module(rl_module_spec=spec)
    config.training(train_batch_size_per_learner=200, minibatch_size=100, num_epochs=1)
    algorithm = config.build_algo()
    yield algorithm
    algorithm.stop()


def test_all_chips_reach_the_seat_that_won_them_and_no_action_is_illegal(
    algorithm, record_property
):
    seats = deals = found = paid = 0
    for episode in algorithm.env_runner.sample(num_episodes=40, random_actions=False):
        deals += 1
        table = {}
        for agent, rows in episode.agent_episodes.items():
            actions = rows.get_actions()
            masks = rows.get_observations()["action_mask"][: len(actions)]  # without the end's
            assert (masks[range(len(actions)), actions] == 1).all()
            table[agent] = rows.get_return()
            scores = rows.get_infos(-1)["scores"]
            won = scores[int(agent[-1])]
            assert rows.get_return() == won
            paid, found, seats = paid + abs(won), found + abs(table[agent]), seats + 1
        assert sum(table.values()) == 0
    assert deals >= 40 and seats == 3 * deals and paid > 0
    record_property("share", found / paid)


def test_it_trains_saves_and_predicts(algorithm, tmp_path):
    algorithm.train()
    algorithm.save_to_path(tmp_path)
    parts = ("learner_group", "learner", "rl_module", "all")
    loaded = RLModule.from_checkpoint(tmp_path.joinpath(*parts))
    games = Batch("pub", 3, num_games=64, seed=0)
    arrays = {"observation": games.observation, "action_mask": games.action_mask}
    seen = {"obs": {name: torch.from_numpy(array) for name, array in arrays.items()}}
    learner = algorithm.learner_group._learner.module["all"]
    logits = [one.forward_inference(seen)["action_dist_inputs"] for one in (learner, loaded)]
    assert torch.equal(*logits)
    assert seen["obs"]["action_mask"].gather(1, logits[0].argmax(1, keepdim=True)).all()


def test_arguments_are_those_of_the_environment():
    assert env_creator({"rules": "peep", "num_players": 5}).env.num_players == 5
    with pytest.raises(TypeError, match="player"):
        env_creator({"player": 5})
