"""One deal for each clause of RULES.md 2, 4 and 9, and the T rows of 6.3.

Payments stand in test_prices.py, revokes in test_revokes.py, whole matches in test_matches.py.
"""

from dataclasses import fields
from typing import Any

import pytest
from deals import act, deal, height, names, payments, play_out, result

from nap_env.actions import IllegalActionError
from nap_env.game import Game, hash_seed
from nap_env.presets import PRESETS, resolve
from nap_env.rules import Rules

# 2.1 Players and pack


def pack_of(game: Game) -> list[str]:
    record = game.record()
    parts = [*record["hands"], record["widow"], record["stock"]]
    return sorted((card for part in parts for card in part), key=height)


@pytest.mark.parametrize(
    ("deck", "lowest"), [(52, "2"), (40, "5"), (36, "6"), (32, "7"), (28, "8"), (24, "9")]
)
def test_2_1_packs(deck: int, lowest: str) -> None:
    pack = pack_of(deal("draw", num_players=2, deck=deck))
    ranks = "23456789TJQKA"
    wanted = [rank + suit for rank in ranks[ranks.index(lowest) :] for suit in "CDHS"]
    assert sorted(pack) == sorted(wanted)
    assert len(pack) == deck


# 5.1: what differs from the defaults besides players, pack and bids (test_rules.py).
OVERCALLS = {"wellington_over": "nap", "blucher_over": "wellington"}
DIFFERENCES: dict[str, dict[str, Any]] = {
    "standard": OVERCALLS | {"dealer_out_from": 6},
    "parlett": OVERCALLS
    | {"wellington_min_players": 5, "blucher_min_players": 7}
    | {"first_dealer": "high", "packets": "1x5"},
    "house": {"must_trump": True, "overtrick": 1, "pool_fail": "as_player", "early_stop": False},
    "alt_scoring": {"scheme": "alt", "early_stop": False},
    "draw": {"draw": "maker_then_opponents"},
    "thirty": {"deals": None, "target": 30},
    "seven_card": {"hand_size": 7, "packets": "3-2-2"},
    "ecarte": {"buy": True},
    "peep": {"widow": "peep", "look_cost": 1},
    "sir_garnet": {"widow": "garnet"},
    "modern": {"dealer_out_from": 6},
    "floater": {"widow": "floater", "look_cost": 1, "dealer_free_look": True}
    | {"pool_each": 1, "all_pass": "double_next"},
    "old_russian": {"first_bidder": "dealer", "hold": True, "draw": "maker_one"}
    | {"must_trump": True, "pool_dealer": 1}
    | {"pool_fail": "as_player", "pool_five_fail": "double"},
    "pool_nap": {"pool_start": 2, "pool_dealer": 2, "pool_five_fail": "double", "pool_revoke": 5},
    "britannica_1911": OVERCALLS,
    "pub": OVERCALLS | {"joker": True, "pool_each": 1, "shuffle": "after_nap"},
    "dealer_must": {"all_pass": "dealer_one", "dealer_out_from": 5},
    "peel": OVERCALLS
    | {"misere_trump": "lead", "all_pass": "eldest_one", "first_dealer": "jack"}
    | {"packets": "1x5", "pool_dealer": 1, "dealer_out_from": 6},
}


@pytest.mark.parametrize("rules", DIFFERENCES)
def test_5_1_differences_from_the_defaults(rules: str) -> None:
    assert resolve(rules) == Rules(
        name=rules,
        bids=resolve(rules).bids,
        player_range=resolve(rules).player_range,
        deck=resolve(rules).deck,
        **DIFFERENCES[rules],
    )


# Section 9: option, its default.
DEFAULTS = [
    *[("player_range", (3, 7)), ("deck", 52), ("suits", 4), ("joker", False), ("hand_size", 5)],
    *[("dealer_out_from", None), ("first_dealer", "low_ace_low"), ("shuffle", "every")],
    *[("packets", "3-2"), ("first_bidder", "eldest"), ("hold", False)],
    *[("all_pass", "next_dealer"), ("wellington_over", None), ("blucher_over", None)],
    *[("wellington_min_players", 0), ("blucher_min_players", 0), ("misere_goal", "lose_all")],
    *[("misere_trump", "none"), ("must_trump", False), ("early_stop", True)],
    *[("allow_revoke", False), ("widow", "none"), ("look_cost", 0), ("look_needed", True)],
    *[("dealer_free_look", False), ("buy", False), ("buy_cost", 1), ("draw", "none")],
    *[("overtrick", 0), ("stake", 1), ("transfer", "each"), ("separate_call", False)],
    *[("garnet_fail", 1), ("garnet_pool", 0), ("pool_start", 0), ("pool_each", 0)],
    *[("pool_dealer", 0), ("pool_fail", "none"), ("pool_five_fail", "none"), ("pool_revoke", 0)],
    *[("pool_end", "split"), ("discard_to", None), ("deals", 1), ("target", None)],
    *[("chips", None), ("max_deals", 1000), ("scheme", "table")],
]


def test_9_defaults() -> None:
    rules = Rules(bids=resolve("standard").bids)
    assert [(name, getattr(rules, name)) for name, _ in DEFAULTS] == DEFAULTS
    options = {field.name for field in fields(Rules)} - {"name", "bids"}
    assert {name for name, _ in DEFAULTS} == options


# 2.2 First dealer


def first_dealers(rules: Rules, players: int, matches: int) -> list[int]:
    """Return how often each seat deals first."""
    game = Game(rules, players)
    counts = [0] * players
    for seed in range(matches):
        game.reset(hash_seed(seed))
        counts[game.record()["dealer"]] += 1
    return counts


def assert_chances(counts: list[int], chances: list[float]) -> None:
    """Check counts against chances, to four standard deviations."""
    total = sum(counts)
    for count, chance in zip(counts, chances, strict=True):
        assert abs(count - total * chance) < 4 * (total * chance * (1 - chance)) ** 0.5


