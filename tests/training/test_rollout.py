"""Per-seat trajectories: who is paid for what, and advantages computed by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nap_env.batch import Batch
from training.network import Network
from training.rollout import Rollout, advantages, collect


def rollout(steps, values, payments):
    """Build a rollout from the chains that decide in each step; the rest does not matter here."""
    chain = np.concatenate(steps).astype(np.int64)
    rows = len(chain)
    return Rollout(
        observation=np.zeros((rows, 1), np.int8),
        legal=np.ones((rows, 78), np.bool_),
        action=np.zeros(rows, np.int64),
        log_prob=np.zeros(rows, np.float32),
        value=np.array(values, np.float32),
        chain=chain,
        starts=np.cumsum([0, *map(len, steps)]),
        payments=np.array(payments, np.int32),
    )


def test_reward_is_the_payment_on_a_seats_last_decision_of_the_deal():
    # One game, two deals, three seats: chains 0 1 2 in the first deal, 3 4 5 in the second.
    # Seat 1 passes and never acts again; seat 2 has no decision in the second deal.
    deals = rollout(
        [[0], [1], [2], [0], [2], [0], [3], [4], [3]], [0] * 9, [[-6, 3, 3], [8, -4, -4]]
    )
    assert deals.rewards(1).tolist() == [0, 3, 0, 0, 3, -6, 0, -4, 8]
    assert deals.rewards(2).tolist() == [0, 1.5, 0, 0, 1.5, -3, 0, -2, 4]


def test_advantages_by_hand():
    # Two games of one deal, two seats, so chains are 2 * game + seat; payments in reward are
    # (4, -4) and (-2, 2). Seat 0 of game 0 decides three times, seat 1 once; game 1 ends sooner.
    deals = rollout(
        [[0, 2], [1, 3], [0, 2], [0]], [1.0, 0.5, -1.0, 0.25, 2.0, 0.0, 3.0], [[4, -4], [-2, 2]]
    )
    # lambda = 0.5, chain 0 backwards: last 4 - 3 = 1; then (3 - 2) + 0.5 * 1 = 1.5; first
    # (2 - 1) + 0.5 * 1.5 = 1.75. Chain 1: -4 + 1 = -3. Chain 2: last -2 - 0 = -2; first
    # (0 - 0.5) + 0.5 * -2 = -1.5. Chain 3: 2 - 0.25 = 1.75.
    expected = [1.75, -1.5, -3, 1.75, 1.5, -2, 1]
    assert advantages(deals.rewards(1), deals, 0.5).tolist() == expected


def test_lambda_1_is_what_the_seat_got_less_what_it_expected():
    deals = rollout([[0], [1], [0], [0]], [1, 2, 3, 4], [[10, -10]])
    assert advantages(deals.rewards(1), deals, 1).tolist() == [9, -12, 7, 6]


def test_lambda_0_looks_only_at_the_seats_own_next_value():
    deals = rollout([[0], [1], [0], [0]], [1, 2, 3, 4], [[10, -10]])
    assert advantages(deals.rewards(1), deals, 0).tolist() == [2, -12, 1, 6]


def test_nothing_leaks_between_seats_deals_and_games():
    random = np.random.default_rng(0)
    steps = [random.permutation(6)[: random.integers(1, 7)] for _ in range(20)]
    rows = sum(map(len, steps))
    values, payments = random.normal(size=rows), random.integers(-9, 9, (2, 3))
    before = rollout(steps, values, payments)
    for chain in range(6):
        mine = before.chain == chain
        other_values = np.where(mine, values, random.normal(size=rows))
        other_payments = random.integers(-9, 9, 6)
        other_payments[chain] = payments.ravel()[chain]
        after = rollout(steps, other_values, other_payments.reshape(2, 3))
        np.testing.assert_array_equal(
            advantages(before.rewards(1), before, 0.95)[mine],
            advantages(after.rewards(1), after, 0.95)[mine],
        )


class ScriptedGames:
    """Games whose moves are written down: per game and deal a list of (seat, legal actions)."""

    num_actions, num_players = 78, 2

    def __init__(self, script, payments):
        self.script, self.paid = script, payments
        self.num_games = len(script)
        self.played = []

    def reset(self, seed):
        self.at = [(0, 0)] * self.num_games
        self._show(np.zeros(self.num_games, np.bool_))

    def _show(self, done):
        moves = [self.script[g][d][m] for g, (d, m) in enumerate(self.at)]
        self.seat = np.array([seat for seat, _ in moves], np.int8)
        self.action_mask = np.array([[a < n for a in range(78)] for _, n in moves], np.int8)
        self.observation = np.array([[g, *self.at[g]] for g in range(self.num_games)], np.int8)
        self.done = done
        self.payments = np.zeros((self.num_games, 2), np.int32)

    def sample(self):
        return np.zeros(self.num_games, np.int64)

    def step(self, actions):
        done = np.zeros(self.num_games, np.bool_)
        ended = []
        for game, (deal, move) in enumerate(self.at):
            assert self.action_mask[game, actions[game]]
            done[game] = move + 1 == len(self.script[game][deal])
            if done[game]:
                ended.append((game, self.paid[game][deal]))
            # Behind the last deal the first one comes again, as games go on dealing.
            next_deal = (deal + 1) % len(self.script[game])
            self.at[game] = (next_deal, 0) if done[game] else (deal, move + 1)
        self._show(done)
        for game, paid in ended:
            self.payments[game] = paid


def network(observation_size):
    generator = torch.Generator().manual_seed(0)
    return Network(torch.ones(observation_size), 78, (8,), generator)


def test_collect_takes_every_decision_of_complete_deals_and_nothing_else():
    games = ScriptedGames(
        script=[
            [[(0, 2), (1, 1), (0, 3)], [(1, 2)]],  # seat 1 is forced in the first deal
            [[(1, 2), (0, 2), (1, 1), (0, 1), (1, 5)], [(0, 4), (1, 2)]],
        ],
        payments=[[(5, -5), (-1, 1)], [(2, -2), (7, -7)]],
    )
    deals = collect(games, network(3), 2, 0, torch.Generator().manual_seed(0))
    # Rows in the order of steps: (game, deal, move) as observed, and (2 * game + deal) * 2 + seat.
    assert deals.observation.tolist() == [
        *([0, 0, 0], [1, 0, 0]),
        [1, 0, 1],
        [0, 0, 2],
        [0, 1, 0],
        [1, 0, 4],
        [1, 1, 0],
        [1, 1, 1],
    ]
    assert deals.chain.tolist() == [0, 5, 4, 0, 3, 5, 6, 7]
    assert deals.payments.tolist() == [[5, -5], [-1, 1], [2, -2], [7, -7]]
    assert deals.rewards(1).tolist() == [0, 0, 2, 5, 1, -2, 7, -7]
    assert deals.legal.sum(1).tolist() == [2, 2, 2, 3, 2, 5, 4, 2]


@pytest.fixture(scope="module")
def real():
    games = Batch(rules="standard", num_players=4, num_games=200, seed=0, skip_forced=True)
    net = network(games.observation_size)
    return collect(games, net, 3, 5, torch.Generator().manual_seed(0)), games


def test_collect_on_real_games(real):
    deals, _ = real
    assert deals.payments.shape == (200 * 3, 4)
    assert not deals.payments.sum(1).any()
    assert deals.legal.sum(1).min() >= 2
    assert deals.legal[np.arange(len(deals.action)), deals.action].all()
    assert (deals.log_prob <= 0).all()
    decided = np.unique(deals.chain)
    assert deals.rewards(1).sum() == deals.payments.ravel()[decided].sum()
    for start, end in zip(deals.starts, deals.starts[1:], strict=False):
        game = deals.chain[start:end] // (3 * 4)
        assert len(set(game)) == end - start


def test_collect_again_is_the_same(real):
    deals, games = real
    again = collect(games, network(games.observation_size), 3, 5, torch.Generator().manual_seed(0))
    for name, value in vars(deals).items():
        np.testing.assert_array_equal(value, getattr(again, name))


def test_all_pass_deals_count():
    script = SimpleNamespace(deal=[(0, 2), (1, 2)])
    games = ScriptedGames(script=[[script.deal]], payments=[[(0, 0)]])
    deals = collect(games, network(3), 1, 0, torch.Generator().manual_seed(0))
    assert deals.payments.tolist() == [[0, 0]]
    assert advantages(deals.rewards(1), deals, 0.95).tolist() == (-deals.value).tolist()
