"""Nap as a Gymnasium environment: one seat learns, the other seats are played by opponents.

An episode is one match, which is one deal unless the rules say otherwise.
"""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from nap_env.actions import NUM_ACTIONS
from nap_env.envs.form import Form
from nap_env.envs.vector import (
    BEGINS,
    DECIDES,
    MOVES,
    STANDS,
    Opponents,
    Tables,
)
from nap_env.game import Cloneable, hash_seed
from nap_env.picture import RENDER_FPS, RENDER_MODES, Screen
from nap_env.rules import Rules, flag
from nap_env.words import names_arguments


class NapEnv(Cloneable, gymnasium.Env[Any, Any]):
    """A table of Nap at which one seat learns.

    The observation is `{"observation": int8 (K,), "action_mask": int8 (78,)}`; the layout is
    `nap_env.observation.FIELDS`, what the actions mean is `nap_env.actions.ACTIONS`. The info holds

    * `action_mask`: int8 (78,), all zero at the end of the episode;
    * `seat`: the learner's seat;
    * `scores`: int64 (P,), chips that each seat, from seat 0 on, has won in the match so far;
    * `pool`: chips in the pool;
    * `earned`: chips that the learner won before its first decision, which no reward brings. After
      a decision it is 0.

    The reward is what the learner's chips changed since its last decision. Chips change hands when
    a deal ends: `pool_start` comes with the first deal of a match, the shares of the pool with the
    last one. An illegal action ends the episode, and costs what the dearest bid of the rules costs
    at single stakes. Deals in which the learner has no decision (a dealer who sits out) are played
    to their end without it; if a whole match goes by so, the next one begins within the same
    `reset`.

    An opponent is a name for `nap_env.agents.make`, or an agent, see `nap_env.agents.Agent`:
    `agents.from_policy` makes one of a function of observations int8 (n, K) and action masks int8
    (n, 78), here of one row. A mixture `{"heuristic": 3, "random": 1}` gives players weights; one
    of them is drawn for each match and seat. Shipped agents draw from the game's own random stream.
    An EnvSpec with an agent that is not a name cannot be turned into JSON.

    Every array is new. `copy.deepcopy` and `pickle` keep the whole game.

    Version history:
        v0: first version.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's name and type
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }

    @names_arguments
    def __init__(
        self,
        rules: str | Rules | Mapping[str, Any] = "standard",
        num_players: int = 4,
        opponents: Opponents | Sequence[Opponents] = "heuristic",
        seat: int | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        mask_in: str = "both",
        flat_obs: bool = False,
        illegal: str = "terminate",
        observation_layout: str = "fixed",
        render_mode: str | None = None,
        reveal: bool = False,
    ) -> None:
        """Set the table; `reset` deals.

        Args:
            rules: a preset's name, or rules, or the mapping that an EnvSpec makes of rules.
            num_players: P, players at the table.
            opponents: a player or a mixture for all other seats, or a list of one for each,
                clockwise from the learner's left.
            seat: the learner's seat, None draws one for each match.
            options: changes to the rules, as in a deal record.
            mask_in: where the action mask is: in the observation (`obs`), in the info, or `both`.
            flat_obs: the observation is the plain int8 array, and the mask is in the info only.
            illegal: what an illegal action does: `terminate` ends the episode at a price, at
                `random` a random legal action is played instead. Either warns once.
            observation_layout: `fixed` for these rules and players, or `full`, one for all.
            render_mode: None, or what `render` does: `ansi` returns text, `svg` a picture for
                notebooks, `rgb_array` one of pixels, `human` shows it in a window, which `reset`
                and `step` do by themselves.
            reveal: `render` shows all hands, not only the learner's.

        Raises:
            ValueError: an argument that is not allowed.
            ModuleNotFoundError: pictures are asked for, and pygame is not installed.
        """
        self._screen = Screen(render_mode)
        self._tables = Tables(
            1, rules, num_players, opponents, seat, options, illegal, observation_layout
        )
        self._form = Form(self._tables.layout.size, mask_in, flat_obs)
        self._reveal = flag("reveal", reveal)
        self.render_mode = render_mode
        self.rules, self.num_players = self._tables.rules, self._tables.num_players
        self.layout = self._tables.layout
        self.observation_space = self._form.space
        self.action_space = spaces.Discrete(NUM_ACTIONS)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Deal the first deal of a new match and play up to the learner's first decision.

        Args:
            seed: restarts the random streams; without it they go on, from fresh entropy at first.
            options: sets up a deal; what is not given comes from the stream. The keys are those of
                a deal record: `dealer`, `hands`, `widow`, `stock`, `pool`, `multiplier`, `scores`.
                Or `record`, a whole deal record of these rules and players: the opponents then
                play on after its events. A complete one is followed by a new deal.

        Raises:
            ValueError: a seed, a key or a deal that is not possible. The game is then unchanged.
            IllegalActionError: an event of the record is illegal, and the game is unchanged; or an
                opponent's action is.
        """
        tables = self._tables
        key = None if seed is None else hash_seed(seed)
        fresh = options is None or (isinstance(options, Mapping) and not options)
        if not fresh:
            game = tables.game(0)
            game.set_up_as(key, options)
            tables.games[:] = game.games
        elif key is not None:
            tables.seed(np.zeros(1, np.intp), np.array([key]))
        super().reset(seed=None if seed is None else int(seed))
        tables.play(BEGINS if fresh else STANDS)
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Let the learner take an action, and play on until it is to move again.

        Args:
            action: an integer of any type.

        Raises:
            ResetNeeded: before `reset`, or after the end of the episode.
            IllegalActionError: not an action, and nothing is changed; or an opponent's illegal
                action, then `reset` is needed.
        """
        tables = self._tables
        if tables.status[0] != DECIDES:
            raise ResetNeeded("step: call reset() first; no episode is going on")
        try:
            number = -1 if isinstance(action, bool) else operator.index(action)
        except TypeError:
            number = -1
        if not 0 <= number < NUM_ACTIONS:
            raise tables.game(0).illegal(action)
        tables.play(MOVES, number)
        terminated = bool(tables.told.terminated[0])
        truncated = bool(tables.told.truncated[0])
        reward = float(tables.told.rewards[0])
        if self.render_mode == "human":
            self.render()
        return self._observation(), reward, terminated, truncated, self._info()

    def _observation(self) -> Any:
        told = self._tables.told
        return self._form.of(told.observation[0].copy(), told.action_mask[0].copy())

    def _info(self) -> dict[str, Any]:
        told = self._tables.told
        info = {
            "seat": int(told.seat[0]),
            "scores": told.scores[0].copy(),
            "pool": int(told.pool[0]),
            "earned": int(told.earned[0]),
        }
        if self._form.mask_in_info:
            info["action_mask"] = told.action_mask[0].copy()
        return info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return what the learner may do, bool (78,), as sb3-contrib asks for it."""
        mask: npt.NDArray[np.bool_] = self._tables.action_masks()[0]
        return mask

    def record(self) -> dict[str, Any]:
        """Return the deal so far as a record, with its result once it is over."""
        return self._tables.game(0).record()

    def reseed(self, seed: int | None) -> None:
        """Give all that is still random another future, see `Cloneable.reseed`."""
        self._tables.reseed(seed)

    def determinize(self, seat: int, seed: int | None = None) -> None:
        """Deal anew, at this table, all that a seat cannot see, see `nap_env.Game.determinize`."""
        self._tables.determinize(seat, seed)

    def render(self) -> Any:
        """Show the table, with the learner's cards; `render_mode` says how.

        All hands are shown once the deal is over, or always if `reveal` is set.

        Returns:
            Text (`ansi`, `svg`), a picture, uint8 (HEIGHT, WIDTH, 3) (`rgb_array`), or None
            (`human`).
        """
        return self._tables.show(0, self._screen, self._reveal)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._screen.close()
