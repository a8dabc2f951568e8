"""Self-play: complete deals by a network in all seats, and what each decision was worth.

A row is one decision: a seat with at least two legal actions. The decisions of one seat in one
deal are a chain; a chain ends with its deal, so nothing after it is ever estimated.

Two things make the deals teach more than plain self-play would:

* in some games a past network sits at some of the seats; its decisions are no rows;
* in some games the auction branches once: the seat to move takes every legal action, each in a copy
  of the game that is played on to the end of the deal. So that row knows what each action brings
  with the same cards, and the play of contracts that are rarely bid is practised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nap_env.actions import NUM_ACTIONS
from nap_env.agents.features import entries, write_decision
from nap_env.agents.network import (
    BLOCK,
    VALUE_HEAD,
    Training,
    chips_per_reward,
    choose,
    forward,
    head,
    heads_at,
    log_policy,
    widths_of,
)
from nap_env.engine.kernel import kernel
from nap_env.engine.state import AUCTION, BUY, HOLD, OVER, draw, new_games, seed_game
from nap_env.engine.step import advance, legal_action, new_match, next_deal, only_action
from nap_env.observation import layout
from nap_env.rules import Rules, rules_table

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

ROLES = ("auction", "declarer", "defender")
IN_AUCTION, DECLARER, DEFENDER = range(len(ROLES))

ROW = np.dtype(
    [
        ("chain", np.int32),  # game * P + seat
        ("chosen", np.int16),  # number of the action among the legal ones
        ("role", np.int8),  # one of ROLES
        ("branches", np.int8),  # whether every action was taken
        ("log_prob", np.float32),  # of the action, under the policy that took it
        ("value", np.float32),  # expected by the network, in units of reward
        ("advantage", np.float32),  # how much better than expected it turned out
        ("returns", np.float32),  # what the network should have expected
    ],
    align=True,
)
"""One decision."""

_ROWS, _FEATURES, _ACTIONS, _GAMES = range(4)
_FEATURES_A_ROW, _ACTIONS_A_ROW = 48, 6  # room for as many on average


@kernel
def _seed(games, first, seed, rules_of):
    for i in range(len(games)):
        seed_game(games[i], seed, np.int64(first + i))
        new_match(games[i], rules_of[0])


@kernel
def _role(g):
    """Return the role in which the seat to move decides."""
    if g["phase"] == AUCTION or g["phase"] == BUY or g["phase"] == HOLD:
        return np.int64(IN_AUCTION)
    if g["seat"] == g["declarer"]:
        return np.int64(DECLARER)
    return np.int64(DEFENDER)


@kernel
def _begin(games, num_main, rules_of, playing, until_branch, branch_share):
    """Stand every game at the first decision of a deal."""
    rules = rules_of[0]
    for i in range(num_main):
        g = games[i]
        if g["phase"] == OVER:
            next_deal(g, rules)
        playing[i] = not advance(g, rules, only_action(g), True)
        until_branch[i] = -1
        if draw(g, 1 << 20) < branch_share * (1 << 20):
            until_branch[i] = draw(g, rules["hands"])
    for i in range(num_main, len(games)):
        playing[i] = False
        until_branch[i] = -1


@kernel
def _play(
    games, num_main, rules_of, in_order, networks, sits, widths, factors, table, views,
    playing, until_branch, rows, starts, places, values, action_starts, actions,
    log_probs, copies, used, todo, taken, numbers, hidden,
):  # fmt: skip
    """Play on until all deals are over, or there is no room for what happens.

    Its arguments:
        games: GAME (N + M,), M of them for branches.
        num_main: N.
        rules_of: TABLE (1,).
        in_order: whether the networks see the suits in order.
        networks: float32 (2, T), the one that learns and a past one.
        sits: int8 (N + M, P), which of them has a seat.
        widths, factors, table: of the networks and the observation.
        views: `Layout.new_view`, scratch.
        playing: bool (N + M,), games whose deal is not over.
        until_branch: int64 (N + M,), decisions of the auction before it branches, -1 never.
        rows: ROW (R,) is written.
        starts, places, values: the features of the rows, written.
        action_starts, actions, log_probs: their legal actions, written.
        copies: int32, beside `actions`: the game in which it was taken, where the row branches.
        used: int64 (4,), how much of them is filled, and of the games.
        todo: int64 (N + M,), scratch, as are
        taken: int64 (N + M,), and
        numbers: int64 (BLOCK,), 0, 1, 2, .., and
        hidden: float32 (L, BLOCK * width).

    Returns:
        Whether all deals are over.
    """
    rules = rules_of[0]
    view = views[0]
    players = rules["num_players"]
    heads = heads_at(widths)
    width = widths[len(widths) - 1]
    last = hidden[len(widths) - 2]
    while True:
        live = np.int64(0)
        for i in range(used[_GAMES]):
            live += np.int64(playing[i])
            taken[i] = -1
        if live == 0:
            return True
        if (
            len(rows) < used[_ROWS] + live
            or len(places) < used[_FEATURES] + live * len(table)
            or len(actions) < used[_ACTIONS] + live * NUM_ACTIONS
        ):
            return False
        for sitting in range(len(networks)):
            count = np.int64(0)
            for i in range(used[_GAMES]):
                if playing[i] and taken[i] < 0 and sits[i, games[i]["seat"]] == sitting:
                    todo[count] = i
                    count += 1
            for first in range(0, count, BLOCK):
                many = np.minimum(BLOCK, count - first)
                row = used[_ROWS]
                starts[row] = used[_FEATURES]
                action_starts[row] = used[_ACTIONS]
                for k in range(many):
                    starts[row + k + 1], action_starts[row + k + 1] = write_decision(
                        games[todo[first + k]], rules, in_order, table, view, places,
                        values, starts[row + k], actions, action_starts[row + k],
                    )  # fmt: skip
                forward(
                    networks[sitting], widths, factors, places, values, starts[row:], numbers, 0,
                    many, hidden,
                )  # fmt: skip
                for k in range(many):
                    i = todo[first + k]
                    g = games[i]
                    start = action_starts[row + k]
                    end = action_starts[row + k + 1]
                    log_policy(
                        networks[sitting], heads, width, last, k, actions, start, end, log_probs,
                        start,
                    )  # fmt: skip
                    taken[i] = choose(g, log_probs, start, end - start)
                    role = _role(g)
                    if sitting > 0:
                        until_branch[i] -= np.int64(role == IN_AUCTION and until_branch[i] > 0)
                        continue
                    note = rows[row + k]
                    note["chain"] = i * players + g["seat"]
                    note["chosen"] = taken[i]
                    note["role"] = role
                    note["log_prob"] = log_probs[start + taken[i]]
                    note["value"] = head(networks[0], heads, width, VALUE_HEAD, last, k)
                    note["branches"] = 0
                    if role == IN_AUCTION and until_branch[i] >= 0:
                        if until_branch[i] == 0 and used[_GAMES] + end - start <= len(games) + 1:
                            note["branches"] = 1
                            for number in range(end - start):
                                j = i
                                if number != taken[i]:
                                    j = used[_GAMES]
                                    used[_GAMES] += 1
                                    games[j] = games[i]
                                    playing[j] = True
                                    until_branch[j] = -1
                                    taken[j] = number
                                    for seat in range(players):
                                        sits[j, seat] = sits[i, seat]
                                copies[start + number] = j
                        until_branch[i] -= 1
                if sitting == 0:
                    used[_ROWS] += many
                    used[_FEATURES] = starts[row + many]
                    used[_ACTIONS] = action_starts[row + many]
        for i in range(used[_GAMES]):
            if playing[i]:
                g = games[i]
                action = legal_action(g, taken[i])
                playing[i] = not advance(g, rules, action, True)


@kernel
def _judge(
    rows, count, players, payments, chips_per_reward, gae_lambda, ahead, action_starts, log_probs,
    copies, worth,
):  # fmt: skip
    """Say of each row how much better than expected it turned out (GAE, undiscounted).

    Every chain goes along one seat's own decisions: what a decision led to is the value of the
    same seat's next one, and after its last one in the deal only the payment.

    Its arguments:
        rows: ROW, `advantage` and `returns` are written.
        count: how many.
        players: P.
        payments: int32 (N + M, P).
        chips_per_reward: unit of the reward.
        gae_lambda: weight of later decisions: 0 trusts the value, 1 only payments.
        ahead: float32 (2, (N + M) * P), scratch: value and advantage of the chain's next row.
        action_starts, log_probs, copies: as in `_play`.
        worth: float32, beside them: what each action of a branching row brought, less the mean
            over the policy, is written.
    """
    for game in range(len(payments)):
        for seat in range(players):
            ahead[0, game * players + seat] = payments[game, seat] / chips_per_reward
            ahead[1, game * players + seat] = 0
    for row in range(count - 1, -1, -1):
        note = rows[row]
        chain = note["chain"]
        if note["branches"] != 0:
            seat = chain % players
            mean = 0.0
            for k in range(action_starts[row], action_starts[row + 1]):
                worth[k] = payments[copies[k], seat] / chips_per_reward
                mean += np.exp(log_probs[k]) * worth[k]
            for k in range(action_starts[row], action_starts[row + 1]):
                worth[k] -= mean
            advantage = np.float32(mean - note["value"])
        else:
            advantage = np.float32(ahead[0, chain] - note["value"] + gae_lambda * ahead[1, chain])
        note["advantage"] = advantage
        note["returns"] = advantage + note["value"]
        ahead[0, chain] = note["value"]
        ahead[1, chain] = advantage


@dataclass
class Rollout:
    """The R decisions of one deal in each game, in the order they were taken.

    Attributes:
        rows: ROW (R,).
        starts: int64 (R + 1,), where each row's features start;
        places: uint16, the features,
        values: int8, and what they are worth.
        action_starts: int64 (R + 1,), where each row's legal actions start;
        actions: uint8, as the network knows them,
        log_probs: float32, under the policy that played,
        worth: float32, what the action brought less the mean, where the row branches.
        payments: int32 (N, P), what each seat's chips changed, branches left out.
    """

    rows: npt.NDArray[np.void]
    starts: Ints
    places: npt.NDArray[np.uint16]
    values: npt.NDArray[np.int8]
    action_starts: Ints
    actions: npt.NDArray[np.uint8]
    log_probs: Floats
    worth: Floats
    payments: npt.NDArray[np.int32]

    @staticmethod
    def join(parts: "Sequence[Rollout]") -> "Rollout":
        """Return all decisions of several rollouts as one; their chains and payments stay apart."""
        if len(parts) == 1:
            return parts[0]

        def joined(name: str) -> Any:
            return np.concatenate([getattr(part, name) for part in parts])

        def starts(name: str, of: str) -> Ints:
            ends = np.cumsum([0, *(len(getattr(part, of)) for part in parts)])
            shifted = [
                getattr(part, name)[:-1] + end for part, end in zip(parts, ends, strict=False)
            ]
            return np.concatenate([*shifted, ends[-1:]])

        return Rollout(
            joined("rows"), starts("starts", "places"), joined("places"), joined("values"),
            starts("action_starts", "actions"), joined("actions"), joined("log_probs"),
            joined("worth"), np.empty((0, 0), np.int32),
        )  # fmt: skip


class Players:
    """Some games that one network, and a past one, play against themselves.

    Attributes:
        num_players: P.
        num_games: N.
        games: GAME (N + M,), the last M of them scratch for branches.
    """

    def __init__(
        self, rules: Rules, num_players: int, training: Training, first: int, num_games: int,
        seed: int, branch_share: float,
    ) -> None:  # fmt: skip
        """Deal the first deal of games `first`, `first` + 1, .. of a seed.

        Args:
            rules: the rules.
            num_players: P.
            training: what the networks are trained to play.
            first: number of the first game.
            num_games: N.
            seed: of the random streams.
            branch_share: share of the deals whose auction branches.
        """
        self._training = training
        self.num_players = num_players
        self._table = rules_table(rules, num_players)
        seen = layout(rules, num_players, training.observation_layout)
        self._entries = entries(seen)
        self.factors = np.ascontiguousarray(self._entries["factor"])
        self.widths = widths_of(seen.size, training.hidden)
        self.num_games = num_games
        self._branch_share = branch_share
        copies = int(num_games * branch_share * (len(rules.bids) + 1) * 1.2) + 1
        self.games = new_games(num_games + copies if branch_share else num_games)
        _seed(self.games[:num_games], first, np.uint64(seed), self._table)
        count = len(self.games)
        self._sits = np.zeros((count, num_players), np.int8)
        self._playing = np.zeros(count, np.bool_)
        self._until_branch = np.zeros(count, np.int64)
        self._todo, self._taken = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._numbers = np.arange(BLOCK)
        self._hidden = np.empty((len(training.hidden), BLOCK * max(training.hidden)), np.float32)
        self._ahead = np.empty((2, count * num_players), np.float32)
        self._views = seen.new_view()
        self._rows = np.empty(0, ROW)
        self._starts = np.empty(1, np.int64)
        self._places, self._values = np.empty(0, np.uint16), np.empty(0, np.int8)
        self._action_starts = np.empty(1, np.int64)
        self._actions, self._log_probs = np.empty(0, np.uint8), np.empty(0, np.float32)
        self._copies = np.empty(0, np.int32)

    def play(self, networks: Floats, sits: npt.NDArray[np.int8], gae_lambda: float) -> Rollout:
        """Play one deal in every game.

        Args:
            networks: float32 (1 or 2, T), the one that learns and a past one.
            sits: int8 (N, P), which of them has each seat.
            gae_lambda: weight of later decisions in the advantage.

        Returns:
            The decisions; overwritten by the next call.
        """
        self._sits[: self.num_games] = sits
        used = np.array([0, 0, 0, self.num_games])
        _begin(
            self.games, self.num_games, self._table, self._playing,
            self._until_branch, self._branch_share,
        )  # fmt: skip
        while not _play(
            self.games, self.num_games, self._table, self._training.suits_in_order, networks,
            self._sits, self.widths, self.factors, self._entries, self._views,
            self._playing, self._until_branch, self._rows, self._starts,
            self._places, self._values, self._action_starts, self._actions, self._log_probs,
            self._copies, used, self._todo, self._taken, self._numbers, self._hidden,
        ):  # fmt: skip
            self._grow()
        rows, features, actions, _ = used
        payments = (self.games["payments"] + self.games["shares"])[:, : self.num_players]
        payments = payments.astype(np.int32)
        worth = np.zeros(actions, np.float32)
        _judge(
            self._rows, rows, self.num_players, payments,
            chips_per_reward(self.num_players), gae_lambda, self._ahead, self._action_starts,
            self._log_probs, self._copies, worth,
        )  # fmt: skip
        return Rollout(
            self._rows[:rows],
            self._starts[: rows + 1],
            self._places[:features],
            self._values[:features],
            self._action_starts[: rows + 1],
            self._actions[:actions],
            self._log_probs[:actions],
            worth,
            payments[: self.num_games],
        )

    def state(self) -> npt.NDArray[np.uint8]:
        """Return the bytes of the games, (N, size of a record), between two deals."""
        return self.games[: self.num_games].view(np.uint8).reshape(self.num_games, -1).copy()

    def resume(self, state: npt.NDArray[np.uint8]) -> None:
        """Go on with games that `state` returned."""
        self.games[: self.num_games] = state.copy().view(self.games.dtype).ravel()

    def _grow(self) -> None:
        """Make room: for a first guess, then for twice as much."""
        rows = max(2 * len(self._rows), 16 * len(self.games))

        def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
            new = np.empty(size, array.dtype)
            new[: len(array)] = array
            return new

        self._rows = grown(self._rows, rows)
        self._starts = grown(self._starts, rows + 1)
        self._action_starts = grown(self._action_starts, rows + 1)
        features = rows * _FEATURES_A_ROW + len(self.games) * len(self._entries)
        self._places = grown(self._places, features)
        self._values = grown(self._values, features)
        actions = rows * _ACTIONS_A_ROW + len(self.games) * NUM_ACTIONS
        self._actions = grown(self._actions, actions)
        self._log_probs = grown(self._log_probs, actions)
        self._copies = grown(self._copies, actions)
