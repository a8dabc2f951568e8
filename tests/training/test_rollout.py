"""Per-seat trajectories: who is paid for what, and advantages computed by hand."""

import numpy as np
import pytest

from nap_env.actions import FIRST_BID, NUM_ACTIONS, IllegalActionError
from nap_env.agents import make
from nap_env.agents.network import (
    Decisions,
    NetworkAgent,
    Training,
    chips_per_reward,
    num_weights,
)
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
    decisions = Decisions.room(len(rows), 0, len(copies))
    decisions.action_starts[:] = starts
    rollout._judge(
        Rollout(
            rows, decisions, np.array(log_probs, np.float32), worth, np.array(copies, np.int32),
            payments,
        ),
        1.0, gae_lambda,
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


def play(
    what, num_games=300, branch_share=0.0, opponents=None, seed=0, first=0, times=1, weights=None
):
    ((rules, num_players),) = what.tables
    players = Players(
        rules, num_players, what, first, num_games, seed, branch_share, opponents
    )  # fmt: skip
    if weights is None:
        weights = new_weights(players.net.widths, 0)
    random = np.random.default_rng(seed)
    for _ in range(times):
        found = players.play(weights, 0.95, random)
    return players, found


@pytest.mark.parametrize(
    ("rules", "players"), [("standard", 4), ("pub", 5), ("draw", 3), ("seven_card", 3)]
)
def test_every_decision_of_complete_deals_and_nothing_else(rules, players):
    what = plan(rules, players)
    seats, found = play(what, times=3)
    rows = found.rows
    assert (seats.games["phase"] == OVER).all()
    assert (np.diff(found.decisions.action_starts) >= 2).all()  # forced moves are no decisions
    assert (rows["chosen"] < np.diff(found.decisions.action_starts)).all()
    np.testing.assert_array_equal(
        rows["log_prob"], found.log_probs[found.decisions.action_starts[:-1] + rows["chosen"]]
    )
    sums = np.add.reduceat(np.exp(found.log_probs), found.decisions.action_starts[:-1])
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    after = rows[rows["role"] != IN_AUCTION]
    declares = seats.games["declarer"][after["chain"] // players] == after["chain"] % players
    np.testing.assert_array_equal(declares, after["role"] == DECLARER)
    # What was decided is what happened: the same number of events had a choice.
    events = seats.games["num_events"].sum()
    assert len(rows) < events
    assert found.decisions.actions.max() < NUM_ACTIONS
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
    for left, right in zip([*whole, *whole.decisions], [*again, *again.decisions], strict=True):
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right)
    _, part = play(plan(), 100, first=200)
    np.testing.assert_array_equal(part.payments, whole.payments[200:])
    _, other = play(plan(), 300, seed=1)
    assert (other.payments != whole.payments).any()


def test_the_network_has_one_seat_of_each_game_among_opponents():
    named = {name: make(name) for name in ("random", "passer")}
    seats, _ = play(plan(), 2000, opponents=named)
    assert (seats.games["phase"] == OVER).all()
    assert ((seats.sits == 0).sum(1) == 1).all()
    shares = (seats.sits == 0).mean(0)
    np.testing.assert_allclose(shares, 1 / 4, atol=0.04)
    # All others are one opponent's, as often of the one as of the other.
    assert (np.ptp(np.where(seats.sits, seats.sits, seats.sits.max(1)[:, None]), axis=1) == 0).all()
    assert (seats.sits.max(1) == 1).mean() == pytest.approx(1 / 2, abs=0.04)
    # Where everybody else passes, nobody else declares.
    passed = seats.sits.max(1) == 2
    declarer = seats.games["declarer"][passed]
    assert (seats.sits[passed][np.arange(passed.sum()), declarer][declarer >= 0] == 0).all()


def test_decisions_of_opponents_are_no_rows():
    seats, found = play(plan(), opponents={"heuristic": make("heuristic")}, branch_share=0.9)
    game, seat = np.divmod(found.rows["chain"], 4)
    main = game < 300
    assert not main.all()  # there are copies, played on to the end, too
    assert (seats.sits[game[main], seat[main]] == 0).all()
    assert (seats.games["phase"][np.unique(game)] == OVER).all()
    # The auction branches in most of these deals, although the network often speaks late.
    assert found.rows["branches"].sum() > 150


def test_among_opponents_like_itself_it_plays_the_deals_of_self_play():
    what = plan()
    weights = new_weights(Players(resolve("standard"), 4, what, 0, 1, 0, 0.0).net.widths, 3)
    itself = {"itself": NetworkAgent(weights, what)}
    _, alone = play(what, times=2, weights=weights, branch_share=0.4)
    seats, among = play(what, times=2, weights=weights, branch_share=0.4, opponents=itself)
    np.testing.assert_array_equal(among.payments, alone.payments)
    game, seat = np.divmod(alone.rows["chain"], 4)
    mine = np.flatnonzero(game < 300)
    mine = mine[seats.sits[game[mine], seat[mine]] == 0]

    def told(rows):
        return np.sort(rows[["chain", "chosen", "role", "log_prob", "value"]])

    of_games = among.rows[among.rows["chain"] < 4 * 300]  # not of copies
    np.testing.assert_array_equal(told(of_games), told(alone.rows[mine]))


def test_an_opponent_may_be_a_network_of_another_kind():
    wide = Training(("standard", "parlett"), {}, (3, 4), (32, 48), LAYOUT_VERSION, False)
    rules = resolve("standard")
    size = Players(rules, 4, wide, 0, 1, 0, 0.0).net.widths
    seats, found = play(plan(), opponents={
        "wide": NetworkAgent(new_weights(size, 1), wide, "argmax", rules, 4),
    })  # fmt: skip
    assert (seats.games["phase"] == OVER).all()
    assert not found.payments.sum(1).any()


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda games, rows: np.full(len(rows), 99), IllegalActionError, "opponent 'wrong': .*99"),
        (lambda games, rows: np.full(len(rows), -1), IllegalActionError, "opponent 'wrong': .*-1"),
        (lambda games, rows: rows[:1], ValueError, "player 'wrong' answered"),
    ],
)
def test_an_opponent_that_breaks_the_rules_is_named(answer, error, message):
    with pytest.raises(error, match=message):
        play(plan(), opponents={"wrong": answer})


