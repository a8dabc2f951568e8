"""A network that plays: a multilayer perceptron from features to actions, in compiled code.

Its weights are one flat array, so that whoever trains it can treat them as one thing:

    for each hidden layer: matrix (width before, width), bias (width,)
    heads (NUM_HEADS, last width), a row for each action and one for the value
    bias of the heads (NUM_HEADS,)

The width before the first layer is the number of features. What the seat sees is short (some 40 of
500 features differ from 0) and few actions are legal: the first layer and the heads compute only
what is needed.
"""

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from nap_env.actions import NUM_ACTIONS
from nap_env.agents.agent import Ints, SeatedAgent
from nap_env.agents.features import entries, write_decision
from nap_env.agents.matrix import LANES, add_product, add_scaled, copy, dot
from nap_env.agents.seal import sealed_archive, unsealed
from nap_env.engine.kernel import kernel
from nap_env.engine.state import draw
from nap_env.engine.step import legal_action
from nap_env.games import Games
from nap_env.observation import LAYOUT_HASH, LAYOUT_VERSION, layout
from nap_env.presets import resolve
from nap_env.rules import MATCH_LENGTH, Bid, Rules, flag, is_whole, one_of

NUM_HEADS = NUM_ACTIONS + 1
VALUE_HEAD = NUM_ACTIONS

BLOCK = 256
"""Rows that go through the layers together: few enough to stay in the cache."""

POLICIES = ("sampled", "argmax")

_DRAWS = 1 << 30

Weights = npt.NDArray[np.float32]

OF_THE_MATCH = ("scores", "deals_left")
"""The fields of the observation that show how long a match is, 0 in single deals."""

_Row = TypeVar("_Row", Bid, Rules)


class Net(NamedTuple):
    """A network, as kernels take it."""

    weights: Weights  # float32 (T,), flat
    widths: npt.NDArray[np.int64]  # (L + 1,), of all layers, features first
    heads: int  # where the heads start in the flat array
    factors: Weights  # float32 (K,), what a feature's value is multiplied by


class Sight(NamedTuple):
    """How a network sees a game: what `write_decision` needs beside it."""

    in_order: bool
    entries: npt.NDArray[np.void]  # ENTRY (K,)
    views: npt.NDArray[np.void]  # `Layout.new_view`, scratch


class Decisions(NamedTuple):
    """What seats to move see and may do, as a network knows it: R rows, one after the other."""

    starts: npt.NDArray[np.int64]  # (R + 1,), where each row's features start
    places: npt.NDArray[np.uint16]  # the features
    values: npt.NDArray[np.int8]  # what they are worth, before their factor
    action_starts: npt.NDArray[np.int64]  # (R + 1,), where each row's legal actions start
    actions: npt.NDArray[np.uint8]

    @staticmethod
    def room(rows: int, features: int, actions: int) -> "Decisions":
        """Return room for so many of each."""
        return Decisions(
            np.empty(rows + 1, np.int64), np.empty(features, np.uint16),
            np.empty(features, np.int8), np.empty(rows + 1, np.int64), np.empty(actions, np.uint8),
        )  # fmt: skip


