"""What plans are worth in a small game, the best answers to them, and plans of an equilibrium.

A plan, float64 (S,), tells of each sequence how likely its side plays all of it; a policy, float64
(S,), how likely it takes the last action where it has come so far. `training.tree.Tree` has the
numbers; all sides stand in one array. Worth is in chips a deal.
"""

import numpy as np
import numpy.typing as npt

from nap_env.engine.kernel import kernel, subroutine
from training.tree import Tree

_NO_MORE = 1e-9
"""Chips that nobody goes on for."""

Floats = npt.NDArray[np.float64]


@kernel
def _weigh_ends(tree, side, plan, values):
    """Write what the sequences of a side bring where they end, as the others play."""
    ends = tree.ends
    for sequence in range(tree.side_sequences[side], tree.side_sequences[side + 1]):
        values[sequence] = 0
    for end in range(len(ends)):
        value = tree.chips[end, side]
        for other in range(ends.shape[1]):
            if other != side:
                value *= plan[ends[end, other]]
        values[ends[end, side]] += value


@kernel
def _follow(tree, side, policy, plan):
    """Write the plan of a side's policy."""
    plan[tree.side_sequences[side]] = 1
    for number in range(tree.side_sets[side], tree.side_sets[side + 1]):
        reached = plan[tree.parents[number]]
        first = tree.firsts[number]
        for sequence in range(first, first + tree.counts[number]):
            plan[sequence] = reached * policy[sequence]


@subroutine
def _follow_all(tree, policy, plan):
    for side in range(tree.ends.shape[1]):
        _follow(tree, side, policy, plan)


@subroutine
def _worth(tree, plan, worth):
    """Write what each side gets if all follow their plans."""
    ends = tree.ends
    for end in range(len(ends)):
        reached = 1.0
        for side in range(ends.shape[1]):
            reached *= plan[ends[end, side]]
        for side in range(ends.shape[1]):
            worth[side] += reached * tree.chips[end, side]


@subroutine
def _answer_best(tree, side, plan, values, policy):
    """Write the policy that gets a side most if the others follow their plans; return how much."""
    _weigh_ends(tree, side, plan, values)
    for number in range(tree.side_sets[side + 1] - 1, tree.side_sets[side] - 1, -1):
        best = tree.firsts[number]
        for sequence in range(best, tree.firsts[number] + tree.counts[number]):
            policy[sequence] = 0
            if values[sequence] > values[best]:
                best = sequence
        policy[best] = 1
        values[tree.parents[number]] += values[best]
    return values[tree.side_sequences[side]]


@subroutine
def _answer_together(tree, seat, plan, values, policy):
    """Let the other sides than `seat` answer best in turns, until all agree; return what they get.

    Their numbers in `tree.chips` are those of all of them together. Their plans are overwritten.
    """
    before = -np.inf
    while True:
        for side in range(tree.ends.shape[1]):
            if side != seat:
                best = _answer_best(tree, side, plan, values, policy)
                _follow(tree, side, policy, plan)
        if best - before < _NO_MORE:
            return best
        before = best


@subroutine
def _reach(tree, plan, reach):
    """Write how likely each sequence is played if all follow their plans, cards counted."""
    ends = tree.ends
    for end in range(len(ends)):
        reached = tree.chances[end]
        for side in range(ends.shape[1]):
            reached *= plan[ends[end, side]]
        for side in range(ends.shape[1]):
            reach[ends[end, side]] += reached
    for number in range(len(tree.parents) - 1, -1, -1):
        first = tree.firsts[number]
        for sequence in range(first, first + tree.counts[number]):
            reach[tree.parents[number]] += reach[sequence]


@subroutine
def _improve(tree, first, last, regrets, policy, plan, average, values):
    """Go from iteration `first` up to `last` of predictive CFR+, see `Solver`."""
    for iteration in range(first, last):
        weight = float(iteration) * iteration
        for side in range(tree.ends.shape[1]):
            _weigh_ends(tree, side, plan, values)
            for number in range(tree.side_sets[side + 1] - 1, tree.side_sets[side] - 1, -1):
                _match(tree, number, regrets, policy, values)
            _follow(tree, side, policy, plan)
            for sequence in range(tree.side_sequences[side], tree.side_sequences[side + 1]):
                average[sequence] += weight * plan[sequence]


