"""Revokes, RULES.md 2.11: with `allow_revoke` every card may be played, and a wrong one is paid."""

from typing import Any

import pytest
from deals import act, deal, names, payments, result

from nap_env.game import Game

# Seat 0 bids and leads spades, then hearts. Seat 1 can follow both; seat 2 has no heart.
HANDS = {
    0: "AS KS 4H 5H KD",
    1: "2S 3S 9H 2D 3D",
    2: "4S 5S 6S 2C 3C",
    3: "7S 8S 6H 7H 4C",
}
TWO_ROUNDS = "AS 2S 4S 7S  KS 3S 5S 8S"


def table(rules: str = "thirty", bid: str = "three", **set_up: Any) -> Game:
    """Deal HANDS; seat 0 has won the auction."""
    return act(deal(rules, HANDS, allow_revoke=True, **set_up), f"{bid} pass pass pass")


def test_every_card_of_the_hand_may_be_played() -> None:
    game = table()
    for card in TWO_ROUNDS.split():
        assert game.legal() == sorted(game.hand(game.seat))
        act(game, card)
    act(game, "4H")
    assert game.legal() == names("9H 2D 3D")


def test_without_the_option_wrong_cards_cannot_be_chosen() -> None:
    game = act(deal("thirty", HANDS), f"three pass pass pass {TWO_ROUNDS} 4H")
    assert game.legal() == ["9H"]


def test_right_cards_are_no_revoke() -> None:
    game = act(table(), f"{TWO_ROUNDS} 4H 9H")
    # Seat 2 is void in hearts: he may trump or throw any card away.
    assert not act(game.clone(), "6S").over
    assert not act(game.clone(), "2C").over


def test_an_opponent_who_revokes_pays_for_all() -> None:
    game = act(table(), f"{TWO_ROUNDS} 4H 2D")
    assert payments(game) == [3 * 3, 3 * -3, 0, 0]
    assert result(game)["made"] is True


def test_a_maker_who_revokes_pays_as_if_the_bid_had_failed() -> None:
    # Seat 1 takes the third trick and leads a diamond; the maker keeps his king of diamonds.
    game = act(table(), f"{TWO_ROUNDS} 4H 9H 2C 6H  2D 3C 4C 5H")
    assert payments(game) == [3 * -3, 3, 3, 3]
    assert result(game)["made"] is False


def test_play_ends_at_once_and_tricks_hold_the_completed_ones() -> None:
    # Section 9 no. 7. The fourth card of the trick is the wrong one: the trick is not counted.
    game = act(table(), f"{TWO_ROUNDS} 4H 9H 2C 4C")
    assert game.over
    assert result(game)["tricks"] == [2, 0, 0, 0]
    assert result(game)["trump"] == "S"
    assert payments(game) == [3 * 3, 0, 0, 3 * -3]


def test_a_revoke_in_the_first_trick() -> None:
    game = act(table(), "AS 9H")
    assert result(game)["tricks"] == [0, 0, 0, 0]
    assert payments(game) == [3 * 3, 3 * -3, 0, 0]


def test_a_bid_that_was_certain_fails_when_the_maker_revokes() -> None:
    game = act(table("parlett", "two", early_stop=False), f"{TWO_ROUNDS} 4H 9H 2C 6H  2D 3C 4C 5H")
    assert result(game)["tricks"] == [2, 1, 0, 0]
    assert payments(game) == [3 * -2, 2, 2, 2]


# 2.10: a dealer who sits out is one more opponent, for whom the offender pays too.
def test_six_players_the_offender_pays_for_five() -> None:
    game = deal("standard", {0: "AS", 3: "6S 7S AH"}, num_players=6, allow_revoke=True)
    act(game, "four pass pass pass pass AS")
    while game.seat != 3:
        act(game, game.legal()[-1])
    act(game, "AH")
    assert payments(game) == [5 * 4, 0, 0, 5 * -4, 0, 0]


# Breaking must-trump is a revoke.
@pytest.mark.parametrize(("card", "over"), [("6S", False), ("2C", True)])
def test_must_trump(card: str, over: bool) -> None:
    game = act(table(must_trump=True), f"{TWO_ROUNDS} 4H 9H {card}")
    assert game.over == over
    if over:
        assert payments(game) == [3 * 3, 0, 3 * -3, 0]


