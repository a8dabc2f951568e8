"""Nap as a PettingZoo parallel environment: every seat is shown every decision, one of them moves.

It is a view of `nap_env.envs.aec.NapEnv`, for libraries that know parallel environments only.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import ParallelEnv

from nap_env.envs.aec import NapEnv, OrderError
from nap_env.game import Cloneable

Results = tuple[
    dict[str, Any], dict[str, int], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
]
"""By agent: observations, rewards, terminations, truncations and infos."""


class NapParallelEnv(Cloneable, ParallelEnv):  # type: ignore[misc]
    """A table of Nap at which all are asked at once and one action counts.

    `agent_selection` is the agent to move, the only one whose action mask
    is not all zero. `step` takes its action; what the others send is
    ignored, whatever it is, and they may be left out. Every step gives
    something to every agent: observation, reward, whether it is terminated
    or truncated, and info, all as `nap_env.envs.aec.NapEnv` gives them. A
    reward is what the agent was paid in this step, whoever moved.

    The match ends for all agents in the same step, in which all of them are
    still given what the table looks like, with masks that are all zero;
    from then on `agents` is empty. Observations, infos, copies and what an
    illegal action does are as in `NapEnv`, whose arguments the constructor
    takes.

    Attributes:
        rules, num_players: as they say.
        layout: where the fields of an observation stand.
        state_space: what `state` returns.
    """

    metadata: dict[str, Any] = NapEnv.metadata

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Set the table with the arguments of `NapEnv`; `reset` deals.

        Raises:
            ValueError: an argument that is not allowed.
        """
        self._env = NapEnv(*args, **kwargs)
        self.rules, self.num_players = self._env.rules, self._env.num_players
        self.layout = self._env.layout
        self.render_mode = self._env.render_mode
        self.possible_agents = self._env.possible_agents
        self.observation_spaces = self._env.observation_spaces
        self.action_spaces = self._env.action_spaces
        self.state_space = self._env.state_space

    @property
    def agents(self) -> list[str]:
        """The agents of the match, by seat; none once it has ended."""
        agents: list[str] = self._env.agents
        return agents

    @property
    def agent_selection(self) -> str:
        """The agent whose action the next `step` takes.

        Raises:
            OrderError: before `reset`, or after the end of the match.
        """
        if not self.agents:
            raise OrderError("agent_selection: the match has ended; call reset()")
        agent: str = self._env.agent_selection
        return agent

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the observation space, one object for all agents."""
        return self._env.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the action space, one object for all agents."""
        return self._env.action_space(agent)

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Deal the first deal of a new match.

        Args:
            seed: restarts the random stream of the deals; without it the
                stream goes on.
            options: sets up a deal by the keys `dealer`, `hands`, `widow`,
                `stock`, `pool`, `multiplier`, `scores`, or `record`, as in
                `NapEnv.reset`. A record of a complete deal leaves no
                `agents`; what they see of it is returned, and what it paid
                is in `record`.

        Returns:
            Observations and infos, by agent.

        Raises:
            ValueError: a seed, a key or a deal that is not possible. The
                game is then unchanged.
            IllegalActionError: an event of the record is illegal. The game
                is then unchanged.
        """
        self._env.reset(seed=seed, options=options)
        observations, *_, infos = self._results()
        return observations, infos

    def step(self, actions: Mapping[str, Any]) -> Results:
        """Let the agent to move take its action.

        Args:
            actions: an integer for `agent_selection`; other agents' entries
                are ignored.

        Returns:
            Observations, rewards, terminations, truncations and infos, by
            agent. Once the match has ended there is no agent, so that
            `step({})` gives five empty dictionaries.

        Raises:
            OrderError: before `reset`, or actions after the end of the
                match.
            ValueError: the action of the agent to move is missing. Nothing
                is changed.
            OutOfBoundsError: its action is not one. Nothing is changed.
        """
        if self.agents or actions:
            agent = self.agent_selection
            if not isinstance(actions, Mapping) or agent not in actions:
                raise ValueError(f"actions={actions!r}: {agent} is to move, its action is missing")
            self._env.step(actions[agent])
        return self._results()

    def _results(self) -> Results:
        """Return what everybody is given now; if the match has ended, all leave."""
        env = self._env
        observations = {agent: env.observe(agent) for agent in env.agents}
        results = dict(env.rewards), dict(env.terminations), dict(env.truncations), dict(env.infos)
        if any(env.terminations.values()) or any(env.truncations.values()):
            for _ in env.possible_agents:
                env.step(None)
        return observations, *results

    def state(self) -> npt.NDArray[np.int8]:
        """Return everything that the seats see, as `NapEnv.state` does."""
        return self._env.state()

    def record(self) -> dict[str, Any]:
        """Return the deal so far as a record, with its result once it is over."""
        return self._env.record()

    def reseed(self, seed: int | None) -> None:
        """Give what is still random another future, as `Cloneable` says."""
        self._env.reseed(seed)

    def determinize(self, seat: int, seed: int | None = None) -> None:
        """Deal anew all that a seat cannot see, see `Game.determinize`."""
        self._env.determinize(seat, seed)

    def render(self) -> Any:
        """Return or show the table, as `NapEnv.render` does."""
        return self._env.render()

    def close(self) -> None:
        """Close what `render` has opened."""
        self._env.close()