@kernel
def _match(tree, number, regrets, policy, values):
    """Add to the regrets of a set, and choose by what they will be if the next ones are the same.

    What the set is worth goes to the sequence that leads to it.
    """
    start = tree.firsts[number]
    end = start + tree.counts[number]
    worth = 0.0
    for sequence in range(start, end):
        worth += policy[sequence] * values[sequence]
    values[tree.parents[number]] += worth
    total = 0.0
    for sequence in range(start, end):
        regret = values[sequence] - worth
        regrets[sequence] = max(0.0, regrets[sequence] + regret)
        policy[sequence] = max(0.0, regrets[sequence] + regret)
        total += policy[sequence]
    for sequence in range(start, end):
        policy[sequence] = policy[sequence] / total if total > 0 else 1 / (end - start)


def uniform(tree: Tree) -> Floats:
    """Return the policy that takes every action with the same chance."""
    policy = np.ones(tree.side_sequences[-1])
    policy[action_sequences(tree)] = np.repeat(1 / tree.counts, tree.counts)
    return policy


def action_sequences(tree: Tree) -> npt.NDArray[np.int64]:
    """Return the sequences of all sets, in their order: all but the empty ones."""
    return np.setdiff1d(np.arange(tree.side_sequences[-1]), tree.side_sequences[:-1])


def plan_of(tree: Tree, policy: Floats) -> Floats:
    """Return the plans of a policy."""
    plan = np.empty(tree.side_sequences[-1])
    _follow_all(tree, policy, plan)
    return plan


def policy_of(tree: Tree, plan: Floats) -> Floats:
    """Return the policy of plans, uniform where a side's own plan never comes."""
    policy = uniform(tree)
    actions = action_sequences(tree)
    reached = np.repeat(plan[tree.parents], tree.counts)
    comes = reached > 0
    policy[actions[comes]] = plan[actions[comes]] / reached[comes]
    return policy


def worth(tree: Tree, plan: Floats) -> Floats:
    """Return what each side gets, float64 (P,), if all follow their plans."""
    worth = np.zeros(tree.ends.shape[1])
    _worth(tree, plan, worth)
    return worth


def gains(tree: Tree, plan: Floats) -> Floats:
    """Return what each side would get more, float64 (P,), if it answered the others best."""
    values, policy = np.empty((2, len(plan)))
    best = [_answer_best(tree, side, plan, values, policy) for side in range(tree.ends.shape[1])]
    gained: Floats = np.array(best) - worth(tree, plan)
    return gained


def gain_in_turns(tree: Tree, plan: Floats, seat: int) -> float:
    """Return what the other sides gain together if in turns each answers best for all of them.

    Each side sees its own cards only. There may be more to gain by changing at once.
    """
    together = -tree.chips[:, [seat]]
    chips = np.repeat(together, tree.ends.shape[1], 1)
    values, policy = np.empty((2, len(plan)))
    best = _answer_together(tree._replace(chips=chips), seat, plan.copy(), values, policy)
    return float(best + worth(tree, plan)[seat])


def reach(tree: Tree, plan: Floats) -> Floats:
    """Return how likely each sequence is played, float64 (S,), if all follow their plans."""
    reach = np.zeros(len(plan))
    _reach(tree, plan, reach)
    return reach


class Solver:
    """Plans that come closer and closer to an equilibrium of two sides.

    Predictive CFR+ (Farina, Kroer and Sandholm, 2021): regrets never fall below 0, sides take
    turns, the policy answers the regrets as they will be if the last ones come again, and plans are
    averaged by the square of the iteration. With more sides nothing is known of where it goes.

    Attributes:
        tree: the game.
        iterations: how many so far.
    """

    def __init__(self, tree: Tree) -> None:
        """Begin with uniform play."""
        self.tree = tree
        self.iterations = 0
        self._policy = uniform(tree)
        self._plan = plan_of(tree, self._policy)
        self._regrets, self._average, self._values = np.zeros((3, len(self._plan)))

    def improve(self, iterations: int) -> None:
        """Do so many iterations more."""
        first = self.iterations + 1
        self.iterations += iterations
        _improve(
            self.tree, first, first + iterations, self._regrets, self._policy, self._plan,
            self._average, self._values,
        )  # fmt: skip

    @property
    def plan(self) -> Floats:
        """The averaged plans."""
        if not self.iterations:
            return self._plan
        starts = self.tree.side_sequences
        return self._average / np.repeat(self._average[starts[:-1]], np.diff(starts))


def exploitability(tree: Tree, plan: Floats) -> float:
    """Return the mean over the sides of what a best answer gains."""
    return float(gains(tree, plan).mean())