# Breaking a lead restriction is the maker's revoke; the card led still fixes trumps (section 9).
@pytest.mark.parametrize(
    ("lead", "actions", "trump"),
    [
        ("lowest_trump", "AS", "S"),
        ("lowest_trump", "KS", "S"),
        ("lowest_plain", "hearts AS", "H"),
        ("lowest_plain", "spades AS", "S"),  # a trump, with hearts in hand
        ("lowest_plain", "clubs AH", "C"),
    ],
)
def test_lead_restrictions(lead: str, actions: str, trump: str) -> None:
    hand = {0: "AS KS 9S AH 8H"}
    game = deal("thirty", hand, lead={"wellington": lead}, allow_revoke=True)
    act(game, "wellington pass pass pass")
    if lead == "lowest_trump":
        assert game.legal() == names("AS KS 9S AH 8H")
    act(game, actions)
    assert payments(game) == [3 * -10, 10, 10, 10]
    assert result(game)["trump"] == trump
    assert result(game)["tricks"] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("lead", "actions"),
    [("lowest_trump", "9S"), ("lowest_trump", "8H"), ("lowest_plain", "spades 8H")],
)
def test_right_opening_leads_are_no_revoke(lead: str, actions: str) -> None:
    hand = {0: "AS KS 9S AH 8H"}
    game = deal("thirty", hand, lead={"wellington": lead}, allow_revoke=True)
    assert not act(game, f"wellington pass pass pass {actions}").over


def test_leading_the_joker_against_lowest_trump_is_a_revoke() -> None:
    options = {"lead": {"nap": "lowest_trump"}, "joker": True, "allow_revoke": True}
    game = act(deal("thirty", {0: "JK AS"}, **options), "nap pass pass pass JK")
    assert game.over
    assert payments(game) == [3 * -5, 5, 5, 5]


def test_leading_the_joker_elsewhere_is_right() -> None:
    game = deal("thirty", {0: "JK AS"}, joker=True, allow_revoke=True)
    act(game, "nap pass pass pass JK")
    assert (game.phase, game.over) == ("name", False)


# The joker belongs to the trumps. Spades are led as trumps by "9S"; hearts are plain.
@pytest.mark.parametrize(
    ("hand", "actions", "over"),
    [
        ("JK AH KD QC TC", "9S JK", False),
        ("JK AH KD QC TC", "9S AH", True),  # his only trump is the joker
        ("JK 8S KD QC TC", "9S 8S", False),
        ("JK 8S KD QC TC", "9S JK", False),
        ("JK 8S KD QC TC", "9S KD", True),
    ],
)
def test_joker_when_trumps_are_led(hand: str, actions: str, over: bool) -> None:
    game = deal("pub", {0: "9S", 1: hand}, allow_revoke=True)
    assert act(game, f"three pass pass pass {actions}").over == over


@pytest.mark.parametrize(
    ("must_trump", "hand", "card", "over"),
    [
        (False, "8H 9S JK 8D 9D", "JK", True),  # he can follow the hearts
        (False, "8D 9S JK TD 9D", "JK", False),
        (False, "8D 9S JK TD 9D", "8D", False),
        (True, "8D 9S JK TD 9D", "8D", True),  # his only trump is the joker
    ],
)
def test_joker_when_a_plain_suit_is_led(must_trump: bool, hand: str, card: str, over: bool) -> None:
    hands = {0: "AS KH", 1: hand, 2: "TS", 3: "8S"}
    game = deal("pub", hands, allow_revoke=True, must_trump=must_trump)
    act(game, f"three pass pass pass  AS 9S TS 8S  KH {card}")
    assert game.over == over


def test_misere_an_opponent_revokes_and_it_counts_as_made() -> None:
    game = act(table(bid="misere"), "AS 2D")
    assert payments(game) == [3 * 3, 3 * -3, 0, 0]
    assert result(game)["trump"] is None


def test_misere_the_maker_revokes_and_it_counts_as_failed() -> None:
    hands = {0: "2S 3S 2H", 1: "4S", 2: "5S", 3: "AS KS"}
    game = deal("thirty", hands, allow_revoke=True)
    act(game, "misere pass pass pass  2S 4S 5S AS  KS 2H")
    assert payments(game) == [3 * -3, 3, 3, 3]


def test_exact3_nt_counts_as_made_or_failed_too() -> None:
    game = act(table(bid="misere", misere_goal="exact3_nt"), "AS 2D")
    assert payments(game) == [3 * 3, 3 * -3, 0, 0]
    game = act(table(bid="misere", misere_goal="exact3_nt"), f"{TWO_ROUNDS} 4H 9H 2C 6H  2D")
    assert payments(act(game, "3C 4C 5H")) == [3 * -3, 3, 3, 3]


# Under- and overtricks: a revoking maker is settled with min(tricks won so far, bid - 1), an
# opponent's revoke with max(bid, tricks won so far). The maker has won two tricks; his revoke
# comes in the fourth trick, an opponent's in the third.
MAKER = f"{TWO_ROUNDS} 4H 9H 2C 6H  2D 3C 4C 5H"
OPPONENT = f"{TWO_ROUNDS} 4H 2D"


@pytest.mark.parametrize(
    ("bid", "play", "each"),
    [
        ("three", MAKER, -(2 * 1 + 3)),  # S14: t = min(2, 2) = 2
        ("one", MAKER, -(2 * 1 + 5)),  # t = min(2, 0) = 0
        ("two", MAKER, -(2 * 1 + 4)),  # t = min(2, 1) = 1
        ("four", MAKER, -(2 * 2 + 3)),  # t = min(2, 3) = 2
        ("three", OPPONENT, 2 * 3),  # t = max(3, 2) = 3
        ("one", OPPONENT, 2 * 1 + 1),  # t = max(1, 2) = 2
        ("nap", OPPONENT, 15),
    ],
)
def test_s14_alternative_scoring(bid: str, play: str, each: int) -> None:
    game = act(table("alt_scoring", bid), play)
    if each < 0:
        assert payments(game) == [3 * each, -each, -each, -each]
    else:
        assert payments(game) == [3 * each, 3 * -each, 0, 0]


