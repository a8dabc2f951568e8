"""Tiny games as a whole in plain Python: every move of every deal by `Game`, nothing folded.

What a seat has seen is the list of what it saw at its turns, so that it forgets nothing.
"""

import itertools
from collections import defaultdict

from nap_env.cards import CARDS
from nap_env.game import Game
from nap_env.rules import rules_table


class Node:
    """A decision, of which one action may be the only one."""

    def __init__(self, seat, seen, actions):
        self.seat, self.seen, self.actions = seat, seen, actions  # actions: {id: Node or rewards}


class WholeGame:
    """A game; a policy is {seen: {action: probability}}, uniform where it is silent."""

    def __init__(self, rules, num_players):
        self.num_players = num_players
        self.nodes = {}  # by the cards and the moves that lead there
        self._game = Game(rules, num_players, seed=0)
        self._first = 0 if rules.first_bidder == "dealer" else num_players - 1
        self._draws = rules.buy or rules.draw != "none"
        table = rules_table(rules, num_players)[0]
        pack = [CARDS[card] for card in table["pack"][: table["pack_size"]]]
        sizes = [rules.hand_size] * num_players + [rules.widow_cards]
        self.deals = [self._deal(*dealt) for dealt in self._all_deals(pack, sizes)]

    def _all_deals(self, rest, sizes, dealt=()):
        if len(sizes) > len(dealt):
            for cards in itertools.combinations(rest, sizes[len(dealt)]):
                left = [card for card in rest if card not in cards]
                yield from self._all_deals(left, sizes, (*dealt, list(cards)))
        else:
            for stock in itertools.permutations(rest) if self._draws else [rest]:
                yield dealt, list(stock)

    def _deal(self, parts, stock):
        *hands, widow = parts
        turned = [(self._first + 1 + seat) % self.num_players for seat in range(self.num_players)]
        by_seat = [hands[turned.index(seat)] for seat in range(self.num_players)]
        self._game.set_up(dealer=self._first, hands=by_seat, widow=widow, stock=stock)
        return self._walk(((),) * self.num_players)

    def _walk(self, seen):
        game = self._game
        if game.over:
            return game.rewards()
        seat = game.seat
        mine = (*seen[seat], game.observe(seat)[0].tobytes())
        seen = (*seen[:seat], mine, *seen[seat + 1 :])
        node = self.nodes[name_of(game.record(), self._draws)] = Node(seat, mine, {})
        saved = game.games.copy()
        for action in game.legal_actions():
            game.step(action)
            node.actions[action] = self._walk(seen)
            game.games[:] = saved
        return node

    @property
    def information_sets(self):
        """What can be seen where there is a choice."""
        return {node.seen for node in self.nodes.values() if len(node.actions) > 1}

    def worth(self, policy):
        """Return what each seat gets in a deal."""
        worths = [_worth(deal, policy) for deal in self.deals]
        return [sum(column) / len(worths) for column in zip(*worths, strict=True)]

    def best(self, seat, policy):
        """Return what a seat gets at most in a deal where the others play a policy."""
        groups = defaultdict(list)  # by what the seat has seen: nodes, and how likely others let it
        reached = [(deal, 1.0) for deal in self.deals]
        for node, chance in reached:
            if isinstance(node, list):
                continue
            if node.seat == seat:
                groups[node.seen].append((node, chance))
                reached += [(child, chance) for child in node.actions.values()]
            else:
                shares = _shares(node, policy)
                reached += [(child, chance * shares[a]) for a, child in node.actions.items()]
        answers = {}

        def value(node):
            if isinstance(node, list):
                return node[seat]
            if node.seat != seat:
                shares = _shares(node, policy)
                return sum(shares[a] * value(child) for a, child in node.actions.items())
            if node.seen not in answers:
                group = groups[node.seen]
                answers[node.seen] = max(
                    node.actions,
                    key=lambda a: sum(chance * value(other.actions[a]) for other, chance in group),
                )
            return value(node.actions[answers[node.seen]])

        return sum(map(value, self.deals)) / len(self.deals)

    def exploitability(self, policy):
        """Return what a best answer gains, mean over the seats."""
        worth = self.worth(policy)
        seats = range(self.num_players)
        return sum(self.best(seat, policy) - worth[seat] for seat in seats) / self.num_players

    def solve(self, iterations):
        """Return what the seats get on average in so many iterations of CFR, the original one."""
        regrets = defaultdict(lambda: defaultdict(float))
        plans = defaultdict(lambda: defaultdict(float))

        def shares(node):
            mine = regrets[node.seen]
            positive = {a: max(0.0, mine[a]) for a in node.actions}
            total = sum(positive.values())
            return {a: p / total if total else 1 / len(positive) for a, p in positive.items()}

        def walk(node, reach):
            if isinstance(node, list):
                return node
            policy, seat = now[node.seen] if node.seen in now else shares(node), node.seat
            now[node.seen] = policy
            found = {}
            for action, child in node.actions.items():
                further = [r * policy[action] if s == seat else r for s, r in enumerate(reach)]
                found[action] = walk(child, further)
                plans[node.seen][action] += reach[seat] * policy[action]
            values = [sum(policy[a] * found[a][s] for a in found) for s in range(self.num_players)]
            others = 1.0
            for s, r in enumerate(reach):
                others *= r if s != seat else 1
            for action in found:
                change[node.seen][action] += others * (found[action][seat] - values[seat])
            return values

        for _ in range(iterations):
            now, change = {}, defaultdict(lambda: defaultdict(float))
            for deal in self.deals:
                walk(deal, [1.0] * self.num_players)
            for seen, changes in change.items():
                for action, regret in changes.items():
                    regrets[seen][action] += regret
        policy = {}
        for seen, plan in plans.items():
            total = sum(plan.values())
            policy[seen] = {a: p / total if total else 1 / len(plan) for a, p in plan.items()}
        return policy


def name_of(record, with_stock=False):
    """Return a name for the cards of a record and what has been done with them."""
    stock = record["stock"] if with_stock else []
    return str([record["hands"], record["widow"], stock, record["events"]])


def _shares(node, policy):
    silent = dict.fromkeys(node.actions, 1 / len(node.actions))
    return policy.get(node.seen, silent)


def _worth(node, policy):
    if isinstance(node, list):
        return node
    shares = _shares(node, policy)
    found = [[p * value for value in _worth(node.actions[a], policy)] for a, p in shares.items()]
    return [sum(column) for column in zip(*found, strict=True)]
