"""Self-play: complete deals by a network, and what each of its decisions was worth.

A row is one decision: a seat with at least two legal actions. The decisions of one seat in one
deal are a chain; a chain ends with its deal, so nothing after it is ever estimated.

The network plays all seats, or one seat of each game against opponents that do not learn, whose
decisions are no rows.

In some games the auction branches once: the seat to move takes every legal action, each in a copy
of the game that is played on to the end of the deal. So that row knows what each action brings
with the same cards, and the play of contracts that are rarely bid is practised.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nap_env.actions import NUM_ACTIONS, IllegalActionError
from nap_env.agents.agent import Agent, checked_answers
from nap_env.agents.features import entries, write_decision
from nap_env.agents.matrix import aligned
from nap_env.agents.network import (
    BLOCK,
    VALUE_HEAD,
    Decisions,
    Sight,
    Training,
    block_of,
    chips_per_reward,
    choose,
    forward,
    head,
    log_policy,
    net_of,
    num_weights,
    widths_of,
)
from nap_env.engine.kernel import kernel
from nap_env.engine.state import (
    AUCTION,
    BUY,
    HOLD,
    OVER,
    checked_games,
    draw,
    new_games,
    seed_game,
)
from nap_env.engine.step import (
    advance,
    is_legal,
    legal_action,
    new_match,
    next_deal,
    only_action,
)
from nap_env.games import Games
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
_PLAYED, _FULL, _WAITING = range(3)  # why `_play` stops


class Rollout(NamedTuple):
    """The R decisions of one deal in each game, in the order they were taken."""

    rows: npt.NDArray[np.void]  # ROW (R,)
    decisions: Decisions  # what they were taken on
    # Beside `decisions.actions`:
    log_probs: Floats  # under the policy that played
    worth: Floats  # what the action brought less the mean, where the row branches
    copies: npt.NDArray[np.int32]  # scratch: the game in which it was taken, where the row branches
    payments: npt.NDArray[np.int32]  # (N, P), what each seat's chips changed, branches left out

    @staticmethod
    def room(rows: int, features: int, actions: int) -> "Rollout":
        """Return room for so many of each."""
        return Rollout(
            np.empty(rows, ROW), Decisions.room(rows, features, actions),
            np.empty(actions, np.float32), np.empty(0, np.float32), np.empty(actions, np.int32),
            np.empty((0, 0), np.int32),
        )  # fmt: skip

    @staticmethod
    def join(parts: "Sequence[Rollout]") -> "Rollout":
        """Return all decisions of several rollouts as one; their chains and payments stay apart."""
        if len(parts) == 1:
            return parts[0]

        def joined(name: str) -> Any:
            return np.concatenate([getattr(part, name) for part in parts])

        def of_decisions(name: str) -> Any:
            arrays = [getattr(part.decisions, name) for part in parts]
            if "starts" not in name:
                return np.concatenate(arrays)
            return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(a) for a in arrays]))])

        return Rollout.room(0, 0, 0)._replace(
            decisions=Decisions(*map(of_decisions, Decisions._fields)),
            **{name: joined(name) for name in ("rows", "log_probs", "worth")},
        )


class Progress(NamedTuple):
    """How far each of N games and their M copies has come in its deal."""

    playing: npt.NDArray[np.bool_]  # (N + M,), whether its deal is not over
    sits: npt.NDArray[np.int16]  # (N + M, P), 0: the network, k: opponent number k
    until_branch: Ints  # (N + M,), decisions of the auction before it branches, -1: never


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
def _begin(games, num_main, rules_of, progress, branch_share):
    """Stand every game at the first decision of a deal."""
    rules = rules_of[0]
    for i in range(num_main):
        g = games[i]
        if g["phase"] == OVER:
            next_deal(g, rules)
        progress.playing[i] = not advance(g, rules, only_action(g), True)
        progress.until_branch[i] = -1
        if draw(g, 1 << 20) < branch_share * (1 << 20):
            progress.until_branch[i] = draw(g, rules["hands"])
    for i in range(num_main, len(games)):
        progress.playing[i] = False
        progress.until_branch[i] = -1


@kernel
def _play(games, rules_of, net, sight, progress, room, used, hidden):
    """Play on until all deals are over, opponents are to move, or there is no room for more.

    Its arguments:
        games: GAME (N + M,), M of them for branches.
        rules_of: TABLE (1,).
        net: Net, the network.
        sight: Sight, its.
        progress: Progress.
        room: Rollout, room that is filled.
        used: int64 (4,), how much of its rows, features and actions is filled, and of the games.
        hidden: float32 (L, BLOCK * width), scratch.

    Returns:
        _PLAYED, _FULL, or _WAITING: in all games that are not over an opponent is to move.
    """
    rules = rules_of[0]
    view = sight.views[0]
    players = rules["num_players"]
    playing, sits, until_branch = progress.playing, progress.sits, progress.until_branch
    rows, log_probs, copies = room.rows, room.log_probs, room.copies
    starts, places, values, action_starts, actions = room.decisions
    numbers = np.empty(BLOCK, np.int64)
    todo = np.empty(len(games), np.int64)  # games in which the network is to move
    taken = np.empty(len(games), np.int64)  # number of the legal action that it takes, -1: none
    last = hidden[len(net.widths) - 2]
    while True:
        live = np.int64(0)
        waiting = False
        for i in range(used[_GAMES]):
            taken[i] = -1
            if playing[i]:
                if sits[i, games[i]["seat"]] == 0:
                    todo[live] = i
                    live += 1
                else:
                    waiting = True
        if live == 0:
            return _WAITING if waiting else _PLAYED
        if (
            len(rows) < used[_ROWS] + live
            or len(places) < used[_FEATURES] + live * len(sight.entries)
            or len(actions) < used[_ACTIONS] + live * NUM_ACTIONS
        ):
            return _FULL
        for first in range(0, live, BLOCK):
            many = np.minimum(BLOCK, live - first)
            row = used[_ROWS]
            starts[row] = used[_FEATURES]
            action_starts[row] = used[_ACTIONS]
            for k in range(many):
                numbers[k] = row + k
                starts[row + k + 1], action_starts[row + k + 1] = write_decision(
                    games[todo[first + k]], rules, sight.in_order, sight.entries, view, places,
                    values, starts[row + k], actions, action_starts[row + k],
                )  # fmt: skip
            forward(net, room.decisions, numbers, 0, many, hidden)
            for k in range(many):
                i = todo[first + k]
                g = games[i]
                start = action_starts[row + k]
                end = action_starts[row + k + 1]
                log_policy(net, last, k, actions, start, end, log_probs, start)
                taken[i] = choose(g, log_probs, start, end - start)
                decision = rows[row + k]
                decision["chain"] = i * players + g["seat"]
                decision["chosen"] = taken[i]
                decision["role"] = _role(g)
                decision["log_prob"] = log_probs[start + taken[i]]
                decision["value"] = head(net, VALUE_HEAD, last, k)
                decision["branches"] = 0
                if decision["role"] == IN_AUCTION and until_branch[i] >= 0:
                    if until_branch[i] == 0 and used[_GAMES] + end - start <= len(games) + 1:
                        decision["branches"] = 1
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
            used[_ROWS] += many
            used[_FEATURES] = starts[row + many]
            used[_ACTIONS] = action_starts[row + many]
        for i in range(used[_GAMES]):
            if taken[i] >= 0:
                g = games[i]
                action = legal_action(g, taken[i])
                playing[i] = not advance(g, rules, action, True)


@kernel
def _oppose(games, rules_of, progress, rows, actions):
    """Let opponents act in some games; return which of `rows` acts illegally, before any, or -1."""
    rules = rules_of[0]
    for k in range(len(rows)):
        if not (0 <= actions[k] < NUM_ACTIONS and is_legal(games[rows[k]], actions[k])):
            return k
    for k in range(len(rows)):
        i = rows[k]
        g = games[i]
        if _role(g) == IN_AUCTION and progress.until_branch[i] > 0:
            progress.until_branch[i] -= 1
        progress.playing[i] = not advance(g, rules, actions[k], True)
    return -1


@kernel
def _judge(rollout, chips_per_reward, gae_lambda):
    """Say of each row how much better than expected it turned out (GAE, undiscounted).

    Every chain goes along one seat's own decisions: what a decision led to is the value of the
    same seat's next one, and after its last one in the deal only the payment.

    Its arguments:
        rollout: Rollout, `payments` of N + M games; `advantage` and `returns` of its rows and
            `worth` are written.
        chips_per_reward: unit of the reward.
        gae_lambda: weight of later decisions: 0 trusts the value, 1 only payments.
    """
    rows, payments, worth = rollout.rows, rollout.payments, rollout.worth
    action_starts = rollout.decisions.action_starts
    games, players = payments.shape
    ahead = np.zeros(
        (2, games * players), np.float32
    )  # value and advantage of the chain's next row
    for game in range(games):
        for seat in range(players):
            ahead[0, game * players + seat] = payments[game, seat] / chips_per_reward
    for row in range(len(rows) - 1, -1, -1):
        decision = rows[row]
        chain = decision["chain"]
        if decision["branches"] != 0:
            seat = chain % players
            mean = 0.0
            for k in range(action_starts[row], action_starts[row + 1]):
                worth[k] = payments[rollout.copies[k], seat] / chips_per_reward
                mean += np.exp(rollout.log_probs[k]) * worth[k]
            for k in range(action_starts[row], action_starts[row + 1]):
                worth[k] -= mean
            advantage = np.float32(mean - decision["value"])
        else:
            advantage = np.float32(
                ahead[0, chain] - decision["value"] + gae_lambda * ahead[1, chain]
            )
        decision["advantage"] = advantage
        decision["returns"] = advantage + decision["value"]
        ahead[0, chain] = decision["value"]
        ahead[1, chain] = advantage


class Players:
    """Some games that a network plays against itself, or against opponents.

    Attributes:
        num_players: P.
        num_games: N.
        games: GAME (N + M,), the last M of them scratch for branches.
        sits: int16 (N, P), who has each seat in the present deal: 0 the network, k opponent
            number k.
        net: Net, what the network is but for its weights.
        opponents: by name, who has all seats but one; if there are none, the network has all.
    """

    def __init__(
        self, rules: Rules, num_players: int, training: Training, first: int, num_games: int,
        seed: int, branch_share: float, opponents: Mapping[str, Agent] | None = None,
    ) -> None:  # fmt: skip
        """Deal the first deal of games `first`, `first` + 1, .. of a seed.

        Args:
            rules: the rules.
            num_players: P.
            training: what the network is trained to play.
            first: number of the first game.
            num_games: N.
            seed: of the random streams.
            branch_share: share of the deals whose auction branches.
            opponents: by name, who has all seats but one; without any the network has all seats.
        """
        seen = layout(rules, num_players, training.observation_layout)
        table = entries(seen)
        widths = widths_of(seen.size, training.hidden)
        weights = np.zeros(num_weights(widths), np.float32)
        self.net = net_of(weights, widths, np.ascontiguousarray(table["factor"]))
        self._sight = Sight(training.suits_in_order, table, seen.new_view())
        self.num_players, self.num_games = num_players, num_games
        self._table = rules_table(rules, num_players)
        self._branch_share = branch_share
        copies = int(num_games * branch_share * (len(rules.bids) + 1) * 1.2) + 1
        count = num_games + copies if branch_share else num_games
        self.games = new_games(count)
        _seed(self.games[:num_games], first, np.uint64(seed), self._table)
        self._progress = Progress(
            np.zeros(count, np.bool_), np.zeros((count, num_players), np.int16),
            np.zeros(count, np.int64),
        )  # fmt: skip
        self.sits = self._progress.sits[:num_games]
        self._room = Rollout.room(0, 0, 0)
        self._hidden = aligned(*block_of(widths))
        self.opponents = dict(opponents or {})
        self._shown = Games(rules, num_players, self.games)

    def play(self, weights: Floats, gae_lambda: float, random: np.random.Generator) -> Rollout:
        """Play one deal in every game.

        Args:
            weights: float32 (T,), of the network.
            gae_lambda: weight of later decisions in the advantage.
            random: draws the seat of the network and its opponent in each game, if there are any.

        Returns:
            The decisions; overwritten by the next call.

        Raises:
            ValueError: an opponent did not choose a legal action for each of its games.
        """
        if self.opponents:
            self.sits[:] = random.integers(len(self.opponents), size=(self.num_games, 1)) + 1
            mine = random.integers(self.num_players, size=self.num_games)
            self.sits[np.arange(self.num_games), mine] = 0
        used = np.array([0, 0, 0, self.num_games])
        _begin(self.games, self.num_games, self._table, self._progress, self._branch_share)
        net = self.net._replace(weights=weights)
        while True:
            stopped = _play(
                self.games, self._table, net, self._sight, self._progress, self._room, used,
                self._hidden,
            )  # fmt: skip
            if stopped == _PLAYED:
                break
            if stopped == _FULL:
                self._grow()
            else:
                self._ask()
        rows, features, actions, _ = used
        room = self._room
        starts, places, values, action_starts, legal = room.decisions
        payments = (self.games["payments"] + self.games["shares"])[:, : self.num_players]
        rollout = Rollout(
            room.rows[:rows],
            Decisions(
                starts[: rows + 1], places[:features], values[:features],
                action_starts[: rows + 1], legal[:actions],
            ),
            room.log_probs[:actions], np.zeros(actions, np.float32), room.copies[:actions],
            payments.astype(np.int32),
        )  # fmt: skip
        _judge(rollout, chips_per_reward(self.num_players), gae_lambda)
        return rollout._replace(copies=room.copies[:0], payments=rollout.payments[: self.num_games])

    def _ask(self) -> None:
        """Ask the opponents in all games that are not over, each once."""
        waiting = np.flatnonzero(self._progress.playing)
        sitting = self._progress.sits[waiting, self.games["seat"][waiting]]
        for number, (name, agent) in enumerate(self.opponents.items(), 1):
            rows = waiting[sitting == number]
            if not rows.size:
                continue
            actions = checked_answers(name, agent(self._shown, rows), len(rows))
            wrong = _oppose(self.games, self._table, self._progress, rows, actions)
            if wrong >= 0:
                told = self._shown.game(int(rows[wrong])).illegal(int(actions[wrong]))
                raise IllegalActionError(f"opponent {name!r}: {told}")

    def state(self) -> npt.NDArray[np.uint8]:
        """Return the bytes of the games, (N, size of a record), between two deals."""
        return self.games[: self.num_games].view(np.uint8).reshape(self.num_games, -1).copy()

    def resume(self, state: npt.NDArray[np.uint8]) -> None:
        """Go on with games that `state` returned.

        Raises:
            ValueError: they are something else.
        """
        records = state.copy().view(self.games.dtype).ravel()
        self.games[: self.num_games] = checked_games(records, self._table)

    def _grow(self) -> None:
        """Make room: for a first guess, then for twice as much."""
        before, games = self._room, len(self.games)
        rows = max(2 * len(before.rows), 16 * games)
        actions = rows * _ACTIONS_A_ROW + games * NUM_ACTIONS
        features = rows * _FEATURES_A_ROW + games * len(self._sight.entries)
        room = self._room = Rollout.room(rows, features, actions)
        arrays: list[tuple[Any, Any]] = [
            *zip(room.decisions, before.decisions, strict=True),
            (room.rows, before.rows),
            (room.log_probs, before.log_probs),
            (room.copies, before.copies),
        ]
        for new, array in arrays:
            new[: len(array)] = array