# T1, T2: whichever end of the pack deals, and however often ties draw again, all players have the
# same chance; the cards drawn are never shown, so the engine draws the dealer.
@pytest.mark.parametrize("how", ["low_ace_low", "high", "random"])
@pytest.mark.parametrize("players", [2, 5])
def test_t1_t2_every_player_deals_first_equally_often(how: str, players: int) -> None:
    counts = first_dealers(resolve("parlett", {"first_dealer": how}), players, matches=3000)
    assert_chances(counts, [1 / players] * players)


@pytest.mark.parametrize(("players", "deck"), [(3, 52), (6, 52), (4, 28)])
def test_2_2_the_first_jack_dealt_face_up_deals(players: int, deck: int) -> None:
    chances, none_yet = [0.0] * players, 1.0
    for turned in range(deck - 3):
        jack = 4 / (deck - turned)
        chances[turned % players] += none_yet * jack
        none_yet *= 1 - jack
    counts = first_dealers(resolve("peel", {"deck": deck}), players, matches=3000)
    assert_chances(counts, chances)


def test_2_2_a_fixed_seat_deals_first() -> None:
    assert first_dealers(resolve("standard", {"first_dealer": 2}), 4, matches=20) == [0, 0, 20, 0]


# 2.4 Deal, 2.10 Dealer who sits out


def test_t4_six_players_five_hands_dealer_out() -> None:
    game = deal("standard", num_players=6)
    record = game.record()
    assert [len(hand) for hand in record["hands"]] == [5, 5, 5, 5, 5, 0]
    assert len(pack_of(game)) == 36
    assert len(record["stock"]) == 11
    act(game, "pass pass pass pass three")
    play_out(game)
    seats = [seat for seat, _ in game.record()["events"]]
    assert seats[:5] == [0, 1, 2, 3, 4]
    assert len(seats[5:]) % 5 == 0
    for trick in range(5, len(seats), 5):
        assert sorted(seats[trick : trick + 5]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("rules", "players", "hands"),
    [
        ("standard", 5, 5),
        ("standard", 6, 5),
        ("standard", 7, 6),
        ("dealer_must", 4, 4),
        ("dealer_must", 5, 4),
        ("peel", 6, 5),
        ("parlett", 8, 8),
    ],
)
def test_2_10_the_dealer_takes_no_cards_from_so_many_players_on(
    rules: str, players: int, hands: int
) -> None:
    game = deal(rules, num_players=players)
    assert sum(1 for hand in game.record()["hands"] if hand) == hands
    assert bool(game.record()["hands"][players - 1]) == (hands == players)


def test_2_10_a_dealer_who_sits_out_pays_like_the_others() -> None:
    game = deal("standard", {0: "AS KS QS JS TS"}, num_players=6)
    play_out(act(game, "nap pass pass pass pass"))
    assert payments(game) == [5 * 10, -10, -10, -10, -10, -10]


def test_4_2_seven_cards_each() -> None:
    record = deal("seven_card", num_players=7).record()
    assert [len(hand) for hand in record["hands"]] == [7] * 7
    assert len(record["stock"]) == 52 - 7 * 7


def test_4_8_a_dealer_who_sits_out_puts_chips_into_the_pool_too() -> None:
    game = act(deal("standard", num_players=6, pool_each=1, pool_dealer=2), " ".join(5 * ["pass"]))
    assert payments(game) == [-1, -1, -1, -1, -1, -1 - 2]
    assert result(game)["pool"] == 6 * 1 + 2


# 2.5 Auction


def test_2_5_auction_goes_once_round_from_the_dealers_left() -> None:
    game = act(deal("standard", dealer=1), "pass three pass four")
    assert [seat for seat, _ in game.record()["events"]] == [2, 3, 0, 1]
    assert game.phase == "play"
    assert game.seat == 1


def test_2_5_the_highest_bidder_leads() -> None:
    game = act(deal("standard"), "three four pass pass")
    assert (game.phase, game.seat) == ("play", 1)


# What the next player may call after these calls. T rows: 5 to 13; a bid never equals an earlier
# one.
CALLS = [
    ("standard", 4, "", "pass three misere four nap"),
    ("standard", 4, "three", "pass misere four nap"),  # T5
    ("standard", 4, "nap", "pass wellington"),  # T6
    ("standard", 4, "nap wellington", "pass blucher"),  # T7
    ("standard", 4, "misere", "pass four nap"),  # T11
    ("standard", 4, "three misere four", "pass nap"),
    ("standard", 4, "four pass pass", "pass nap"),
    ("thirty", 4, "", "pass three misere four nap wellington blucher"),
    ("thirty", 4, "nap", "pass wellington blucher"),  # T8
    ("parlett", 4, "nap", "pass"),  # T9
    ("parlett", 5, "nap", "pass wellington"),
    ("parlett", 6, "nap wellington", "pass"),  # T10
    ("parlett", 7, "nap wellington", "pass blucher"),
    ("peel", 4, "misere", "pass three four nap"),  # T11
    ("seven_card", 4, "nap", "pass misere six seven"),  # T12
    ("seven_card", 4, "misere", "pass six seven"),
    ("modern", 4, "nap", "pass napoleon wellington"),
    ("modern", 4, "napoleon", "pass wellington"),
    ("dealer_must", 4, "pass pass", "pass two three misere four nap wellington blucher"),
    (  # T13
        *("dealer_must", 4, "pass pass pass"),
        "one two three misere four nap wellington blucher",
    ),
    ("dealer_must", 4, "pass two pass", "pass three misere four nap wellington blucher"),
    ("dealer_must", 5, "pass pass", "pass two three misere four nap wellington blucher"),
    (  # The dealer sits out: the last speaker is on his right.
        *("dealer_must", 5, "pass pass pass"),
        "one two three misere four nap wellington blucher",
    ),
]


@pytest.mark.parametrize(("rules", "players", "calls", "legal"), CALLS)
def test_2_5_legal_calls(rules: str, players: int, calls: str, legal: str) -> None:
    game = act(deal(rules, num_players=players), calls)
    assert game.phase == "auction"
    assert game.legal() == names(legal)