@dataclass(frozen=True)
class Training:
    """What a network was trained to play: enough to seat it at the right tables.

    It plays each of the rules with each of the numbers of players that they can seat.

    Attributes:
        rules: names of presets.
        options: what differs from them.
        num_players: numbers of players.
        hidden: width of each hidden layer.
        layout_version: of the observation.
        suits_in_order: whether it sees the suits in the order of `nap_env.agents.features`.
        layout_hash: of the observation.
        content: what the names and options meant when it was trained, by default today.

    Raises:
        ValueError: rules or options are impossible, or the observation has another layout today.
    """

    rules: tuple[str, ...]
    options: dict[str, Any]
    num_players: tuple[int, ...]
    hidden: tuple[int, ...]
    layout_version: int
    suits_in_order: bool
    layout_hash: str = LAYOUT_HASH
    content: tuple[Rules, ...] = ()

    def __post_init__(self) -> None:
        if (self.layout_version, self.layout_hash) != (LAYOUT_VERSION, LAYOUT_HASH):
            raise ValueError(
                f"trained on observation layout {self.layout_version} ({self.layout_hash}), "
                f"this nap_env has {LAYOUT_VERSION} ({LAYOUT_HASH}): train again"
            )
        for name in ("rules", "num_players", "hidden"):
            if not getattr(self, name):
                raise ValueError(f"{name}=(): at least one is needed")
        for players in self.num_players:
            if not is_whole(players):
                raise ValueError(f"num_players={players!r}: a whole number is needed")
        flag("suits_in_order", self.suits_in_order)
        if not self.content:
            content = tuple(resolve(name, self.options) for name in self.rules)
            object.__setattr__(self, "content", content)

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Training":
        """Read what `asdict`, and perhaps JSON, have made of one.

        Options that it does not name were no options yet; their defaults leave the game as it was.

        Raises:
            ValueError: it was made by another version of this package, or is as for `Training`.
        """
        names = {field.name for field in fields(Training)}
        if not isinstance(told, Mapping) or told.keys() != names:
            changed = ", ".join(sorted(names ^ set(told))) if isinstance(told, Mapping) else "all"
            raise ValueError(f"written by another nap_env, which differs in {changed}: train again")
        lists = {name: told[name] for name in ("rules", "num_players", "hidden", "content")}
        for name, listed in lists.items():
            if not isinstance(listed, list | tuple):
                raise ValueError(f"{name}={listed!r}: a list is needed")
        try:
            content = tuple(
                _restored(Rules, {**rules, "bids": [_restored(Bid, bid) for bid in rules["bids"]]})
                for rules in told["content"]
            )
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not what a network was trained on: {error!r}") from None
        lists = {name: tuple(listed) for name, listed in lists.items()}
        return Training(**{**told, **lists, "content": content})

    @property
    def tables(self) -> list[tuple[Rules, int]]:
        """The rules and numbers of players that it plays.

        Raises:
            ValueError: rules, options or numbers of players that are impossible.
        """
        rules = self.content
        for each in rules:
            if not set(self.num_players) & set(_seated(each)):
                each.check_players(self.num_players[0])
        for players in self.num_players:
            if not any(players in _seated(each) for each in rules):
                rules[0].check_players(players)
        return [(each, n) for each in rules for n in self.num_players if n in _seated(each)]

    @property
    def observation_layout(self) -> str:
        """One layout for all if it plays at several tables."""
        return "full" if len(self.tables) > 1 else "fixed"

    @property
    def num_features(self) -> int:
        """Entries of an observation, K."""
        return layout(*self.tables[0], self.observation_layout).size

    def table(self, rules: Rules | None, num_players: int | None) -> tuple[Rules, int]:
        """Return the one table of these rules and players, None: whatever it plays.

        Raises:
            ValueError: there is none, or there are several; or the rules, those of today if None,
                differ from what it was trained under in more than the length of a match.
        """
        found = [
            (each, n)
            for each, n in self.tables
            if (rules is None or rules.name == each.name) and num_players in (None, n)
        ]
        if len(found) == 1:
            trained, players = found[0]
            rules = rules or resolve(trained.name, self.options)
            changed = differences(trained, rules, () if shows_match(trained) else MATCH_LENGTH)
            if changed:
                raise ValueError(
                    f"{changed}; seat it at {trained.name} with options "
                    f"{json.dumps(trained.options)}, or train a network for these rules"
                )
            return rules, players
        options = f" with {self.options}" if self.options else ""
        asked = " with ".join(
            [rules.name if rules else "any rules", f"{num_players or 'any'} players"]
        )
        raise ValueError(
            f"plays {' '.join(self.rules)}{options} with {' '.join(map(str, self.num_players))} "
            f"players: {asked} is {'not one' if found else 'none'} of these tables"
        )

    def check(self, weights: Weights) -> None:
        """Refuse what are not the weights, float32 (num_weights,), of such a network.

        Raises:
            ValueError: their number is another one, or one of them is not a finite number.
        """
        needed = (num_weights(widths_of(self.num_features, self.hidden)),)
        weights = np.asarray(weights)
        if weights.dtype != np.float32 or weights.shape != needed:
            raise ValueError(
                f"weights: {weights.dtype} {weights.shape}, float32 {needed} are needed"
            )
        broken = int(np.count_nonzero(~np.isfinite(weights)))
        if broken:
            raise ValueError(f"weights: {broken} of them are not finite numbers: train again")


