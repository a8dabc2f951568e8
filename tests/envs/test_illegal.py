"""What all environments that take an illegal action do about it."""

import warnings

import pytest

from nap_env import nap_v0
from nap_env.envs.illegal import warn_of_illegal_action
from nap_env.envs.single import NapEnv


def forget_the_mask_of_aec(seed, illegal):
    env = nap_v0.env(illegal=illegal)
    env.reset(seed=seed)
    env.step(int(env.last()[0]["action_mask"].argmin()))


def forget_the_mask_of_single(seed, illegal):
    env = NapEnv(illegal=illegal)
    env.reset(seed=seed)
    env.step(env.action_masks().argmin())


@pytest.mark.parametrize("illegal", ["terminate", "random"])
@pytest.mark.parametrize("forget", [forget_the_mask_of_aec, forget_the_mask_of_single])
def test_an_illegal_action_warns_once(forget, illegal):
    warn_of_illegal_action.cache_clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for seed in range(3):
            forget(seed, illegal)
    [text] = (str(one.message) for one in told)
    assert ("ended the match" in text) == (illegal == "terminate")
    assert "choose by the action mask" in text