# Section 9: the condition names any bid; no. 4: it need not be the standing one.
@pytest.mark.parametrize(
    ("options", "calls", "legal"),
    [
        ({"wellington_over": "four"}, "three", "pass misere four nap"),
        ({"wellington_over": "four"}, "four", "pass nap wellington"),
        ({"wellington_over": "four"}, "four nap", "pass wellington"),
        ({"wellington_over": "four"}, "four nap pass", "pass wellington"),
        ({"blucher_over": "nap"}, "nap wellington", "pass blucher"),
        ({"wellington_over": "none"}, "", "pass three misere four nap wellington"),
        ({"blucher_over": "none"}, "nap", "pass wellington blucher"),
        ({"wellington_min_players": 5}, "nap", "pass"),
    ],
)
def test_9_4_overcall_conditions(options: dict[str, Any], calls: str, legal: str) -> None:
    assert act(deal("standard", **options), calls).legal() == names(legal)


@pytest.mark.parametrize("over", ["nap", "four"])
def test_4_1_a_bid_with_the_floater_counts_as_the_bid_for_wellington(over: str) -> None:
    bids = [f"{over}+f", over, "wellington"]
    game = deal("floater", bids=bids, wellington_over=over)
    act(game, "look")
    assert game.legal() == names(f"pass {over}+f {over}")
    act(game, f"{over}+f")
    assert game.legal() == names(f"look pass {over} wellington")


def test_4_1_taking_the_spare_hand_counts_as_nap_for_wellington() -> None:
    options = {"bids": ["nap", "wellington"], "wellington_over": "nap"}
    game = deal("sir_garnet", {0: "2C 3C 4C 5C 6C"}, **options)
    act(game, "take 2C 3C 4C 5C 6C")
    assert (game.seat, game.legal()) == (1, names("pass wellington"))


def test_4_1_a_hold_counts_as_the_holders_bid() -> None:
    # The dealer holds seat 0's Nap: now another player has bid it, and seat 0 may bid Wellington.
    bids = ["four", "nap", "wellington"]
    game = deal("old_russian", num_players=2, bids=bids, wellington_over="nap")
    act(game, "pass nap hold")
    assert (game.seat, game.legal()) == (0, names("decline wellington"))


def test_2_5_ones_own_bid_does_not_meet_the_condition() -> None:
    # The dealer's Nap is beaten by a Napoleon, over which he may not raise to Wellington.
    bids = ["four", "nap", "napoleon", "wellington"]
    game = deal("old_russian", num_players=2, bids=bids, wellington_over="nap")
    assert act(game.clone(), "nap napoleon").legal() == names("decline hold")
    assert act(game.clone(), "four nap").legal() == names("decline hold napoleon wellington")


# 2.5 Lead restrictions: the opening leads that the maker has.
LEADS = [
    ("lowest_trump", "AS KS 9S AH 8D", "", "9S AH 8D"),  # T21
    ("lowest_trump", "AS KS QS JS TS", "", "TS"),
    ("lowest_trump", "JK AS KS 9H 8H", "", "KS 8H"),  # the joker may not be led
    ("lowest_plain", "AS KS QS KC KD", "spades", "KC KD"),  # T22
    ("lowest_plain", "AS KS QS JS TS", "spades", "AS KS QS JS TS"),  # T23
    ("lowest_plain", "AS KS QS KC 2D", "spades", "2D"),
    ("lowest_plain", "AS KS QS KC 2D", "diamonds", "QS"),
    ("lowest_plain", "JK AS KS QS 3D", "spades", "3D"),  # the joker is a trump
    ("lowest_plain", "JK AS KS QS JS", "spades", "JK AS KS QS JS"),
]


@pytest.mark.parametrize(("lead", "hand", "named", "legal"), LEADS)
def test_2_5_lead_restrictions(lead: str, hand: str, named: str, legal: str) -> None:
    game = deal("thirty", {0: hand}, joker=True, lead={"wellington": lead})
    act(game, f"wellington pass pass pass {named}")
    assert game.legal() == names(legal)


def test_2_5_a_restriction_binds_the_opening_lead_only() -> None:
    hands = {0: "AS KS QS JS 9H", 1: "2S", 2: "3S", 3: "4S"}
    game = deal("thirty", hands, lead={"nap": "lowest_trump"})
    act(game, "nap pass pass pass  JS 2S 3S 4S")
    assert (game.seat, game.legal()) == (0, names("AS KS QS 9H"))


@pytest.mark.parametrize(
    ("rules", "calls", "legal"),
    [
        ("standard", "nap pass pass wellington", "9S AH 8D"),
        ("standard", "pass pass pass nap", "AS KS 9S AH 8D"),
        ("modern", "nap pass pass napoleon", "9S AH 8D"),
        ("modern", "nap pass pass wellington spades", "8D"),
        ("britannica_1911", "nap pass pass wellington", "AS KS 9S AH 8D"),
        ("standard", "nap wellington pass blucher", "AS KS 9S AH 8D"),
    ],
)
def test_5_1_leads_of_the_presets(rules: str, calls: str, legal: str) -> None:
    game = act(deal(rules, {3: "AS KS 9S AH 8D"}), calls)
    assert (game.seat, game.legal()) == (3, names(legal))


def test_2_5_lowest_plain_the_opening_lead_does_not_change_trumps() -> None:
    hands = {0: "AS KS QS KC AD", 1: "2C 2S", 2: "3C", 3: "4C"}
    game = deal("modern", hands, deck=52)
    act(game, "wellington pass pass pass")
    assert (game.phase, game.legal()) == ("name", names("clubs diamonds hearts spades"))
    act(game, "spades KC 2C 3C 4C")
    act(game, "AS 2S")
    play_out(game)
    assert result(game)["trump"] == "S"
    assert result(game)["made"]


