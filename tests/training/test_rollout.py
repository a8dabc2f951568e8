"""Per-seat trajectories: who is paid for what, and advantages computed by hand."""

import numpy as np
import pytest

from nap_env.actions import FIRST_BID, NUM_ACTIONS
from nap_env.agents.network import Training, chips_per_reward, num_weights
from nap_env.engine.state import OVER
from nap_env.observation import LAYOUT_VERSION
from nap_env.presets import resolve
from training import rollout
from training.network import new_weights
from training.rollout import DECLARER, IN_AUCTION, ROW, Players, Rollout


def judge(chains, values, payments, gae_lambda, branches=None):
    """Return advantages of rows with these chains and values, and what the branches brought.

    branches: by row, the games in which its actions were taken and their probabilities.
    """
    branches = branches or {}
    rows = np.zeros(len(chains), ROW)
    rows["chain"], rows["value"] = chains, values
    starts, copies, log_probs = [0], [], []
    for row in range(len(chains)):
        games, shares = branches.get(row, ((), ()))
        rows["branches"][row] = row in branches
        copies += games
        log_probs += np.log(shares).tolist()
        starts.append(len(copies))
    payments = np.array(payments, np.int32)
    worth = np.zeros(len(copies), np.float32)
    rollout._judge(
        rows, len(rows), payments.shape[1], payments, 1.0, gae_lambda,
        np.zeros((2, payments.size), np.float32), np.array(starts),
        np.array(log_probs, np.float32), np.array(copies, np.int32), worth,
    )  # fmt: skip
    np.testing.assert_allclose(rows["returns"], rows["advantage"] + rows["value"])
    return rows["advantage"].tolist(), worth.tolist()


# Two games, two seats, so chains are 2 * game + seat. Seat 0 of game 0 decides three times, seat 1
# once; game 1 ends sooner.
CHAINS, VALUES = [0, 2, 1, 3, 0, 2, 0], [1.0, 0.5, -1.0, 0.25, 2.0, 0.0, 3.0]
PAYMENTS = [[4, -4], [-2, 2]]


def test_advantages_by_hand():
    # lambda = 0.5, chain 0 backwards: last 4 - 3 = 1; then (3 - 2) + 0.5 * 1 = 1.5; first
    # (2 - 1) + 0.5 * 1.5 = 1.75. Chain 1: -4 + 1 = -3. Chain 2: last -2 - 0 = -2; first
    # (0 - 0.5) + 0.5 * -2 = -1.5. Chain 3: 2 - 0.25 = 1.75.
    assert judge(CHAINS, VALUES, PAYMENTS, 0.5)[0] == [1.75, -1.5, -3, 1.75, 1.5, -2, 1]


def test_lambda_1_is_what_the_seat_got_less_what_it_expected():
    assert judge([0, 1, 0, 0], [1, 2, 3, 4], [[10, -10]], 1)[0] == [9, -12, 7, 6]


def test_lambda_0_looks_only_at_the_seats_own_next_value():
    assert judge([0, 1, 0, 0], [1, 2, 3, 4], [[10, -10]], 0)[0] == [2, -12, 1, 6]


def test_a_branching_decision_knows_what_each_action_brings():
    # Seat 1 of game 0 passes (game 0, probability 3/4) or bids (its copy, game 1).
    advantage, worth = judge(
        [1, 0], [2.0, 1.0], [[8, -8], [-12, 12]], 1, {0: ([0, 1], [0.75, 0.25])}
    )
    # Its mean is 3/4 of -8 and 1/4 of 12: -3. It expected 2.
    assert worth == pytest.approx([-5, 15])
    assert advantage == pytest.approx([-5, 7])


def plan(rules="standard", players=4, hidden=(16,)):
    return Training((rules,), {}, (players,), hidden, LAYOUT_VERSION, True)


def play(what, num_games=300, branch_share=0.0, past=False, seed=0, first=0, times=1):
    ((rules, num_players),) = what.tables
    players = Players(rules, num_players, what, first, num_games, seed, branch_share)
    weights = np.stack([new_weights(players.widths, n) for n in range(1 + past)])
    sits = np.zeros((num_games, num_players), np.int8)
    if past:
        sits[:, 1::2] = 1
    for _ in range(times):
        found = players.play(weights, sits, 0.95)
    return players, found


