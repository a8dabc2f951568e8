"""Nap as a PettingZoo AEC environment: one agent a seat, one decision a step.

The agents are `player_0` to `player_{n-1}`, by seat. An episode is one match, which is one deal
unless the rules say otherwise: after a deal inside a match everybody's chips are paid as rewards
and the next deal is dealt. All agents end together, at the end of the match.
"""

import copy
from collections.abc import Iterator, Mapping
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv

from nap_env.actions import NUM_ACTIONS, IllegalActionError
from nap_env.cards import NUM_CARDS
from nap_env.envs.form import Form
from nap_env.envs.illegal import plays_on, warn_of_illegal_action
from nap_env.game import (
    CUT_OFF,
    DEAL_OVER,
    ILLEGAL,
    Cloneable,
    Game,
    hash_seed,
    look,
    open_table,
    take,
)
from nap_env.observation import layout
from nap_env.picture import RENDER_FPS, RENDER_MODES, Screen
from nap_env.presets import resolve
from nap_env.rules import Rules, flag, seated
from nap_env.words import names_arguments


class OrderError(AttributeError, AssertionError):
    """A call before `reset`, or after the last agent has left.

    PettingZoo's order enforcing wrapper raises one base class or the other.
    """


class OutOfBoundsError(IllegalActionError, AssertionError):
    """An action that is not in the action space; PettingZoo's wrapper raises AssertionError."""