@pytest.mark.parametrize(
    ("bid", "play", "each"),
    [
        ("one", OPPONENT, 1 + 1),  # t = max(1, 2) = 2, one overtrick
        ("two", OPPONENT, 2),
        ("four", OPPONENT, 4),
        ("one", MAKER, -1),
        ("two", MAKER, -2),
    ],
)
def test_overtricks(bid: str, play: str, each: int) -> None:
    game = act(table("thirty", bid, bids=["one", "two", "four"], overtrick=1), play)
    if each < 0:
        assert payments(game) == [3 * each, -each, -each, -each]
    else:
        assert payments(game) == [3 * each, 3 * -each, 0, 0]


def test_stake_and_multiplier_count() -> None:
    game = table(all_pass="double_next", multiplier=2, stake=5)
    act(game, OPPONENT)
    assert payments(game) == [3 * 3 * 5 * 2, 3 * -3 * 5 * 2, 0, 0]
    # The bid counts as made, so the doubling ends.
    assert result(game)["multiplier"] == 1


def test_split_transfer_the_offender_pays_the_whole_sum() -> None:
    assert payments(act(table(transfer="split"), OPPONENT)) == [3 * 3, 3 * -3, 0, 0]


# The outcome has its usual effect on the pool, in which there are 6 chips.
@pytest.mark.parametrize(
    ("options", "bid", "play", "expected", "pool"),
    [
        ({}, "nap", "AS 2D", [3 * 10 + 6, 3 * -10, 0, 0], 0),
        ({}, "four", "AS 2D", [3 * 4, 3 * -4, 0, 0], 6),
        ({"pool_fail": "as_player"}, "three", MAKER, [3 * -3 - 3, 3, 3, 3], 6 + 3),
        # Five chips from the offender to the pool, after it has been won.
        ({"pool_revoke": 5}, "nap", "AS 2D", [3 * 10 + 6, 3 * -10 - 5, 0, 0], 5),
        ({"pool_revoke": 5}, "three", "AS 2D", [3 * 3, 3 * -3 - 5, 0, 0], 6 + 5),
        ({"pool_revoke": 5}, "three", MAKER, [3 * -3 - 5, 3, 3, 3], 6 + 5),
        ({"pool_revoke": 5, "stake": 2}, "three", MAKER, [3 * -6 - 5, 6, 6, 6], 6 + 5),
    ],
)
def test_pools(
    options: dict[str, Any], bid: str, play: str, expected: list[int], pool: int
) -> None:
    options = {"pool_fail": "none", "pool_five_fail": "double"} | options
    game = act(table("thirty", bid, pool=6, **options), play)
    assert payments(game) == expected
    assert result(game)["pool"] == pool


def test_a_revoking_maker_of_a_nap_doubles_the_pool() -> None:
    # He must lead the lowest trump and leads the ace. Pool 6, doubled, and five for the revoke.
    options = {"pool_five_fail": "double", "pool_revoke": 5, "lead": {"nap": "lowest_trump"}}
    game = act(table("thirty", "nap", pool=6, **options), "AS")
    assert payments(game) == [3 * -5 - 6 - 5, 5, 5, 5]
    assert result(game)["pool"] == 2 * 6 + 5


def test_pool_nap_takes_five_chips_from_the_offender() -> None:
    game = act(table("pool_nap", pool=4), OPPONENT)
    assert payments(game) == [3 * 3, 3 * -3 - 5, 0, -2]
    assert result(game)["pool"] == 4 + 2 + 5


def test_old_russian_fines_go_to_the_treasure() -> None:
    # Section 9 no. 10: none by default.
    hands = {3: "AS KS", 0: "6S AH"}
    for fine in (0, 5):
        game = deal("old_russian", hands, allow_revoke=True, pool_revoke=fine, pool=5)
        act(game, "three pass pass pass done AS AH")
        assert payments(game) == [3 * -3 - fine, 0, 0, 3 * 3 - 1]
        assert result(game)["pool"] == 5 + 1 + fine


def test_sir_garnet_a_revoking_taker_pays_as_for_a_failure() -> None:
    options = {"garnet_fail": 2, "garnet_pool": 2, "lead": {"nap": "lowest_trump"}}
    hands = {0: "AS KS 4C 5C 6C"}
    game = deal("sir_garnet", hands, widow="7C 8C QS JS TS", allow_revoke=True, **options)
    act(game, "take 4C 5C 6C 7C 8C pass pass pass AS")
    assert payments(game) == [3 * -5 * 2 - 2, 5 * 2, 5 * 2, 5 * 2]
    assert result(game)["pool"] == 2