def test_2_5_any_suit_may_be_named_even_one_not_held() -> None:
    game = deal("modern", {0: "AS KS QS JS TS"})
    act(game, "wellington pass pass pass hearts")
    assert game.legal() == ["TS"]


# 2.6 If everybody passes


def test_2_6_next_dealer_nothing_is_paid() -> None:
    game = act(deal("standard"), "pass pass pass pass")
    assert payments(game) == [0, 0, 0, 0]
    assert result(game)["declarer"] is None
    game.next_deal()
    assert game.record()["multiplier"] == 1


def test_2_6_dealer_one_makes_one_at_the_base_price() -> None:
    game = act(deal("dealer_must", {3: "AS"}), "pass pass pass one AS")
    play_out(game)
    assert payments(game) == [-1, -1, -1, 3 * 1]


def test_2_6_dealer_one_takes_the_price_of_one_from_the_list() -> None:
    options = {"bids": ["one", "two"], "pay": {"one": [4, 6]}}
    game = act(deal("dealer_must", {3: "AS"}, **options), "pass pass pass one AS")
    play_out(game)
    assert payments(game) == [-4, -4, -4, 3 * 4]


def test_9_5_dealer_one_binds_whoever_speaks_last() -> None:
    # The dealer speaks first, so seat 2 on his right is the last.
    game = act(deal("dealer_must", first_bidder="dealer"), "pass pass pass")
    assert game.seat == 2
    assert game.legal() == names("one two three misere four nap wellington blucher")


def test_2_6_eldest_one_imposes_one_on_the_first_caller() -> None:
    game = act(deal("peel", {0: "AS"}), "pass pass pass pass")
    assert (game.phase, game.seat) == ("play", 0)
    play_out(act(game, "AS"))
    assert result(game)["contract"] == "one"
    assert payments(game) == [3 * 1, -1, -1, -1 - 1]


def test_9_5_eldest_one_falls_on_the_dealers_left_whoever_spoke_first() -> None:
    game = act(deal("peel", first_bidder="dealer"), "pass pass pass pass")
    assert [seat for seat, _ in game.record()["events"]] == [3, 0, 1, 2]
    assert (game.phase, game.seat) == ("play", 0)


@pytest.mark.parametrize("multiplier", [1, 2])
def test_2_6_double_next_doubles_once(multiplier: int) -> None:
    game = deal("standard", all_pass="double_next", multiplier=multiplier)
    assert result(act(game, "pass pass pass pass"))["multiplier"] == 2


# 2.7 Play. Seat 0 leads two rounds of spades, then the card that stands under "led".
FOLLOW = [
    ("9H", "AH 3H KS 2C 7D", False, "AH 3H"),  # T14
    ("9H", "KS 4S 2C 7D AD", False, "KS 4S 2C 7D AD"),  # T15
    ("9H", "KS 4S 2C 7D AD", True, "KS 4S"),  # T16
    ("9H", "QC KC 2C 7D AD", True, "QC KC 2C 7D AD"),  # T17
    ("9H", "JK 4H KD 3C 2C", False, "4H"),  # T19
    ("9H", "JK QD KD 3C 2C", True, "JK"),  # T20
    ("9H", "JK QD KD 3C 2C", False, "JK QD KD 3C 2C"),  # T20
    ("9S", "JK AH KD 3C 2C", False, "JK"),  # T18, in the third round
    ("9S", "JK AH KD 3C 2C", True, "JK"),
]


@pytest.mark.parametrize(("led", "hand", "must_trump", "legal"), FOLLOW)
def test_2_7_cards_that_may_be_played(led: str, hand: str, must_trump: bool, legal: str) -> None:
    hands = {0: "AS QS 9H 9S", 1: f"2S 3S {hand}", 2: "5S 6S"}
    game = deal("seven_card", hands, num_players=3, joker=True, must_trump=must_trump)
    act(game, f"three pass pass  AS 2S 5S  QS 3S 6S  {led}")
    assert game.legal() == names(legal)


def test_t18_the_joker_must_be_played_when_trumps_are_led() -> None:
    game = deal("pub", {0: "9S", 1: "JK AH KD QC TC"})
    act(game, "three pass pass pass 9S")
    assert game.legal() == ["JK"]


def test_2_7_must_trump_does_not_force_a_higher_trump() -> None:
    hands = {0: "AS KH", 1: "3S 9S 5C 6C 7C 8C 9C", 2: "2S 8S TS 5D 6D 7D 8D"}
    game = deal("seven_card", hands, num_players=3, must_trump=True)
    act(game, "three pass pass  AS 3S 2S  KH 9S")
    assert game.legal() == names("8S TS")


# 2.7: who takes the trick, by its cards in order of play. The maker fixes trumps with a first
# round of them.
TRICKS = [
    ("KD 9D TS", 2),  # T30
    ("KD AD QD", 1),
    ("KD AC AH", 0),
    ("KD 4S TS", 2),
    ("KD TS 4S", 1),
    ("KD JK TS", 1),
    ("KD AD JK", 2),
]


@pytest.mark.parametrize(("trick", "winner"), TRICKS)
def test_2_7_the_highest_trump_or_the_highest_card_of_the_led_suit_wins(
    trick: str, winner: int
) -> None:
    first, second, third = trick.split()
    hands = {
        0: f"AS {first}",
        1: f"2S {second} 5C 6C 7C 8C 9C",
        2: f"3S {third} 5H 6H 7H 8H 9H",
    }
    game = deal("seven_card", hands, num_players=3, joker=True)
    act(game, f"four pass pass  AS 2S 3S  {trick}")
    assert game.seat == winner


def test_t31_no_trumps_in_a_misere_the_highest_card_of_the_led_suit_wins() -> None:
    game = deal("thirty", {0: "7H", 1: "AS 3C 4C 5C 6C", 2: "KH", 3: "2H"})
    act(game, "misere pass pass pass  7H AS KH 2H")
    assert game.seat == 2


