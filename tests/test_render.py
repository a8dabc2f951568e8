"""Text: a table as a person notes it down, and the errors that say what may be done."""

import numpy as np
import pytest
from deals import act, deal

from nap_env import Batch, IllegalActionError, nap_v0
from nap_env.actions import action_id
from nap_env.game import Game


def calls(game: Game, viewer: int | None) -> str:
    """Return the line of a text that has the calls."""
    return game.text(viewer).splitlines()[-2 - len(game.table().tricks)]


def test_of_cards_that_others_put_away_the_number_is_told() -> None:
    game = act(deal("ecarte", {0: "AS KS QS 3C 2C"}), "2C 3C done done")
    assert calls(game, None) == calls(game, 0).replace("done (0)", "done")
    assert calls(game, 0) == "calls:   0 2C, 0 3C, 0 done, 1 done (0)"
    assert calls(game, 1) == "calls:   0 done (2), 1 done"


def test_a_swap_is_told_of_whoever_then_names_trumps() -> None:
    game = deal("old_russian", {3: "AS KS QS JS 6C"}, lead={"five": "lowest_plain"})
    act(game, "five pass pass pass  6C")  # the dealer, who speaks first
    assert calls(game, 1).endswith("2 pass, 3 puts away 1")
    act(game, "spades")
    assert calls(game, 1).endswith("2 pass, 3 puts away 1, 3 spades")


def test_surplus_cards_are_told_of_whoever_then_speaks_first() -> None:
    game = deal("seven_card", discard_to=6, bids=["three"], first_bidder="dealer", num_players=3)
    act(game, " ".join(game.hand(seat)[0] for seat in range(3)))
    act(game, "pass")
    assert calls(game, 0).endswith("1 puts away 1, 2 puts away 1, 2 pass")


def refusal(game: Game, name: str) -> str:
    """Return what the error for an action says before the legal ones."""
    with pytest.raises(IllegalActionError) as error:
        game.act(name)
    return f"{error.value}".split("; legal")[0]


HANDS = {0: "AS KS 4H 5H KD", 1: "2S 3S 9H 2D 3D", 2: "4S 5S 6S 2C 3C", 3: "7S 8S 6H 7H 4C"}


def test_what_must_be_played() -> None:
    game = act(deal("thirty", HANDS, must_trump=True), "three pass pass pass")
    assert refusal(game, "2S") == "seat 0 chose 2S but must lead a card of the hand"
    act(game, "AS")
    assert refusal(game, "9H") == "seat 1 chose 9H but must follow spades"
    act(game, "2S 4S 7S  KS 3S 5S 8S  4H 9H")
    assert refusal(game, "2C") == "seat 2 chose 2C but must trump"
    game = act(
        deal("thirty", HANDS, lead={"wellington": "lowest_trump"}), "wellington pass pass pass"
    )
    assert refusal(game, "AS") == "seat 0 chose AS but must lead a card that the contract allows"


def test_where_revokes_are_allowed_nobody_must_follow() -> None:
    game = act(deal("thirty", HANDS, allow_revoke=True), "three pass pass pass AS")
    assert refusal(game, "AH") == "seat 1 chose AH but must play a card of the hand"


def test_a_hand_of_the_led_suit_must_follow_also_where_revokes_are_allowed() -> None:
    game = act(
        deal("thirty", HANDS | {1: "2S 3S TS JS QS"}, allow_revoke=True), "three pass pass pass AS"
    )
    assert refusal(game, "AH") == "seat 1 chose AH but must follow spades"


def test_what_must_be_called() -> None:
    game = deal("peep", hold=True)
    assert refusal(game, "AS") == "seat 0 chose AS but must pass or look or bid"
    act(game, "three pass pass")
    assert (
        refusal(game, "three") == "seat 3 chose three but must hold or decline or bid above three"
    )
    act(game, "hold")
    assert refusal(game, "hold") == "seat 0 chose hold but must decline or bid above three"


def test_what_must_be_put_away_or_named() -> None:
    game = deal("draw", {0: "AS KS QS JS 2C"})
    act(game, "nap pass pass pass")
    assert refusal(game, "3D") == "seat 0 chose 3D but must put a card away or be done"
    act(game, "2C JS QS KS AS")
    assert refusal(game, "2C") == "seat 0 chose 2C but must be done"
    game = act(deal("sir_garnet"), "take")
    assert refusal(game, "done") == "seat 0 chose done but must put a card away"
    game = act(deal("pub", {0: "JK"}), "nap pass pass pass JK")
    assert refusal(game, "AS") == "seat 0 chose AS but must name trumps"


def test_errors_do_not_name_the_cards_that_others_have_put_away() -> None:
    game = deal("ecarte", {0: "AS KS QS 3C 2C", 1: "AD"})
    record = game.record() | {"events": [[0, "2C"], [0, "done"]]}
    env = nap_v0.raw_env("ecarte")
    env.reset(options={"record": record})
    batch = Batch("ecarte", 4, 1)
    batch.set_deals([record])
    batch.step(np.array([action_id("2C")]))
    batch.step(np.array([action_id("done")]))
    act(game, "2C done")
    for step in (game.step, env.step, lambda action: batch.step(np.array([action]))):
        with pytest.raises(IllegalActionError, match=r"deal: .*: 0 done \(1\)$"):
            step(action_id("three"))
    act(game, "AD")
    with pytest.raises(IllegalActionError, match=r"deal: .*: 0 done \(1\), 1 AD$"):
        game.act("AD")
