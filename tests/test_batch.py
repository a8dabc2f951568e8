"""`Batch`: many games stepped by one call."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from nap_env import Batch, IllegalActionError
from nap_env.actions import ACTIONS, NUM_ACTIONS, PASS, action_id
from nap_env.presets import PRESETS


def state_of(batch: Batch) -> bytes:
    arrays = (
        batch.games, batch.observation, batch.action_mask, batch.mask, batch.seat, batch.payments,
        batch.done, batch.match_done,
    )  # fmt: skip
    return b"".join(array.tobytes() for array in arrays)


def through_pickle(games: Batch) -> Any:
    return pickle.loads(pickle.dumps(games))


def test_batch_is_ready_on_construction() -> None:
    games = Batch("standard", num_players=4, num_games=8, seed=0)
    assert games.observation.shape == (8, games.observation_size)
    assert games.observation.dtype == games.action_mask.dtype == games.seat.dtype == np.int8
    assert games.action_mask.shape == (8, NUM_ACTIONS)
    assert games.payments.shape == (8, 4)
    assert games.payments.dtype == np.int32
    assert games.mask.shape == (8, 2)
    assert games.mask.dtype == np.uint64
    assert games.num_actions == NUM_ACTIONS
    assert not games.done.any()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
def test_step_takes_any_integer_type(dtype: Any) -> None:
    one, two = (Batch("standard", 4, 8, seed=0) for _ in range(2))
    actions = one.sample()
    two.sample()
    one.step(actions)
    two.step(actions.astype(dtype))
    assert state_of(one) == state_of(two)


@pytest.mark.parametrize("wrong", [np.zeros(8), np.zeros(7, int), np.zeros((8, 1), int), ["a"] * 8])
def test_step_refuses_other_shapes_and_types(wrong: Any) -> None:
    games = Batch("standard", 4, 8, seed=0)
    with pytest.raises(ValueError, match=r"actions: .* integers \(8,\) are needed"):
        games.step(wrong)


@pytest.mark.parametrize("wrong", [action_id("blucher"), -1, NUM_ACTIONS, 2**62])
def test_illegal_action_names_game_and_deal_and_changes_nothing(wrong: int) -> None:
    games = Batch("standard", 4, 8, seed=0)
    games.step(np.full(8, PASS))
    before = state_of(games)
    actions = np.full(8, PASS)
    actions[5] = wrong
    with pytest.raises(
        IllegalActionError, match=r"game 5: seat \d chose .*; legal: .* deal: stand"
    ):
        games.step(actions)
    assert state_of(games) == before


def test_illegal_card_says_which_suit_must_be_followed() -> None:
    games = Batch("standard", 4, 1, seed=0)
    hands = [["AS", "KS", "QS", "JS", "TS"], ["9S", "8S", "AH", "KH", "QH"],
             ["JH", "TH", "9H", "8H", "AD"], ["KD", "QD", "JD", "TD", "9D"]]  # fmt: skip
    games.set_deals([{"dealer": 3, "hands": hands}])
    for name in ("nap", "pass", "pass", "pass", "AS"):
        games.step(np.array([action_id(name)]))
    with pytest.raises(
        IllegalActionError, match="seat 1 chose AH but must follow spades; legal: 8S 9S"
    ):
        games.step(np.array([action_id("AH")]))


@pytest.mark.parametrize("name", PRESETS)
def test_payments_are_zero_except_where_a_deal_has_ended(name: str) -> None:
    players = PRESETS[name].player_range[1]
    games = Batch(name, players, 64, seed=1)
    paid = 0
    for _ in range(80):
        games.step(games.sample())
        assert not games.payments[~games.done].any()
        assert not games.match_done[~games.done].any()
        paid += int(np.abs(games.payments).sum())
        if PRESETS[name].deals == 1:
            assert (games.match_done == games.done).all()
            assert not games.payments.sum(axis=1).any()
    assert paid > 0


def test_match_of_several_deals_ends_with_the_last() -> None:
    games = Batch("pub", 4, 32, seed=1, options={"deals": 3})
    deals, chips = np.zeros(32, int), np.zeros((32, 4), int)
    for _ in range(200):
        games.step(games.sample())
        deals += games.done
        chips += games.payments
        assert (deals[games.match_done] == 3).all()
        assert not chips[games.match_done].sum(axis=1).any()
        deals[games.match_done] = 0
        chips[games.match_done] = 0


def test_game_plays_alike_in_batches_of_any_size() -> None:
    small, large = Batch("pub", 4, 3, seed=9), Batch("pub", 4, 40, seed=9)
    for _ in range(60):
        actions = large.sample()
        assert (small.sample() == actions[:3]).all()
        small.step(actions[:3])
        large.step(actions)
        assert (small.observation == large.observation[:3]).all()


@pytest.mark.parametrize("options", [{"deals": 3}, {"target": 4, "deals": None}])
def test_cards_of_a_deal_depend_on_seed_game_and_number_and_whose_they_are_on_the_dealer(
    options: dict[str, Any],
) -> None:
    dealt: list[dict[tuple[int, int], tuple[int, list[int]]]] = [{}, {}]
    for last_of_all, found in enumerate(dealt):  # two ways to play
        games = Batch("standard", 4, 8, seed=5, options=options)
        for _ in range(300):
            for game, g in enumerate(games.games):
                if g["num_events"] == 0:
                    found[game, int(g["deal_number"])] = int(g["dealer"]), g["pack"][:20].tolist()
            highest = NUM_ACTIONS - 1 - games.action_mask[:, ::-1].argmax(1)
            games.step(highest if last_of_all else games.sample())
    both = dealt[0].keys() & dealt[1].keys()
    assert len(both) > 150
    assert all(dealt[0][deal][1] == dealt[1][deal][1] for deal in both)
    same_dealer = sum(dealt[0][deal][0] == dealt[1][deal][0] for deal in both)
    assert (same_dealer == len(both)) == (options["deals"] == 3)


def test_sample_of_some_rows_leaves_the_other_streams_where_they_are() -> None:
    one, two = Batch("standard", 4, 8, seed=5), Batch("standard", 4, 8, seed=5)
    rows = np.array([6, 1])
    assert (one.sample(rows) == two.sample()[rows]).all()
    assert (one.games["draws"] == [0, 1, 0, 0, 0, 0, 1, 0]).all()
    for wrong in ([8], [-1]):
        with pytest.raises(ValueError, match="games are 0 to 7"):
            one.sample(np.array(wrong))


def test_reset_with_a_seed_begins_again_and_without_goes_on() -> None:
    games = Batch("standard", 4, 8, seed=5)
    first = games.observation.copy()
    games.step(games.sample())
    games.reset()
    second = games.observation.copy()
    assert (first != second).any()
    games.reset(seed=5)
    assert (games.observation == first).all()
    games.reset()
    assert (games.observation == second).all()


def test_rollout_plays_what_step_and_sample_play() -> None:
    one, two = Batch("pub", 5, 16, seed=3), Batch("pub", 5, 16, seed=3)
    for _ in range(50):
        one.step(one.sample())
    two.rollout(50)
    assert one.games.tobytes() == two.games.tobytes()
    assert (one.observation == two.observation).all()


def test_copy_is_independent() -> None:
    games = Batch("standard", 4, 8, seed=0)
    games.step(games.sample())
    copy = games.clone()
    assert state_of(copy) == state_of(games)
    before = state_of(games)
    for _ in range(20):
        copy.step(copy.sample())
    assert state_of(games) == before
    assert not any(
        np.shares_memory(getattr(games, name), getattr(copy, name))
        for name in ("games", "observation", "action_mask", "mask", "seat", "payments", "done")
    )


@pytest.mark.parametrize("observe", ["dense", "packed", "none"])
@pytest.mark.parametrize("through", [copy.deepcopy, through_pickle])
def test_deepcopy_and_pickle_go_on_like_the_original(observe: str, through: Any) -> None:
    games = Batch("pub", 4, 8, seed=0, observe=observe, skip_forced=True)
    games.step(games.sample())
    other = through(games)
    for _ in range(30):
        for batch in (games, other):
            batch.step(batch.sample())
        assert state_of(other) == state_of(games)
        assert (other.planes == games.planes).all()
        assert (other.scalars == games.scalars).all()


def test_what_step_relies_on_cannot_be_written_from_outside() -> None:
    games = Batch("standard", 4, 2, seed=0)
    for array in (games.mask, games.done, games.clone().mask):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 1


def test_action_too_large_for_the_engine_is_named_as_it_was_given() -> None:
    games = Batch("standard", 4, 1, seed=0)
    with pytest.raises(IllegalActionError, match=f"chose action {2**63 + 5}"):
        games.step(np.array([2**63 + 5], np.uint64))


def test_record_and_rollout_refuse_what_cannot_be() -> None:
    games = Batch("standard", 4, 2, seed=0)
    for index in (-1, 2):
        with pytest.raises(IndexError, match="games are 0 to 1"):
            games.record(index)
    for steps in (-1, 2.5, "a"):
        with pytest.raises(ValueError, match="steps="):
            games.rollout(steps)


def test_set_deals_refuses_foreign_records_and_unknown_keys() -> None:
    games = Batch("standard", 4, 1, seed=0)
    foreign = Batch("pub", 4, 1, seed=0).record(0)
    for wrong in (foreign, {"hand": []}, 3):
        with pytest.raises(ValueError, match="record 0: "):
            games.set_deals([wrong])


def test_skip_forced_shows_only_decisions_and_plays_the_same_deals() -> None:
    games = Batch("standard", 4, 256, seed=0, skip_forced=True)
    for _ in range(100):
        first_decision = np.array([record["num_events"] == 0 for record in games.games])
        assert (games.action_mask.sum(axis=1) > 1)[~first_decision].all()
        games.step(games.sample())
    assert games.games["deal_number"].min() > 3


def test_set_deals_and_record_give_each_other_back() -> None:
    source = Batch("pub", 4, 4, seed=8)
    source.step(source.sample())
    records = [source.record(row) for row in range(4)]
    games = Batch("pub", 4, 4, seed=99)
    games.set_deals(records)
    for row, record in enumerate(records):
        for seat, name in record["events"]:
            assert games.seat[row] == seat
            actions = games.sample()
            actions[row] = action_id(name)
            games.step(actions)
        assert games.record(row) == record
        games.set_deals(records)


def test_set_deals_names_the_wrong_record_and_changes_nothing() -> None:
    games = Batch("standard", 4, 3, seed=0)
    before = state_of(games)
    with pytest.raises(ValueError, match=r"record 1: dealer=7: 0 to 3 are allowed"):
        games.set_deals([{}, {"dealer": 7}, {}])
    with pytest.raises(ValueError, match="2 of them for 3 games"):
        games.set_deals([{}, {}])
    assert state_of(games) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": "whist"}, "rules='whist'"),
        ({"num_players": 9}, "num_players=9: standard seats 3 to 7"),
        ({"num_games": 0}, "num_games=0"),
        ({"observe": "sparse"}, "observe='sparse': allowed are dense, packed, none"),
        ({"options": {"joke": True}}, "option 'joke' is not known"),
        ({"seed": -1}, "seed=-1"),
        ({"observation_layout": "wide"}, "observation_layout='wide'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Batch(**{"num_games": 2, **arguments})


def test_action_names_are_fixed_for_ever() -> None:
    assert len(ACTIONS) == NUM_ACTIONS == 78
    assert ACTIONS[:3] == ("2C", "3C", "4C")
    assert ACTIONS[51:63] == (
        *("AS", "JK", "pass", "done", "look", "take", "hold", "decline"),
        *("clubs", "diamonds", "hearts", "spades"),
    )
    assert ACTIONS[63:] == (
        *("one", "two", "three+f", "three", "misere", "four+f", "four", "five", "nap+f", "nap"),
        *("napoleon", "wellington", "blucher", "six", "seven"),
    )


@pytest.mark.parametrize("name", ["games", "payments", "match_done", "mask", "observation"])
def test_arrays_cannot_be_replaced(name):
    batch = Batch(num_games=4, seed=0)
    with pytest.raises(
        AttributeError, match=rf"{name}: cannot be replaced; write into it: {name}\["
    ):
        setattr(batch, name, getattr(batch, name)[:2])
    batch.step(batch.sample())