def test_2_7_play_is_clockwise_and_the_winner_leads_any_card() -> None:
    game = deal("thirty", {0: "2S", 1: "3S", 2: "AS KH 9D 4C 3C", 3: "4S"})
    act(game, "three pass pass pass  2S 3S AS 4S")
    assert (game.seat, game.legal()) == (2, names("KH 9D 4C 3C"))
    assert [seat for seat, _ in game.record()["events"][4:]] == [0, 1, 2, 3]


# 2.7 no. 5: the number of cards that are played before the hand is abandoned.
STOPS = [
    ("three", {0: "AS KS QS"}, 3 * 4),  # made
    ("four", {0: "AS KS QS JS"}, 4 * 4),
    ("nap", {0: "AS KS QS JS TS"}, 5 * 4),
    ("nap", {0: "KS", 1: "AS"}, 1 * 4),  # a five-trick bid ends at its first lost trick
    ("four", {0: "2S 2H", 1: "AS AH"}, 2 * 4),
    ("misere", {0: "AS"}, 1 * 4),  # a misère at the first trick won by the maker
]


@pytest.mark.parametrize(("bid", "hands", "cards"), STOPS)
def test_2_7_early_stop(bid: str, hands: dict[int, str], cards: int) -> None:
    game = play_out(act(deal("thirty", hands), f"{bid} pass pass pass"))
    assert len(game.record()["events"]) == 4 + cards
    full = play_out(act(deal("thirty", hands, early_stop=False), f"{bid} pass pass pass"))
    assert len(full.record()["events"]) == 4 + 5 * 4
    assert payments(full) == payments(game)


# 2.8 Misère


def test_2_8_misere_has_no_trumps_and_any_lead() -> None:
    game = deal("standard", {0: "8S 8H 8D 8C 9C", 1: "9S"})
    act(game, "misere pass pass pass")
    assert game.legal() == names("8S 8H 8D 8C 9C")
    play_out(act(game, "8S 9S"))
    assert result(game)["trump"] is None
    assert payments(game) == [3 * 3, -3, -3, -3]


def test_2_8_misere_with_trumps_of_the_lead() -> None:
    # Diamonds are trumps, so seat 2's diamond wins the second trick, led with the ace of hearts.
    hands = {0: "2D 2H", 1: "AD AH", 2: "3D 4D 3C 4C 5C", 3: "5D 3H"}
    game = deal("peel", hands)
    act(game, "misere pass pass pass  2D AD 3D 5D  AH 4D 3H 2H")
    assert game.seat == 2
    assert result(play_out(game))["trump"] == "D"


# Exactly three tricks are made, in a contract without trumps.
@pytest.mark.parametrize(
    ("hand", "tricks", "each"),
    [
        ("AS KS 2C 3C 2D", 2, -3),
        ("AS KS QS 2C 3C", 3, 3),
        ("AS KS QS JS 2C", 4, -3),
    ],
)
def test_2_8_exact3_nt(hand: str, tricks: int, each: int) -> None:
    for option in ("none", "lead"):
        options = {"misere_goal": "exact3_nt", "misere_trump": option, "early_stop": False}
        game = deal("thirty", {0: hand, 1: "AC KC QC JC TC"}, **options)
        play_out(act(game, "misere pass pass pass"))
        assert result(game)["tricks"][0] == tricks
        assert result(game)["trump"] is None
        assert payments(game) == [3 * each, -each, -each, -each]


def test_2_7_exact3_nt_stops_at_the_fourth_trick_won() -> None:
    options = {"misere_goal": "exact3_nt", "early_stop": True}
    game = deal("thirty", {0: "AS KS QS JS 2C"}, **options)
    play_out(act(game, "misere pass pass pass"))
    assert result(game)["tricks"] == [4, 0, 0, 0]
    assert result(game)["made"] is False


# 2.9 Joker


def test_2_9_joker_led_names_trumps_and_others_follow_the_suit() -> None:
    game = deal("pub", {0: "JK AS", 1: "8H 9H 8C", 2: "8D 9D TD 8S 9C", 3: "TH"})
    act(game, "three pass pass pass JK")
    assert (game.phase, game.seat) == ("name", 0)
    assert game.legal() == names("clubs diamonds hearts spades")
    act(game, "hearts")
    assert (game.phase, game.seat, game.legal()) == ("play", 1, names("8H 9H"))
    act(game, "8H")
    assert game.legal() == names("8D 9D TD 8S 9C")
    act(game, "8D TH")
    assert game.seat == 0


def test_2_9_the_joker_wins_over_the_ace_of_trumps() -> None:
    game = deal("pub", {0: "AS", 1: "JK", 2: "9S", 3: "TS"})
    act(game, "three pass pass pass  AS JK 9S TS")
    assert game.seat == 1


def test_2_9_joker_led_in_a_misere_all_play_anything_and_it_wins() -> None:
    game = deal("pub", {0: "JK", 1: "AS 8S 8H 8D 8C", 2: "AH 9S 9H 9D 9C"})
    act(game, "misere pass pass pass JK")
    assert (game.phase, game.legal()) == ("play", names("AS 8S 8H 8D 8C"))
    act(game, "AS")
    assert game.legal() == names("AH 9S 9H 9D 9C")
    play_out(game)
    assert result(game)["tricks"] == [1, 0, 0, 0]
    assert payments(game) == [3 * -3 - 1, 3 - 1, 3 - 1, 3 - 1]


def test_2_9_in_a_misere_the_joker_is_the_only_trump() -> None:
    game = deal("pub", {0: "8S 9S", 1: "TS", 2: "JK 8H 8D 8C 9C", 3: "AS"})
    act(game, "misere pass pass pass  8S TS")
    assert game.legal() == names("JK 8H 8D 8C 9C")
    act(game, "JK AS")
    assert game.seat == 2


def test_2_9_in_a_misere_the_joker_may_not_be_played_by_who_can_follow() -> None:
    game = deal("pub", {0: "8S", 1: "JK TS 9H 9D 9C"})
    assert act(game, "misere pass pass pass 8S").legal() == ["TS"]


