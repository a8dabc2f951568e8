"""TorchRL's wrappers of both kinds of environments, and rewards put where they belong."""

from time import process_time

import gymnasium
import pytest
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.envs import GymWrapper, PettingZooWrapper
from torchrl.envs.utils import check_env_specs

from nap_env import nap_v0
from nap_env.adapters.torchrl import credit_last_decision

torch.set_num_threads(1)  # for small networks more threads only wait for each other
ID = "nap_env:nap/Nap-v0"


@pytest.fixture
def table():
    with pytest.warns(UserWarning):  # it has been tried with another version of PettingZoo only
        env = PettingZooWrapper(nap_v0.env("pub", 5), use_mask=True)
    env.set_seed(0)
    return env


@pytest.mark.filterwarnings("ignore:.*an illegal action")  # it looks at no mask here
def test_the_librarys_checker_is_content(table):
    check_env_specs(table)
    arguments = {"autoreset_mode": "Disabled", "mask_in": "obs", "illegal": "random"}
    tables = gymnasium.make_vec(ID, num_envs=4, **arguments)
    check_env_specs(GymWrapper(tables, categorical_action_encoding=True))


def test_all_chips_reach_the_decisions_of_the_seat_that_won_them(table, record_property):
    rollout = table.rollout(300, break_when_any_done=False)
    before = rollout.clone()
    credited = credit_last_decision(rollout, table.group_map)
    assert (rollout == before).all()  # it is not changed
    found = paid = 0.0
    for group in table.group_map:
        decides = rollout[group, "mask"].unsqueeze(-1)
        last = int(rollout["next", "done"].squeeze(-1).nonzero()[-1]) + 1
        old, new = (rows["next", group, "reward"][:last] for rows in (rollout, credited))
        paid += float(old.abs().sum())
        found += float(new[decides[:last]].abs().sum())
        assert not new[~decides[:last]].any()
        for name in ("done", "terminated"):
            ends, moved = (rows["next", group, name][:last] for rows in (rollout, credited))
            assert moved.sum() == ends.sum() and not moved[~decides[:last]].any()
    assert paid > 0
    record_property("share", found / paid)
    assert found == paid


def test_a_decision_has_what_comes_before_the_next_one_and_nothing_of_another_episode():
    rows = {
        "mask": [True, False, True, False, False, True],
        "reward": [0.0, 1.0, 0.0, 5.0, 7.0, 3.0],
        "done": [False, False, False, True, True, False],
    }
    given = {name: torch.tensor(row).view(6, 1) for name, row in rows.items()}
    paid = {name: given[name].unsqueeze(-1) for name in ("reward", "done")}
    paid |= {"terminated": paid["done"], "truncated": torch.zeros_like(paid["done"])}
    rollout = TensorDict({"a": {"mask": given["mask"]}, "next": {"a": paid}}, batch_size=[6])
    credited = credit_last_decision(rollout, ["a"])["next", "a"]
    # The seven chips of the second episode find no decision in it.
    assert credited["reward"].flatten().tolist() == [1, 0, 5, 0, 0, 3]
    assert credited["done"].flatten().tolist() == [False, False, True, False, False, False]
    assert not credited["truncated"].any()
    with pytest.raises(ValueError, match=r"rollout has no mask of b: PettingZooWrapper\(use_mask"):
        credit_last_decision(rollout, ["b"])


@pytest.mark.filterwarnings("error:.*an illegal action")
def test_a_masked_policy_plays_saves_and_loads_without_an_illegal_action(tmp_path):
    tables = gymnasium.make_vec(ID, num_envs=8, autoreset_mode="Disabled", mask_in="obs")
    env = GymWrapper(tables, categorical_action_encoding=True)
    net = torch.nn.Linear(tables.layout.size, 78)
    torch.save(net.state_dict(), tmp_path / "net.pt")
    loaded = torch.nn.Linear(tables.layout.size, 78)
    loaded.load_state_dict(torch.load(tmp_path / "net.pt"))

    def best(seen, mask):
        return loaded(seen.float()).masked_fill(mask == 0, -1e9).argmax(-1)

    policy = TensorDictModule(best, ["observation", "action_mask"], ["action"])
    rollout = env.rollout(60, policy, break_when_any_done=False)
    assert rollout["action_mask"].gather(-1, rollout["action"].unsqueeze(-1)).all()
    assert rollout["next", "done"].sum() > 8
    assert rollout["next", "reward"].any()


@pytest.mark.slow
def test_many_tables_are_twenty_times_as_fast_as_the_wrapper_of_one(table, record_property):
    def rate(env, steps, policy=None):
        env.rollout(5, policy, break_when_any_done=False)
        start = process_time()
        env.rollout(steps, policy, break_when_any_done=False)
        return steps * env.batch_size.numel() / (process_time() - start)

    arguments = {"autoreset_mode": "Disabled", "mask_in": "obs", "opponents": "random"}
    tables = GymWrapper(
        gymnasium.make_vec(ID, num_envs=256, **arguments), categorical_action_encoding=True
    )
    first = TensorDictModule(lambda mask: mask.argmax(-1), ["action_mask"], ["action"])
    ratio = rate(tables, 200, first) / rate(table, 400)
    record_property("speed", ratio)
    assert ratio >= 20
