"""Nap for RLCard's agents: an environment of its kind.

env = NapEnv("pub", num_players=5)
env.set_agents([agent] * 5)
trajectories, payoffs = env.run(is_training=True)
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nap_env import nap_v0
from nap_env.actions import ACTIONS, NUM_ACTIONS
from nap_env.adapters.extra import needs
from nap_env.rules import Rules

with needs("rlcard"):
    from rlcard.envs import Env


class NapEnv(Env):
    """A table of Nap; a game is one match.

    A state holds `obs`, int8 (K,), and `legal_actions`, which is empty for a seat that is not to
    move. Payoffs are the chips that each seat has won in the match.

    Attributes:
        agents: by seat, see `set_agents`.
        num_players: seats.
        num_actions: 78.
        state_shape: of each seat's `obs`.
        action_shape: None for each seat: actions have no features.
        timestep: actions taken so far.
    """

    name = "nap"

    def __init__(
        self,
        rules: str | Rules = "standard",
        num_players: int = 4,
        *,
        options: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        """Set the table; `reset` deals.

        Args:
            rules: a preset's name, or rules.
            num_players: players at the table.
            options: changes to the rules, as in a deal record.
            seed: of the deals.

        Raises:
            ValueError: an argument that is not allowed.
        """
        self._table = nap_v0.raw_env(rules, num_players, options=options)
        self.game = self  # `run` asks the game whether it is over
        self.allow_step_back = False
        self.num_players, self.num_actions = self._table.num_players, NUM_ACTIONS
        self.state_shape = [[self._table.layout.size]] * self.num_players
        self.action_shape = [None] * self.num_players
        self.timestep = 0
        self.action_recorder: list[tuple[int, str]] = []
        self.seed(seed)

    def seed(self, seed: int | None = None) -> None:
        """Let the next `reset` restart the deals; None: they go on."""
        self._seed = seed

    def reset(self) -> tuple[dict[str, Any], int]:
        """Begin a new match; return the first state and whose it is."""
        self._table.reset(seed=self._seed)
        self._seed = None
        self.action_recorder = []
        return self._now()

    def step(self, action: int, raw_action: bool = False) -> tuple[dict[str, Any], int]:
        """Let the seat to move take an action; return the next state and whose it is.

        Args:
            action: an id, or a name with `raw_action`.
            raw_action: whether it is a name.

        Raises:
            IllegalActionError: it is not legal. Nothing is changed.
        """
        seat, number = self.get_player_id(), ACTIONS.index(action) if raw_action else action
        self._table.step(number)
        self.timestep += 1
        self.action_recorder.append((seat, ACTIONS[number]))
        return self._now()

    def is_over(self) -> bool:
        """Return whether the match is over."""
        return not self._table._playing

    def get_player_id(self) -> int:
        """Return the seat to move."""
        return int(self._table.possible_agents.index(self._table.agent_selection))

    def get_state(self, player_id: int) -> dict[str, Any]:
        """Return what a seat sees."""
        seen = self._table.observe(self._table.possible_agents[player_id])
        legal = np.flatnonzero(seen["action_mask"]).tolist()
        return {
            "obs": seen["observation"],
            "legal_actions": OrderedDict.fromkeys(legal),
            "raw_obs": seen["observation"],
            "raw_legal_actions": [ACTIONS[action] for action in legal],
            "action_record": self.action_recorder,
        }

    def get_payoffs(self) -> npt.NDArray[np.int64]:
        """Return the chips that each seat has won in the match, int64 (P,)."""
        return np.array(self._table.infos["player_0"]["scores"], np.int64)

    def get_perfect_information(self) -> dict[str, Any]:
        """Return the deal as a record, all hands included."""
        record: dict[str, Any] = self._table.record()
        return record

    def _now(self) -> tuple[dict[str, Any], int]:
        seat = self.get_player_id()
        return self.get_state(seat), seat