def test_2_9_a_misere_with_the_joker_may_be_bid() -> None:
    assert "misere" in deal("pub", {0: "JK"}).legal()


def test_2_9_the_joker_is_led_later_without_naming_trumps_again() -> None:
    game = deal("pub", {0: "AS JK", 1: "8S 9S", 2: "TS QS", 3: "JS KS"})
    act(game, "three pass pass pass  AS 8S TS JS  JK")
    assert (game.phase, game.legal()) == ("play", ["9S"])


# 4.0 Marks


def test_4_0_marks_go_up_and_new_cards_come_after_done() -> None:
    game = deal("draw", {0: "2C 4D 6H 8S TS"}, stock="AS KS")
    act(game, "one pass pass pass")
    assert game.legal() == names("2C 4D 6H 8S TS done")
    act(game, "4D")
    assert game.legal() == names("6H 8S TS done")
    act(game, "TS")
    assert game.hand(0) == ["2C", "6H", "8S"]
    assert game.legal() == ["done"]
    act(game, "done")
    assert sorted(game.hand(0)) == names("2C 6H 8S AS KS")


def test_9_1_exact_marks_leave_enough_cards_for_the_rest() -> None:
    # Seven cards down to five: the first of two marks may not be the last card.
    game = deal("seven_card", {0: "2C 3C 4C 5C 6C 7C 8C"}, bids=["four", "nap"], discard_to=5)
    assert (game.phase, game.legal()) == ("exchange", names("2C 3C 4C 5C 6C 7C"))
    act(game, "6C")
    assert game.legal() == names("7C 8C")
    act(game, "8C")
    assert (game.seat, game.phase) == (1, "exchange")


def test_4_2_discard_to_five_before_the_auction_in_turn() -> None:
    game = deal("seven_card", bids=["three", "four", "nap"], discard_to=5)
    seats = []
    while game.phase == "exchange":
        seats.append(game.seat)
        act(game, game.legal()[0])
    assert seats == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [len(game.hand(seat)) for seat in range(4)] == [5] * 4
    assert (game.phase, game.seat) == ("auction", 0)
    play_out(act(game, "nap pass pass pass"))
    assert sum(result(game)["tricks"]) <= 5


# 4.3 Peep Nap


def test_4_3_a_look_costs_one_and_the_same_player_speaks_again() -> None:
    game = act(deal("peep"), "look")
    assert (game.seat, game.legal()) == (0, names("pass three misere four nap"))
    play_out(act(game, "pass pass pass look pass"))
    assert payments(game) == [-1, 0, 0, -1]
    assert result(game)["pool"] == 2


def test_4_3_a_look_stays_legal_for_who_can_bid_no_more() -> None:
    assert act(deal("peep"), "nap").legal() == names("look pass")


def test_4_3_a_maker_who_has_looked_may_swap_or_keep() -> None:
    hands = {0: "AS KS QS JS 2H"}
    game = act(deal("peep", hands, widow="TS"), "look nap pass pass pass")
    assert (game.seat, game.phase) == (0, "exchange")
    assert game.legal() == names("AS KS QS JS 2H done")  # the card on the table is not thrown
    keeper = act(game.clone(), "done")
    assert sorted(keeper.hand(0)) == names("AS KS QS JS 2H")
    act(game, "2H")
    assert sorted(game.hand(0)) == names("AS KS QS JS TS")
    assert game.phase == "play"


def test_4_3_a_maker_who_has_not_looked_has_no_choice() -> None:
    game = act(deal("peep"), "nap look pass look pass pass")
    assert (game.phase, game.seat) == ("play", 0)


def test_4_3_look_needed_false_any_maker_may_swap() -> None:
    game = act(deal("peep", look_needed=False), "nap pass pass pass")
    assert game.phase == "exchange"


# 4.4 Écarté Nap


def test_4_4_purchases_go_round_before_the_auction_dealer_last() -> None:
    game = deal("ecarte", {0: "2C 3C 4C 5C 6C"}, stock="AS KS QS")
    assert (game.phase, game.legal()) == ("buy", names("2C 3C 4C 5C 6C done"))
    act(game, "2C 4C 6C done")
    assert sorted(game.hand(0)) == names("3C 5C AS KS QS")
    act(game, "done done")
    assert game.seat == 3
    act(game, "done")
    assert (game.phase, game.seat) == ("auction", 0)
    act(game, "pass pass pass pass")
    assert payments(game) == [-3, 0, 0, 0]
    assert result(game)["pool"] == 3


def test_4_4_all_five_cards_may_be_bought() -> None:
    game = act(deal("ecarte", {0: "2C 3C 4C 5C 6C"}), "2C 3C 4C 5C 6C")
    assert (game.seat, game.legal()) == (0, ["done"])


def test_t27_no_more_cards_are_marked_than_the_stock_has() -> None:
    # 24 cards, four hands: four in the stock. Seat 0 buys one, which leaves three.
    game = deal("ecarte", {0: "9C", 1: "9D TD JD QD KD"}, deck=24)
    act(game, "9C done 9D TD JD")
    assert (game.seat, game.legal()) == (1, ["done"])
    act(game, "done")
    assert (game.seat, game.legal()) == (2, ["done"])


# 4.5 Sir Garnet


def test_4_5_take_shows_ten_cards_and_five_are_marked() -> None:
    hand, widow = "2C 4C 6C 8C TC", "3C 5C 7C 9C JC"
    game = act(deal("sir_garnet", {0: hand}, widow=widow), "take")
    assert len(game.hand(0)) == 10
    # Section 9 no. 1: no done, and enough higher cards stay for the marks to come.
    assert game.legal() == names("2C 3C 4C 5C 6C 7C")
    act(game, "7C")
    assert game.legal() == names("8C")
    act(game, "8C 9C TC JC")
    assert game.hand(0) == ["2C", "3C", "4C", "5C", "6C"]
    assert (game.phase, game.seat) == ("auction", 1)


