"""The control variate: right on hands of cards, honest over many samples."""

import numpy as np
import pytest
from deals import deal

from nap_env.actions import BIDS
from nap_env.presets import resolve
from training.arena import Plays
from training.control_variate import ControlVariate, Moments, estimate, reason_against


def ended_in(bid, declarer):
    """A rehearsal of one deal at a table of four."""
    return Plays(
        declarer=np.array([declarer]),
        contract=np.array([BIDS.index(bid) if bid else -1]),
        made=np.array([False]),
        payments=np.array([[6, -2, -2, -2]]),
        bids=np.zeros((2, 0)),
    )


@pytest.mark.parametrize(
    ("bid", "declarer", "alone", "others"),
    [
        # Numbers: own contracts that can be made, that cannot, the others' that can, that cannot.
        ("nap", 0, [3 * 10, 0, 0, 0], [0, 0, -10, 0]),
        ("nap", 1, [0, 0, 0, 5], [0, (5 + 5 - 3 * 5) / 3, 0, 0]),
        ("misere", 0, [0, 3 * -3, 0, 0], [0, 0, 0, 3]),
        ("misere", 1, [0, 0, -3, 0], [(3 * 3 - 3 - 3) / 3, 0, 0, 0]),
        (None, -1, [0, 0, 0, 0], [0, 0, 0, 0]),
    ],
)
def test_what_a_contract_would_pay_with_open_cards_and_pays_in_the_rehearsal(
    bid, declarer, alone, others
):
    hands = {0: "AS KS QS JS TS", 1: "8C 8D 8H 9C 9D"}
    variate = ControlVariate(resolve("standard"), 4)
    variate.solve(deal("standard", hands, num_players=4))
    seat_0 = np.arange(4) == 0
    plays = ended_in(bid, declarer)
    assert variate.numbers(plays, seat_0)[0, :4] == pytest.approx(alone)
    assert variate.numbers(plays, ~seat_0)[0, :4] == pytest.approx(others)
    rehearsed = [
        [6 * (declarer == 0), 6 * (declarer == 1)],
        [-2 * (declarer == 1), -2 * (declarer == 0)],
    ]
    assert variate.numbers(plays, seat_0)[0, 4:] == pytest.approx(rehearsed[0])
    assert variate.numbers(plays, ~seat_0)[0, 4:] == pytest.approx(rehearsed[1])


def test_moments_of_blocks_are_those_of_all():
    features = np.random.default_rng(0).normal(5, [1, 2, 3, 4, 5, 6], (300, 6))
    moments = Moments()
    for block in np.split(features, [10, 200]):
        moments.add(block)
    assert moments.mean == pytest.approx(features.mean(0))
    assert moments.covariance == pytest.approx(np.cov(features.T))


def test_the_estimate_is_unbiased_and_its_interval_covers():
    rng = np.random.default_rng(0)

    def draw(size):
        """Sets as a game has them: mostly nothing, sometimes a price, most of it foretold."""
        features = rng.choice([-5, 0, 10], (size, 6), p=[0.1, 0.8, 0.1]).astype(float)
        return features @ [0.9, 0.3, 0.6, 0.2, 0, 0] + rng.normal(0, 2, size), features

    truth = 0.5 * (0.9 + 0.3 + 0.6 + 0.2)  # the mean of a feature is 0.5
    errors, covered, ratios = [], [], []
    for _ in range(1000):
        chips, features = draw(200)
        further = Moments()
        further.add(draw(2000)[1])
        mean, (low, high), ratio = estimate(chips, features, further)
        errors.append(mean - truth)
        covered.append(low < truth < high)
        ratios.append(ratio)
    standard_error = np.std(errors) / np.sqrt(1000)
    assert abs(np.mean(errors)) < 3 * standard_error
    assert 0.92 < np.mean(covered) < 0.98
    # Of the variance 4 is noise and 12.25 (0.81 + 0.09 + 0.36 + 0.04) = 15.9 foretold, a tenth
    # of which comes back with the further sets: 19.9 / (4 + 1.6).
    assert np.median(ratios) == pytest.approx(19.9 / 5.6, rel=0.1)


def test_further_sets_that_differ_from_the_sets_would_show():
    rng = np.random.default_rng(0)
    features = rng.normal(0, 1, (2000, 6))
    further = Moments()
    further.add(rng.normal(1, 1, (20000, 6)))
    mean, _, _ = estimate(features.sum(1), features, further)
    assert mean == pytest.approx(6 * 20 / 22, abs=0.3)


def test_the_reason_against_it():
    assert reason_against(resolve("standard"), 4, 20) is None
    assert reason_against(resolve("parlett"), 5, 20) is None
    assert "exchanged" in reason_against(resolve("peep"), 4, 20)
    assert "35 cards" in reason_against(resolve("parlett"), 7, 20)
    assert "19 sets are too few" in reason_against(resolve("standard"), 4, 19)