@pytest.mark.parametrize(
    ("rules", "players"), [("standard", 4), ("pub", 5), ("draw", 3), ("seven_card", 3)]
)
def test_every_decision_of_complete_deals_and_nothing_else(rules, players):
    what = plan(rules, players)
    seats, found = play(what, times=3)
    rows = found.rows
    assert (seats.games["phase"] == OVER).all()
    assert (np.diff(found.action_starts) >= 2).all()  # forced moves are no decisions
    assert (rows["chosen"] < np.diff(found.action_starts)).all()
    np.testing.assert_array_equal(
        rows["log_prob"], found.log_probs[found.action_starts[:-1] + rows["chosen"]]
    )
    sums = np.add.reduceat(np.exp(found.log_probs), found.action_starts[:-1])
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    after = rows[rows["role"] != IN_AUCTION]
    declares = seats.games["declarer"][after["chain"] // players] == after["chain"] % players
    np.testing.assert_array_equal(declares, after["role"] == DECLARER)
    # What was decided is what happened: the same number of events had a choice.
    events = seats.games["num_events"].sum()
    assert len(rows) < events
    assert found.actions.max() < NUM_ACTIONS
    if not resolve(rules).has_pool:
        assert not found.payments.sum(1).any()
    # The return of a seat's last decision is what it was paid.
    last = {chain: row for row, chain in enumerate(rows["chain"])}
    for chain, row in last.items():
        game, seat = divmod(chain, players)
        assert rows["returns"][row] == pytest.approx(
            found.payments[game, seat] / chips_per_reward(players), abs=1e-4
        )


def test_games_go_on_from_deal_to_deal():
    what = plan("pub", 4)
    seats, _ = play(what, times=1)
    first = seats.games["dealer"].copy()
    dealt = seats.games["deal_number"].copy()
    seats, _ = play(what, times=2)
    if resolve("pub").deals != 1:
        assert (seats.games["dealer"] != first).all()
    assert (seats.games["deal_number"] == dealt + 1).all()


def test_the_same_seed_plays_the_same_and_games_do_not_know_each_other():
    _, whole = play(plan(), 300)
    _, again = play(plan(), 300)
    for name, value in vars(whole).items():
        np.testing.assert_array_equal(value, getattr(again, name))
    _, part = play(plan(), 100, first=200)
    np.testing.assert_array_equal(part.payments, whole.payments[200:])
    _, other = play(plan(), 300, seed=1)
    assert (other.payments != whole.payments).any()


def test_decisions_of_a_past_network_are_no_rows():
    seats, found = play(plan(), past=True, branch_share=0.5)
    assert (found.rows["chain"] >= 4 * 300).any()  # among them decisions in copies
    assert set(found.rows["chain"] % 4) == {0, 2}
    assert (seats.games["phase"][:300] == OVER).all()


def test_a_branching_auction_takes_every_legal_action_once():
    seats, found = play(plan(), 400, branch_share=0.5)
    rows = found.rows
    branching = np.flatnonzero(rows["branches"])
    assert 60 < len(branching) <= 220
    assert (rows["role"][branching] == IN_AUCTION).all()
    copies = 0
    for row in branching:
        start, end = found.action_starts[row], found.action_starts[row + 1]
        worth, share = found.worth[start:end], np.exp(found.log_probs[start:end])
        assert share @ worth == pytest.approx(0, abs=1e-3)
        copies += end - start - 1
        # The game itself goes on with the action that was drawn: its chain ends with its payment.
        game, seat = divmod(rows["chain"][row], 4)
        assert game < 400
        brought = worth[rows["chosen"][row]] + rows["returns"][row]
        assert brought == pytest.approx(found.payments[game, seat] / 15, abs=1e-3)
    in_copies = np.unique(rows["chain"][rows["chain"] >= 1600] // 4)
    assert 0 < len(in_copies) <= copies
    # In the copies every bid is played, whatever the policy thinks of it.
    contracts = set(seats.games["contract"][in_copies])
    assert len(contracts) == len(resolve("standard").bids)
    assert found.payments.shape == (400, 4)  # copies left out


def test_joined_rollouts_hold_the_rows_of_all():
    what = Training(("standard",), {}, (3, 5), (16,), LAYOUT_VERSION, True)
    parts = []
    for rules, num_players in what.tables:
        players = Players(rules, num_players, what, 0, 50, 0, 0.2)
        sits = np.zeros((50, num_players), np.int8)
        parts.append(players.play(new_weights(players.widths, 0)[None], sits, 0.9))
    whole = Rollout.join(parts)
    assert len(whole.rows) == sum(len(part.rows) for part in parts)
    row = len(parts[0].rows) + 7  # row 7 of the second part

    def of(rollout, row):
        features = slice(rollout.starts[row], rollout.starts[row + 1])
        actions = slice(rollout.action_starts[row], rollout.action_starts[row + 1])
        return (
            rollout.rows[row], rollout.places[features].tolist(), rollout.values[features].tolist(),
            rollout.actions[actions].tolist(), rollout.log_probs[actions].tolist(),
            rollout.worth[actions].tolist(),
        )  # fmt: skip

    assert of(whole, row) == of(parts[1], 7)
    assert of(whole, 7) == of(parts[0], 7)
    assert whole.starts[-1] == len(whole.places)
    assert whole.action_starts[-1] == len(whole.actions)


def test_weights_have_a_place_each():
    players = Players(resolve("standard"), 4, plan(), 0, 10, 0, 0.0)
    assert new_weights(players.widths, 0).shape == (num_weights(players.widths),)
    assert FIRST_BID < NUM_ACTIONS