def shows_match(rules: Rules) -> bool:
    """Return whether the fields OF_THE_MATCH are ever anything but 0."""
    return rules.pool_start > 0 or (rules.deals or rules.max_deals) > 1


def differences(trained: Rules, today: Rules, besides: Sequence[str] = ()) -> str:
    """Say option by option in what rules differ, leaving out those `besides`."""
    before, now = (
        {
            **asdict(rules),
            "bids": [bid.name for bid in rules.bids],
            **{
                f"{column} of {bid.name}": value
                for bid in rules.bids
                for column, value in asdict(bid).items()
            },
        }
        for rules in (trained, today)
    )
    return "; ".join(
        f"{name}: trained with {before[name]!r}, here it is {now[name]!r}"
        for name in before
        if name in now and name not in besides and before[name] != now[name]
    )


def _restored(kind: type[_Row], told: Mapping[str, Any]) -> _Row:
    """Return the row that `asdict` and JSON have made a mapping of."""
    unknown = told.keys() - {field.name for field in fields(kind)}
    if unknown:
        raise ValueError(f"trained under {', '.join(sorted(unknown))}, no option of today's rules")
    return kind(**told)


def _seated(rules: Rules) -> range:
    fewest, most = rules.player_range
    return range(fewest, most + 1)


def chips_per_reward(num_players: int) -> int:
    """Return the unit of a network's value: a made Nap, 10 chips from each opponent, is 2."""
    return 5 * (num_players - 1)