def test_a_branching_auction_takes_every_legal_action_once():
    seats, found = play(plan(), 400, branch_share=0.5)
    rows = found.rows
    branching = np.flatnonzero(rows["branches"])
    assert 60 < len(branching) <= 220
    assert (rows["role"][branching] == IN_AUCTION).all()
    copies = 0
    for row in branching:
        start, end = found.decisions.action_starts[row], found.decisions.action_starts[row + 1]
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
        weights = new_weights(players.net.widths, 0)
        parts.append(players.play(weights, 0.9, np.random.default_rng(0)))
    whole = Rollout.join(parts)
    assert len(whole.rows) == sum(len(part.rows) for part in parts)
    row = len(parts[0].rows) + 7  # row 7 of the second part

    def of(rollout, row):
        decisions = rollout.decisions
        features = slice(decisions.starts[row], decisions.starts[row + 1])
        actions = slice(decisions.action_starts[row], decisions.action_starts[row + 1])
        return (
            rollout.rows[row], decisions.places[features].tolist(),
            decisions.values[features].tolist(), decisions.actions[actions].tolist(),
            rollout.log_probs[actions].tolist(), rollout.worth[actions].tolist(),
        )  # fmt: skip

    assert of(whole, row) == of(parts[1], 7)
    assert of(whole, 7) == of(parts[0], 7)
    assert whole.decisions.starts[-1] == len(whole.decisions.places)
    assert whole.decisions.action_starts[-1] == len(whole.decisions.actions)


def test_weights_have_a_place_each():
    players = Players(resolve("standard"), 4, plan(), 0, 10, 0, 0.0)
    widths = players.net.widths
    assert new_weights(widths, 0).shape == (num_weights(widths),)
    assert FIRST_BID < NUM_ACTIONS