def test_4_5_the_taker_has_called_nap_and_the_auction_goes_on() -> None:
    game = act(deal("sir_garnet", {0: "2C 2D 2H 2S 3C"}), "take 2C 3C 2D 2H 2S")
    assert game.legal() == ["pass"]
    play_out(act(game, "pass pass pass"))
    assert result(game)["contract"] == "nap"


@pytest.mark.parametrize(
    ("calls", "legal"),
    [
        ("", "pass take three misere four nap"),
        ("four", "pass take nap"),
        ("nap", "pass"),  # T24
    ],
)
def test_t24_take_is_legal_while_nap_is(calls: str, legal: str) -> None:
    assert act(deal("sir_garnet"), calls).legal() == names(legal)


def test_4_5_an_outbid_taker_pays_nothing_for_it() -> None:
    options = {"bids": ["nap", "wellington"], "garnet_fail": 2, "garnet_pool": 2}
    game = deal("sir_garnet", {0: "2C 2D 2H 2S 3C", 1: "3S", 2: "AS"}, **options)
    act(game, "take 2C 3C 2D 2H 2S wellington pass pass 3S AS")
    play_out(game)
    assert payments(game) == [10, 3 * -10, 10, 10]
    assert result(game)["pool"] == 0


# 4.6 Draw after the auction


def test_t26_opponents_change_as_many_as_the_maker_at_most() -> None:
    hands = {1: "2C 3C 4C 5C 6C", 2: "2D 3D 4D 5D 6D"}
    game = act(deal("draw", hands), "pass one pass pass 2C 3C done")
    assert (game.seat, game.legal()) == (2, names("2D 3D 4D 5D 6D done"))
    act(game, "2D 3D")
    assert game.legal() == ["done"]
    act(game, "done done")
    assert game.seat == 0
    act(game, "done")
    assert (game.phase, game.seat) == ("play", 1)


def test_9_2_if_the_maker_changes_nothing_the_opponents_have_no_turn() -> None:
    game = act(deal("draw"), "one pass pass pass done")
    assert (game.phase, game.seat) == ("play", 0)


def test_4_6_later_players_get_fewer_when_the_stock_runs_short() -> None:
    hands = {0: "9C TC JC QC KC", 1: "9D TD JD QD KD"}
    game = act(deal("draw", hands, deck=24), "one pass pass pass 9C TC JC done 9D")
    assert (game.seat, game.legal()) == (1, ["done"])
    act(game, "done")
    # Section 9 no. 2: with the stock empty an opponent still has done.
    for seat in (2, 3):
        assert (game.seat, game.legal()) == (seat, ["done"])
        act(game, "done")
    assert game.phase == "play"


def test_9_2_a_dealer_who_sits_out_has_no_turn_in_the_draw() -> None:
    game = deal("draw", {0: "2C"}, num_players=6, dealer_out_from=6)
    act(game, "one pass pass pass pass 2C done done done done done")
    assert (game.phase, game.seat) == ("play", 0)


# 4.7 Floater


def test_t25_bids_with_the_floater_need_a_look() -> None:
    game = act(deal("floater"), "look three+f")
    assert game.legal() == names("look pass three four nap")
    act(game, "look")
    assert game.legal() == names("pass three four+f four nap+f nap")


def test_4_7_the_dealer_has_seen_the_floater_for_nothing() -> None:
    game = act(deal("floater"), "pass pass pass")
    assert game.legal() == names("pass three+f three four+f four nap+f nap")
    play_out(act(game, "pass"))
    assert payments(game) == [-1, -1, -1, -1]


def test_4_7_the_dealer_pays_without_the_free_look() -> None:
    game = act(deal("floater", dealer_free_look=False), "pass pass pass")
    assert game.legal() == names("look pass three four nap")


def test_4_7_a_maker_with_the_floater_must_swap() -> None:
    hands = {0: "AS KS QS JS 8H"}
    game = act(deal("floater", hands, widow="TS"), "look nap+f pass pass pass")
    assert (game.phase, game.legal()) == ("exchange", names("AS KS QS JS 8H"))
    play_out(act(game, "8H"))
    assert result(game)["made"]
    # The antes of 4 and the look of 1 are in the kitty that he takes.
    assert payments(game) == [3 * 10 + 5 - 1 - 1, -10 - 1, -10 - 1, -10 - 1]


def test_4_7_a_maker_without_the_floater_plays_his_hand() -> None:
    game = act(deal("floater"), "look three pass pass pass")
    assert (game.phase, game.seat) == ("play", 0)


@pytest.mark.parametrize("bids", ["three+f four", "three four+f", "four+f four", "nap+f nap"])
def test_4_7_with_the_floater_ranks_just_below_without(bids: str) -> None:
    lower, higher = bids.split()
    assert higher in act(deal("floater"), f"look {lower} look").legal()
    assert lower not in act(deal("floater"), f"look {higher} look").legal()


def test_4_7_all_pass_doubles_the_next_deal() -> None:
    assert result(act(deal("floater"), "pass pass pass pass"))["multiplier"] == 2


# 4.9 Old Russian Napoleon; the dealer is seat 3


def test_4_9_the_dealer_speaks_first() -> None:
    game = act(deal("old_russian"), "one two three pass")
    assert [seat for seat, _ in game.record()["events"]] == [3, 0, 1, 2]
    assert (game.phase, game.seat) == ("hold", 3)


def test_4_9_no_hold_if_the_dealer_is_the_high_bidder() -> None:
    game = act(deal("old_russian"), "two pass pass pass")
    assert (game.phase, game.seat) == ("exchange", 3)


def test_t28_a_held_five_is_final() -> None:
    game = act(deal("old_russian"), "pass pass five pass")
    assert (game.seat, game.legal()) == (3, names("hold decline"))
    act(game, "hold")
    assert (game.phase, game.seat) == ("exchange", 3)