class _FromReset:
    """An attribute that `reset` makes: until then, reading it raises OrderError.

    A `__getattr__` would do the same, but slows down every other attribute.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name.lstrip("_")

    def __get__(self, env: object, owner: type | None = None) -> Any:
        if env is None:
            return self
        raise OrderError(f"call reset() first: before it there is no {self._name}")


def _from_reset() -> Any:
    return _FromReset()


class RawNapEnv(Cloneable, AECEnv):  # type: ignore[misc]
    """A table of Nap; an illegal action raises an error and changes nothing.

    `observe` and `last` give a dictionary of `observation`, int8 (K,), and
    `action_mask`, int8 (A,). The layout of the observation is
    `nap_env.observation.FIELDS`, what the actions mean is
    `nap_env.actions.ACTIONS`. `infos[agent]` holds

    * `scores`: chips that each seat, from seat 0 on, has won in the match
      so far;
    * `pool`: chips in the pool (the observation has these numbers cut off
      at the ends of int8);
    * `action_mask`: int8 (A,), if `mask_in` says so.

    The mask of an agent that is not to move is all zero. Every array is
    new: none changes later, and changing one does not change the game.
    `copy.deepcopy` and `pickle` keep the whole game.

    Attributes:
        rules, num_players: as they say.
        layout: where the fields of an observation stand.
        state_space: what `state` returns.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's name and type
        "name": "nap_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "is_parallelizable": False,
    }

    agents: list[str] = _from_reset()
    agent_selection: str = _from_reset()
    rewards: dict[str, int] = _from_reset()
    terminations: dict[str, bool] = _from_reset()
    truncations: dict[str, bool] = _from_reset()
    _game: Game = _from_reset()
    _games: npt.NDArray[np.void] = _from_reset()

    _SNAPSHOT = (
        *("agents", "agent_selection", "rewards", "_cumulative_rewards"),
        *("terminations", "truncations", "_playing", "_paid", "_scores"),
    )

    @names_arguments
    def __init__(
        self,
        rules: str | Rules = "standard",
        num_players: int = 4,
        *,
        options: Mapping[str, Any] | None = None,
        mask_in: str | None = None,
        flat_obs: bool = False,
        observation_layout: str = "fixed",
        render_mode: str | None = None,
        reveal: bool = False,
    ) -> None:
        """Set the table; `reset` deals.

        Args:
            rules: a preset's name, or rules.
            num_players: players at the table.
            options: changes to the rules, as in a deal record.
            mask_in: where the action mask is: in the observation (`obs`,
                unless it is flat), in the `info`, or in `both`.
            flat_obs: the observation is the plain int8 array, and the mask
                is in the info only.
            observation_layout: `fixed` for these rules and players, or
                `full`, one for all.
            render_mode: None, or what `render` does: `ansi` returns text,
                `svg` a picture for notebooks, `rgb_array` one of pixels,
                `human` shows it in a window, which `reset` and `step` do by
                themselves.
            reveal: `render` shows all hands, not only that of the seat to
                move.

        Raises:
            ValueError: an argument that is not allowed.
            ModuleNotFoundError: pictures are asked for, and pygame is not
                installed.
        """
        self._screen = Screen(render_mode)
        self.rules = resolve(rules, options)
        self.num_players = num_players = seated(self.rules, num_players)
        self.render_mode = render_mode
        self.layout = layout(self.rules, num_players, observation_layout)
        self._observation_layout = observation_layout
        self._reveal = flag("reveal", reveal)
        self._form = Form(self.layout.size, mask_in, flat_obs)
        self.possible_agents = [f"player_{seat}" for seat in range(num_players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._make_spaces()
        self._cumulative_rewards: dict[str, int] = {}
        self._infos: dict[str, dict[str, Any]] = {}
        self._shown: str | None = None
        self._playing = False

    def _make_spaces(self) -> None:
        unseen = 2 * NUM_CARDS * self.rules.exchanges
        size = self.num_players * self.layout.size + unseen
        self.state_space = spaces.Box(-128, 127, (size,), np.int8)
        self.observation_spaces = dict.fromkeys(self.possible_agents, self._form.space)
        action = spaces.Discrete(NUM_ACTIONS)
        self.action_spaces = dict.fromkeys(self.possible_agents, action)

    def _sit_at(self, game: Game) -> None:
        """Take a game; views of its arrays are several times faster than to ask for them."""
        self._game = game
        self._games, self._desk = game.games, game.desk
        self._observation, self._mask = game.observation, game.action_mask
        self._pool = game.games["pool"]
        self._chips = game.games["scores"][0, : self.num_players]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the observation space, one object for all agents."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the action space, one object for all agents."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Deal the first deal of a new match.

        Args:
            seed: restarts the random stream of the deals; without it the
                stream goes on, after fresh entropy at the first `reset`.
            options: sets up a deal; what is not given comes from the
                stream. The keys are those of a deal record: `dealer`,
                `hands`, `widow`, `stock`, `pool`, `multiplier`, `scores`.
                Or `record`, a whole deal record of these rules and players:
                the game then stands after its events. A record of a
                complete deal leaves every agent terminated, with the deal's
                reward. The key `options` is ignored.

        Raises:
            ValueError: a seed, a key or a deal that is not possible. The
                game is then unchanged.
            IllegalActionError: an event of the record is illegal. The game
                is then unchanged.
        """
        stream = None if seed is None else hash_seed(seed)
        game = self._some_game()
        if options is not None:
            game = game.clone()
            game.set_up_as(stream, options)
        else:
            game.reset(stream)
        if game is not self.__dict__.get("_game"):
            self._sit_at(game)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._playing = True
        self._paid = False
        self._moved = True
        self._open_deal()
        if self.render_mode == "human":
            self.render()

    def _some_game(self) -> Game:
        """Return the game on the table, or a new one before the first `reset`."""
        if hasattr(self, "_game"):
            return self._game
        return Game(self.rules, self.num_players, None, self._observation_layout)

    def step(self, action: Any) -> None:
        """Let the agent to move take an action; one that has ended takes None.

        Args:
            action: an integer of any type.

        Raises:
            OrderError: before `reset`, or after the last agent has left.
            OutOfBoundsError: not an action. Nothing is changed.
            IllegalActionError: an action that is not legal here
                (`raw_env`). Nothing is changed.
            ValueError: an agent that has ended takes only None.
        """
        agent = self.agent_selection
        if not self._playing:
            self._leave(agent, action)
            return
        try:
            number = -1 if isinstance(action, bool) else index(action)
        except TypeError:
            number = -1
        if not 0 <= number < NUM_ACTIONS:
            raise OutOfBoundsError(str(self._game.illegal(action)))
        seat = take(self._games, self._desk, number)
        if seat == ILLEGAL:
            self._refuse(number)
            return
        self._moved = True
        self._infos = {}
        self._cumulative_rewards[agent] = 0
        if self._paid:
            self.rewards = dict.fromkeys(self.agents, 0)
            self._paid = False
        if seat < 0:
            self._close_deal(seat)
        else:
            self._shown = self.agent_selection = self.possible_agents[seat]
        if self.render_mode == "human":
            self.render()

    def _close_deal(self, ending: int) -> None:
        """Pay for the deal; end the match, or go on with its next deal."""
        self._pay(self._game.rewards())
        if ending == DEAL_OVER:
            self._game.next_deal()
            self._open_deal()
        else:
            self._end(truncated=ending == CUT_OFF)

    def _open_deal(self) -> None:
        """Give the first decision of a deal, or of what is left of it, to its seat."""
        seat = open_table(self._games, self._desk)
        if seat < 0:  # a record of the whole deal has been set up
            self._pay(self._game.rewards())
            self._end(truncated=seat == CUT_OFF)
            return
        self._infos = {}
        self._scores = tuple(self._chips.tolist())
        self._shown = self.agent_selection = self.possible_agents[seat]

    def _refuse(self, action: int) -> None:
        """Answer an illegal action."""
        raise self._game.illegal(action)

    def _leave(self, agent: str, action: Any) -> None:
        """Let an agent that has ended leave the table."""
        if not self.agents:
            raise OrderError("step: every agent has left; call reset()")
        if action is not None:
            raise ValueError(f"step: {agent} has ended, action {action!r}: only None is allowed")
        self.agents = self.agents[1:]
        del self.terminations[agent], self.truncations[agent], self._cumulative_rewards[agent]
        self._infos.pop(agent, None)
        self.rewards = dict.fromkeys(self.agents, 0)
        self._moved = True
        if self.agents:
            self.agent_selection = self.agents[0]

    def _pay(self, rewards: list[int]) -> None:
        self._paid = True
        self.rewards = dict(zip(self.agents, rewards, strict=True))
        for agent, reward in self.rewards.items():
            self._cumulative_rewards[agent] += reward

    def _end(self, truncated: bool) -> None:
        """End the episode for all agents; the first of them leaves first."""
        self._playing = False
        self._infos = {}
        self._shown = None
        self._scores = tuple(self._chips.tolist())
        ended = self.truncations if truncated else self.terminations
        for agent in self.agents:
            ended[agent] = True
        self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> Any:
        """Return what an agent sees; see the class.

        Raises:
            OrderError: before `reset`.
            ValueError: there is no such agent.
        """
        if agent != self._shown:
            self._show(agent)
        if self._form.mask_in_obs:
            return self._form.of(self._observation.copy(), self._mask.copy())
        return self._form.of(self._observation.copy(), None)

    def _show(self, agent: str) -> None:
        """Have an agent's observation and mask on the desk."""
        if agent not in self.possible_agents:
            agents = ", ".join(self.possible_agents)
            raise ValueError(f"agent {agent!r}: there are {agents}")
        look(self._games, self._desk, self._seats[agent])
        self._shown = agent

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """What each agent that has not left is told; see the class."""
        for agent in self.agents:
            if agent not in self._infos:
                self._inform(agent)
        return self._infos

    def _inform(self, agent: str) -> dict[str, Any]:
        """Make an agent's info for this step."""
        if agent != self._shown:
            self._show(agent)
        info: dict[str, Any] = {"scores": self._scores, "pool": self._pool.item()}
        if self._form.mask_in_info:
            info["action_mask"] = self._mask.copy()
        self._infos[agent] = info
        return info

    def last(self, observe: bool = True) -> tuple[Any, int, bool, bool, dict[str, Any]]:
        """Return what the agent to move gets.

        Returns:
            Its observation (None if not wanted), the sum of its rewards
            since its last step, whether it has been terminated, whether it
            has been truncated, and its info.

        Raises:
            OrderError: before `reset`, or after the last agent has left.
        """
        agent = self.agent_selection
        if not self.agents:
            raise OrderError("last: every agent has left; call reset()")
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self._infos.get(agent) or self._inform(agent),
        )

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Yield the agent to move until all have left; `step` once for each.

        Raises:
            OrderError: before `reset`, or when the loop goes on without
                `step` or `reset`.
        """
        return self._turns(max_iter) if self.agents else iter(())

    def _turns(self, max_iter: int) -> Iterator[str]:
        while self.agents and max_iter > 0:
            if not self._moved:
                raise OrderError("agent_iter: call step() or reset() for every agent of the loop")
            self._moved = False
            max_iter -= 1
            yield self.agent_selection

    def state(self) -> npt.NDArray[np.int8]:
        """Return the whole position, for a centralised critic.

        Returns:
            int8 (num_players * K,): the observations of seat 0, 1, .. one
            after the other, so that `reshape(num_players, K)` has a row for
            each seat, in which that seat comes first. Where cards are
            exchanged twice 53 entries follow: the cards on the table by
            card id, 0 or 1, and the stock in drawing order as card ids, -1
            after the last one.
        """
        rows = np.empty((self.num_players, self.layout.size), np.int8)
        for agent, seat in self._seats.items():
            self._show(agent)
            rows[seat] = self._observation
        if not self.rules.exchanges:
            return rows.reshape(-1)
        g = self._game.games[0]
        unseen = np.full((2, NUM_CARDS), -1, np.int8)
        unseen[0] = int(g["widow_left"]) >> np.arange(NUM_CARDS) & 1
        stock = g["pack"][int(g["stock_next"]) : int(self._desk["rules"]["pack_size"][0])]
        unseen[1, : len(stock)] = stock
        return np.concatenate([rows.reshape(-1), unseen.reshape(-1)])

    def record(self) -> dict[str, Any]:
        """Return the deal so far as a record, with its result once it is over."""
        return self._game.record()

    def render(self) -> Any:
        """Show the table with the cards of the seat to move.

        All hands are shown once the deal is over, or always if `reveal` is
        set.

        Returns:
            Text (`ansi`, `svg`), a picture, uint8 (HEIGHT, WIDTH, 3)
            (`rgb_array`), or None (`human`).
        """
        game = self._game
        viewer = None if self._reveal else game.seat
        return self._screen.show(game.table(viewer, playing=self._playing))

    def close(self) -> None:
        """Close the window, if there is one."""
        self._screen.close()

    def reseed(self, seed: int | None) -> None:
        """Give what is still random another future, see `clone`."""
        self._game.reseed(seed)

    def determinize(self, seat: int, seed: int | None = None) -> None:
        """Deal anew all that a seat cannot see, see `Game.determinize`."""
        self._game.determinize(seat, seed)
        self._infos = {}
        self._shown = None

    def get_state(self) -> dict[str, Any]:
        """Return the position with its random streams, for `set_state`."""
        return {
            "rules": self.rules,
            "num_players": self.num_players,
            "game": self._game.games.copy(),
            **{name: copy.copy(getattr(self, name)) for name in self._SNAPSHOT},
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a position that `get_state` returned, here or in a like table.

        Raises:
            ValueError: a position of other rules or players, or none.
        """
        needed = {"rules", "num_players", "game", *self._SNAPSHOT}
        if not isinstance(state, Mapping) or state.keys() != needed:
            raise ValueError(f"state={state!r:.80}: what get_state returns is needed")
        for key, here in (("rules", self.rules), ("num_players", self.num_players)):
            if state[key] != here:
                raise ValueError(f"state of {key}={state[key]!r}: this table has {here!r}")
        self._sit_at(Game.of(self.rules, self.num_players, state["game"], self._observation_layout))
        for name in self._SNAPSHOT:
            setattr(self, name, copy.copy(state[name]))
        self._infos = {}
        self._shown = None
        self._moved = True

    def __getstate__(self) -> dict[str, Any]:
        views = ("_games", "_desk", "_observation", "_mask", "_pool", "_chips")
        return {name: value for name, value in self.__dict__.items() if name not in views}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        """Take the attributes of a copy, and look at its own game."""
        self.__dict__.update(attributes)
        if "_game" in attributes:
            self._sit_at(self._game)
        self._shown = None  # its desk shows nothing yet


class NapEnv(RawNapEnv):
    """A table of Nap at which an illegal action ends the episode for all.

    Every agent is terminated. The offender pays as much as the dearest
    bid can cost at single stakes, which the others do not get.
    """

    def __init__(self, *args: Any, illegal: str = "terminate", **kwargs: Any) -> None:
        """Set the table; `reset` deals.

        Args:
            *args: those of `RawNapEnv`.
            illegal: what an illegal action does: `terminate` ends the
                episode, at `random` a random legal action is played
                instead. Either warns once.
            **kwargs: those of `RawNapEnv`.

        Raises:
            ValueError: an argument that is not allowed.
        """
        super().__init__(*args, **kwargs)
        self._plays_on = plays_on(illegal)

    def _refuse(self, action: int) -> None:
        warn_of_illegal_action(self._plays_on)
        if self._plays_on:
            self.step(self._game.random_action())
            return
        price = int(self._desk["rules"]["illegal_price"][0])
        # The deal stands as it is, but nobody may go on with it.
        self._games["legal"] = 0
        self._games["legal_bids"] = 0
        self._moved = True
        offender = self.agent_selection
        self._cumulative_rewards[offender] = 0
        self._pay([-price if agent == offender else 0 for agent in self.agents])
        self._end(truncated=False)