def widths_of(num_features: int, hidden: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the widths of all layers, features first, int64 (L + 1,).

    Raises:
        ValueError: a width that is not a multiple of LANES.
    """
    for width in hidden:
        if not is_whole(width) or width < 1 or width % LANES:
            raise ValueError(f"hidden={tuple(hidden)}: widths must be multiples of {LANES}")
    if not hidden:
        raise ValueError("hidden=(): at least one layer is needed")
    return np.array([num_features, *hidden], np.int64)


def parts(widths: npt.NDArray[np.int64]) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Return where each matrix and bias stands in the flat array, and its shape, by name."""
    place, found = 0, {}

    def add(name: str, *shape: int) -> None:
        nonlocal place
        found[name] = place, shape
        place += math.prod(shape)

    for layer, (before, width) in enumerate(pairwise(widths.tolist())):
        add(f"layers.{layer}.weight", before, width)
        add(f"layers.{layer}.bias", width)
    add("heads.weight", NUM_HEADS, int(widths[-1]))
    add("heads.bias", NUM_HEADS)
    return found


def num_weights(widths: npt.NDArray[np.int64]) -> int:
    """Return the length of the flat array."""
    place, shape = list(parts(widths).values())[-1]
    return place + math.prod(shape)


def net_of(weights: Weights, widths: npt.NDArray[np.int64], factors: Weights) -> Net:
    """Return a network of these weights and widths, with these factors of the features."""
    return Net(weights, widths, parts(widths)["heads.weight"][0], factors)


def block_of(widths: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Return the shape of the hidden layers of a block of rows: (L, BLOCK * the widest)."""
    return len(widths) - 1, BLOCK * int(widths[1:].max())


@kernel
def forward(net, decisions, rows, first, count, hidden):
    """Compute the hidden layers of some rows.

    Args:
        net: Net.
        decisions: Decisions.
        rows: int64, numbers of the rows.
        first: which of `rows` are meant: those from here on,
        count: so many.
        hidden: float32 (L, at least count * width) is written: row i of layer l at i * width.
    """
    weights, widths, factors = net.weights, net.widths, net.factors
    starts, places, values = decisions.starts, decisions.places, decisions.values
    width = widths[1]
    bias = widths[0] * width
    layer = hidden[0]
    for i in range(count):
        at = i * width
        copy(layer, at, weights, bias, width)
        row = rows[first + i]
        for k in range(starts[row], starts[row + 1]):
            place = np.int64(places[k])
            factor = factors[place] * np.float32(values[k])
            add_scaled(layer, at, factor, weights, place * width, width)
        for j in range(width):
            layer[at + j] = max(layer[at + j], np.float32(0))
    at = bias + width
    for number in range(2, len(widths)):
        before = width
        width = widths[number]
        bias = at + before * width
        below = layer
        layer = hidden[number - 1]
        for i in range(count):
            copy(layer, i * width, weights, bias, width)
        add_product(layer, 0, below, 0, before, 1, weights, at, count, before, width)
        for k in range(count * width):
            layer[k] = max(layer[k], np.float32(0))
        at = bias + width


@kernel
def head(net, number, layer, i):
    """Return what a head says of row `i` of the last layer."""
    width = net.widths[len(net.widths) - 1]
    value = dot(layer, i * width, net.weights, net.heads + number * width, width)
    return value + net.weights[net.heads + NUM_HEADS * width + number]


@kernel
def log_policy(net, layer, i, actions, start, end, log_probs, at):
    """Write the log probabilities of the legal actions of a row.

    Args:
        net: Net.
        layer: float32, the rows of the last layer one after the other.
        i: which of them.
        actions: uint8, the legal actions of all rows.
        start: where those of this row start,
        end: and end.
        log_probs: float32, is written.
        at: from here on.
    """
    highest = np.float32(-np.inf)
    for k in range(start, end):
        logit = head(net, np.int64(actions[k]), layer, i)
        log_probs[at + k - start] = logit
        highest = max(highest, logit)
    total = 0.0
    for k in range(end - start):
        total += math.exp(log_probs[at + k] - highest)
    shift = highest + np.float32(math.log(total))
    for k in range(end - start):
        log_probs[at + k] -= shift


@kernel
def choose(g, log_probs, at, count):
    """Draw the number of an action, from the game's own stream."""
    left = draw(g, _DRAWS) / _DRAWS
    for k in range(count - 1):
        left -= math.exp(log_probs[at + k])
        if left < 0:
            return k
    return count - 1


@kernel
def _answer(games, rules_of, asked, argmax, net, sight, answers, expected, policies):
    """Choose an action in each of the games `asked`, and say what the seat expects there.

    Where `policies` has rows, the chances of the actions are written into them, too.
    """
    rules = rules_of[0]
    view = sight.views[0]
    size = min(BLOCK, len(asked))
    features = size * len(sight.entries)
    places, values = np.empty(features, np.uint16), np.empty(features, np.int8)
    starts, action_starts = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    actions = np.empty(size * NUM_ACTIONS, np.uint8)
    decisions = Decisions(starts, places, values, action_starts, actions)
    hidden = np.empty((len(net.widths) - 1, size * net.widths[1:].max()), np.float32)
    log_probs = np.empty(NUM_ACTIONS, np.float32)
    rows = np.arange(size)
    last = hidden[len(net.widths) - 2]
    for first in range(0, len(asked), BLOCK):
        count = min(BLOCK, len(asked) - first)
        for i in range(count):
            starts[i + 1], action_starts[i + 1] = write_decision(
                games[asked[first + i]], rules, sight.in_order, sight.entries, view, places,
                values, starts[i], actions, action_starts[i],
            )  # fmt: skip
        forward(net, decisions, rows, 0, count, hidden)
        for i in range(count):
            g = games[asked[first + i]]
            start = action_starts[i]
            end = action_starts[i + 1]
            log_policy(net, last, i, actions, start, end, log_probs, 0)
            if argmax:
                number = np.int64(0)
                for k in range(1, end - start):
                    if log_probs[k] > log_probs[number]:
                        number = np.int64(k)
            else:
                number = choose(g, log_probs, 0, end - start)
            answers[first + i] = legal_action(g, number)
            if len(policies) > 0:
                for k in range(end - start):
                    policies[first + i, legal_action(g, np.int64(k))] = math.exp(log_probs[k])
            expected[first + i] = head(net, VALUE_HEAD, last, i)


class NetworkAgent(SeatedAgent):
    """A trained network as a player.

    Attributes:
        rules: what it plays,
        num_players: and with how many.
        training: what it was trained to play.
        policy: `sampled` draws from its policy with the game's own stream, `argmax` takes the
            likeliest action.
    """

    def __init__(
        self,
        weights: Weights,
        training: Training,
        policy: str = "sampled",
        rules: Rules | None = None,
        num_players: int | None = None,
    ) -> None:
        """Seat a network.

        Args:
            weights: float32 (num_weights,).
            training: what it was trained to play.
            policy: one of POLICIES.
            rules: what it is to play; None if it plays only one thing.
            num_players: the same.

        Raises:
            ValueError: weights, policy or table do not fit.
        """
        one_of("policy", policy, POLICIES)
        training.check(weights)
        self.training, self.policy = training, policy
        super().__init__(*training.table(rules, num_players))
        form = training.observation_layout
        seen = layout(self.rules, self.num_players, form)
        widths = widths_of(seen.size, training.hidden)
        table = entries(seen)
        trained = next(rules for rules in training.content if rules.name == self.rules.name)
        self._knows_length = shows_match(trained)
        if not self._knows_length:  # in longer matches it plays as in a single deal
            for name in OF_THE_MATCH:
                table["factor"][seen.slice(name)] = 0
        self._net = net_of(
            np.ascontiguousarray(weights, np.float32), widths, np.ascontiguousarray(table["factor"])
        )
        self._sight = Sight(training.suits_in_order, table, seen.new_view())

    def _plays(self, rules: Rules) -> bool:
        return super()._plays(rules) and (rules == self.rules or not self._knows_length)

    @property
    def weights(self) -> Weights:
        """Its weights, float32 (T,)."""
        return self._net.weights

    def answer(
        self, games: Games, rows: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Return its actions, int64 (n,), and the chips its seat expects to win, float32 (n,)."""
        return self._asked(games, rows, np.empty((0, NUM_ACTIONS), np.float32))

    def policies(self, games: Games, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        """Return how likely it takes each action as sampled, float32 (n, NUM_ACTIONS)."""
        policies = np.zeros((len(rows), NUM_ACTIONS), np.float32)
        self._asked(games, rows, policies)
        return policies

    def _asked(
        self, games: Games, rows: npt.NDArray[np.intp], policies: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Return its actions and what it expects, and fill `policies` in if it has rows."""
        rows = self._checked(games, rows)
        answers = np.empty(len(rows), np.int64)
        expected = np.empty(len(rows), np.float32)
        sight = self._sight._replace(views=self._sight.views.copy())  # another thread may ask, too
        _answer(
            games.games, self._table, rows, self.policy == "argmax", self._net, sight, answers,
            expected, policies,
        )  # fmt: skip
        return answers, expected * np.float32(chips_per_reward(self.num_players))

    def __call__(self, games: Games, rows: npt.NDArray[np.intp]) -> Ints:
        """Return its actions, int64 (n,)."""
        return self.answer(games, rows)[0]


def packed(weights: Weights, training: Training, note: str) -> bytes:
    """Return a network as the content of an npz file; `note` says how it came about."""
    content = io.BytesIO()
    np.savez_compressed(content, weights=weights, training=json.dumps(asdict(training)), note=note)
    return sealed_archive(content)


def load_network(
    path: Path | Traversable,
    policy: str = "sampled",
    rules: Rules | None = None,
    num_players: int | None = None,
) -> NetworkAgent:
    """Read a network that was `packed`, and seat it.

    Raises:
        ValueError: the file is damaged, it is not one of these, or it does not play this.
    """
    content = unsealed(path)
    try:
        with np.load(io.BytesIO(content)) as file:
            told, weights = json.loads(str(file["training"])), file["weights"]
    except Exception:  # what numpy raises depends on what else the file is
        raise ValueError(f"{path}: not a network that training.export wrote") from None
    try:
        return NetworkAgent(weights, Training.of(told), policy, rules, num_players)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