def test_t29_the_held_player_declines_or_raises() -> None:
    game = act(deal("old_russian"), "pass pass three pass")
    assert (game.seat, game.legal()) == (3, names("hold decline four five"))
    act(game, "hold")
    assert (game.seat, game.legal()) == (1, names("decline four five"))


@pytest.mark.parametrize(
    ("answers", "maker", "contract"),
    [
        ("decline", 1, "three"),
        ("four", 3, "four"),  # a raise is final
        ("hold decline", 3, "three"),
        ("hold four decline", 1, "four"),
        ("hold four hold decline", 3, "four"),
        ("hold four hold five hold", 3, "five"),
        ("hold four hold five decline", 1, "five"),
        ("hold four five", 3, "five"),
        ("hold five hold", 3, "five"),
    ],
)
def test_4_9_hold_phase(answers: str, maker: int, contract: str) -> None:
    game = act(deal("old_russian"), f"two pass three pass {answers}")
    assert (game.phase, game.seat) == ("exchange", maker)
    play_out(act(game, "done"))
    assert (result(game)["declarer"], result(game)["contract"]) == (maker, contract)


def test_9_6_a_hold_is_final_when_no_raise_is_legal() -> None:
    # Wellington ranks higher but its condition fails: nobody has bid Nap.
    bids = ["four", "wellington"]
    game = deal("old_russian", bids=bids, wellington_over="nap")
    act(game, "pass four pass pass hold")
    assert (game.phase, game.seat) == ("exchange", 3)


def test_4_9_eldest_first_skips_the_dealer_who_goes_straight_to_the_hold() -> None:
    game = act(deal("old_russian", first_bidder="eldest"), "pass two pass")
    assert (game.phase, game.seat) == ("hold", 3)


def test_4_9_eldest_first_the_dealer_speaks_if_nobody_has_bid() -> None:
    game = act(deal("old_russian", first_bidder="eldest"), "pass pass pass")
    assert (game.phase, game.legal()) == ("auction", names("pass one two three four five"))


def test_9_10_a_dealer_who_sits_out_holds_nothing() -> None:
    game = deal("old_russian", num_players=5, dealer_out_from=5)
    act(game, "pass two pass pass")
    assert [seat for seat, _ in game.record()["events"]] == [0, 1, 2, 3]
    assert (game.phase, game.seat) == ("exchange", 1)


def test_4_9_the_maker_draws_one_unseen_card() -> None:
    game = deal("old_russian", {3: "AS KS QS JS 6H"}, stock="TS")
    act(game, "five pass pass pass")
    assert game.legal() == names("AS KS QS JS 6H done")
    act(game, "6H")
    assert sorted(game.hand(3)) == names("AS KS QS JS TS")
    assert (game.phase, game.seat) == ("play", 3)


def test_4_9_the_maker_keeps_his_hand_when_the_stock_is_empty() -> None:
    # 24 cards, four hands of six.
    game = deal("old_russian", deck=24, hand_size=6)
    act(game, "three pass pass pass")
    assert (game.phase, game.legal()) == ("exchange", ["done"])


def test_4_9_must_trump() -> None:
    game = deal("old_russian", {3: "AS KH", 0: "6S 9S AD KD QD", 1: "7S", 2: "8S"})
    act(game, "three pass pass pass done  AS 6S 7S 8S  KH")
    assert game.legal() == ["9S"]


def test_4_9_the_contribution_stays_when_all_pass() -> None:
    game = act(deal("old_russian", pool=3), "pass pass pass pass")
    assert payments(game) == [0, 0, 0, -1]
    assert result(game)["pool"] == 3 + 1


def test_4_9_separate_call_ranks_napoleon_above_five() -> None:
    game = deal("old_russian", separate_call=True)
    assert act(game, "five").legal() == names("pass napoleon")


# Section 9, the rest


def test_9_3_only_double_next_has_a_multiplier() -> None:
    with pytest.raises(ValueError, match="multiplier=2"):
        deal("standard", multiplier=2)


@pytest.mark.parametrize("none", ["none", None])
def test_9_none_is_a_word_or_null(none: str | None) -> None:
    options = {"wellington_over": none, "dealer_out_from": none, "widow": none, "draw": none}
    rules = resolve("standard", options)
    assert rules == resolve("standard", {"wellington_over": "none", "dealer_out_from": "none"})
    assert len(Game(rules, 6, seed=0).record()["hands"][0]) == 5


@pytest.mark.parametrize(
    ("rules", "suits", "lowest"),
    [
        ("mini_2x4", "CD", "J"),
        ("mini_2x5", "CD", "T"),
        ("mini_3x4", "CDH", "J"),
        ("mini_3p", "CD", "T"),
        ("mini_mix", "CD", "J"),
    ],
)
def test_9_small_games(rules: str, suits: str, lowest: str) -> None:
    players = PRESETS[rules].player_range[0]
    game = Game(resolve(rules), players, seed=0)
    ranks = "TJQKA"["TJQKA".index(lowest) :]
    assert sorted(pack_of(game)) == sorted(rank + suit for rank in ranks for suit in suits)
    assert [len(game.hand(seat)) for seat in range(players)] == [3] * players
    assert game.legal() == names("pass one two nap")


@pytest.mark.parametrize(
    ("bid", "won", "each"), [("one", 1, 1), ("two", 2, 2), ("nap", 3, 6), ("nap", 2, -3)]
)
def test_9_12_a_bid_for_five_means_all_of_a_smaller_hand(bid: str, won: int, each: int) -> None:
    losers = "JC QC KC"
    hand = " ".join("AD KD QD".split()[:won] + losers.split()[: 3 - won])
    game = play_out(act(deal("mini_2x4", {0: hand, 1: "AC"}, num_players=2), f"{bid} pass"))
    assert result(game)["tricks"][0] == won
    assert payments(game) == [each, -each]


def test_4_0_an_illegal_action_changes_nothing() -> None:
    game = deal("standard", {0: "AS"})
    before = game.record()
    with pytest.raises(IllegalActionError, match="legal: four misere nap pass three"):
        act(game, "wellington")
    assert game.record() == before
