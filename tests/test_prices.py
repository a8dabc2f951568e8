"""What bids pay: the price list of RULES.md 6.2, the table of 4.11, the S rows of one deal."""

from typing import Any

import pytest
from deals import act, deal, payments, play_out, result

from nap_env.cards import RANKS
from nap_env.game import Game
from nap_env.presets import PRESETS, resolve

MAKER = 2
"""Seats 0 and 1 speak before him, for bids that must overcall another player's."""

# n players; made: maker's chips, each opponent's, pool of 6 afterwards; the same when lost.
# Chips without the antes and looks that filled the pool up to 6; "-": the preset has no pool.
PRICES = """
standard        4  three        +9   -3   -    -9   +3   -
standard        4  misere       +9   -3   -    -9   +3   -
standard        4  four        +12   -4   -   -12   +4   -
standard        4  nap         +30  -10   -   -15   +5   -
standard        4  wellington  +30  -10   -   -30  +10   -
standard        4  blucher     +30  -10   -   -60  +20   -
parlett         4  one          +3   -1   -    -3   +1   -
parlett         4  two          +6   -2   -    -6   +2   -
parlett         4  three        +9   -3   -    -9   +3   -
parlett         4  misere       +9   -3   -    -9   +3   -
parlett         4  four        +12   -4   -   -12   +4   -
parlett         4  nap         +30  -10   -   -15   +5   -
parlett         5  wellington  +80  -20   -   -40  +10   -
parlett         7  blucher    +240  -40   -  -120  +20   -
house           4  one          +3   -1   6    -4   +1   7
house           4  two          +6   -2   6    -8   +2   8
house           4  three        +9   -3   6   -12   +3   9
house           4  misere      +21   -7   6   -20   +5  11
house           4  four        +12   -4   6   -16   +4  10
house           4  nap         +36  -10   0   -20   +5  11
alt_scoring     4  one          +6   -2   -   -21   +7   -
alt_scoring     4  two         +12   -4   -   -18   +6   -
alt_scoring     4  three       +18   -6   -   -15   +5   -
alt_scoring     4  misere      +18   -6   -   -18   +6   -
alt_scoring     4  four        +24   -8   -   -12   +4   -
alt_scoring     4  nap         +45  -15   -   -30  +10   -
draw            4  one          +3   -1   -    -3   +1   -
draw            4  two          +6   -2   -    -6   +2   -
draw            4  three        +9   -3   -    -9   +3   -
draw            4  misere       +9   -3   -    -9   +3   -
draw            4  four        +12   -4   -   -12   +4   -
draw            4  nap         +30  -10   -   -15   +5   -
thirty          4  three        +9   -3   -    -9   +3   -
thirty          4  misere       +9   -3   -    -9   +3   -
thirty          4  four        +12   -4   -   -12   +4   -
thirty          4  nap         +30  -10   -   -15   +5   -
thirty          4  wellington  +30  -10   -   -30  +10   -
thirty          4  blucher     +30  -10   -   -60  +20   -
seven_card      4  three        +9   -3   -    -9   +3   -
seven_card      4  four        +12   -4   -   -12   +4   -
seven_card      4  nap         +30  -10   -   -15   +5   -
seven_card      4  misere      +30  -10   -   -15   +5   -
seven_card      4  six         +54  -18   -   -27   +9   -
seven_card      4  seven       +72  -24   -   -36  +12   -
ecarte          4  three        +9   -3   6    -9   +3   6
ecarte          4  misere       +9   -3   6    -9   +3   6
ecarte          4  four        +12   -4   6   -12   +4   6
ecarte          4  nap         +36  -10   0   -15   +5   6
peep            4  three        +9   -3   6    -9   +3   6
peep            4  misere       +9   -3   6    -9   +3   6
peep            4  four        +12   -4   6   -12   +4   6
peep            4  nap         +36  -10   0   -15   +5   6
sir_garnet      4  three        +9   -3   -    -9   +3   -
sir_garnet      4  misere       +9   -3   -    -9   +3   -
sir_garnet      4  four        +12   -4   -   -12   +4   -
sir_garnet      4  nap         +30  -10   -   -15   +5   -
modern          4  three        +9   -3   -    -9   +3   -
modern          4  misere       +9   -3   -    -9   +3   -
modern          4  four        +12   -4   -   -12   +4   -
modern          4  nap         +30  -10   -   -15   +5   -
modern          4  napoleon    +30  -10   -   -15   +5   -
modern          4  wellington  +30  -10   -   -30  +10   -
floater         4  three+f      +9   -3   6    -9   +3   6
floater         4  three        +9   -3   6    -9   +3   6
floater         4  four+f      +12   -4   6   -12   +4   6
floater         4  four        +12   -4   6   -12   +4   6
floater         4  nap+f       +36  -10   0   -15   +5   6
floater         4  nap         +36  -10   0   -15   +5   6
old_russian     4  one          +3   -1   6    -4   +1   7
old_russian     4  two          +6   -2   6    -8   +2   8
old_russian     4  three        +9   -3   6   -12   +3   9
old_russian     4  four        +12   -4   6   -16   +4  10
old_russian     4  five        +21   -5   0   -21   +5  12
pool_nap        4  one          +3   -1   6    -3   +1   6
pool_nap        4  two          +6   -2   6    -6   +2   6
pool_nap        4  three        +9   -3   6    -9   +3   6
pool_nap        4  four        +12   -4   6   -12   +4   6
pool_nap        4  nap         +36  -10   0   -21   +5  12
britannica_1911 4  two          +6   -2   -    -6   +2   -
britannica_1911 4  three        +9   -3   -    -9   +3   -
britannica_1911 4  misere       +9   -3   -   -18   +6   -
britannica_1911 4  four        +12   -4   -   -12   +4   -
britannica_1911 4  nap         +30  -10   -   -15   +5   -
britannica_1911 4  wellington  +60  -20   -   -30  +10   -
britannica_1911 4  blucher     +90  -30   -   -45  +15   -
pub             4  two          +6   -2   6    -6   +2   6
pub             4  three        +9   -3   6    -9   +3   6
pub             4  misere       +9   -3   6    -9   +3   6
pub             4  four        +12   -4   6   -12   +4   6
pub             4  nap         +36  -10   0   -15   +5   6
pub             4  wellington  +66  -20   0   -60  +20   6
pub             4  blucher    +126  -40   0  -120  +40   6
dealer_must     4  two          +6   -2   -    -6   +2   -
dealer_must     4  three        +9   -3   -    -9   +3   -
dealer_must     4  misere       +9   -3   -    -9   +3   -
dealer_must     4  four        +12   -4   -   -12   +4   -
dealer_must     4  nap         +30  -10   -   -15   +5   -
dealer_must     4  wellington  +30  -10   -   -30  +10   -
dealer_must     4  blucher     +30  -10   -   -60  +20   -
peel            4  one          +3   -1   6    -3   +1   6
peel            4  two          +6   -2   6    -6   +2   6
peel            4  misere       +9   -3   6    -9   +3   6
peel            4  three        +9   -3   6    -9   +3   6
peel            4  four        +12   -4   6   -12   +4   6
peel            4  nap         +36  -10   0   -15   +5   6
peel            4  wellington  +66  -20   0   -30  +10   6
peel            4  blucher     +96  -30   0   -45  +15   6
"""

# Payment from (+) or to (-) each opponent with 0 to 5 tricks. Source: RULES 4.11.
ALT_PRICES = """
one     -7   +2   +3   +4   +5   +6
two     -9   -6   +4   +5   +6   +7
three  -11   -8   -5   +6   +7   +8
four   -13  -10   -7   -4   +8   +9
nap    -10  -10  -10  -10  -10  +15
misere  +6   -6   -6   -6   -6   -6
"""


def maker_wins(tricks: int, rules: str, bid: str, num_players: int = 4, **set_up: Any) -> Game:
    """Play a deal in which the maker, seat 2, bids as told and wins so many tricks.

    He holds the highest spades, which win, and the lowest clubs, diamonds and hearts, which lose:
    seat 0 has the highest clubs. Nobody looks, buys or exchanges unless the bid needs it.
    """
    chosen = deal(rules, num_players=num_players, **set_up).rules
    size = chosen.hand_size
    ranks = RANKS[-(chosen.pack_size(num_players) // 4) :]
    losers = [rank + suit for rank in ranks for suit in "CDH"][: size - tricks]
    hand = [f"{rank}S" for rank in ranks[: -tricks - 1 : -1]] + losers
    widow = ""
    if bid.endswith("+f"):
        hand[-1], widow = "KD", hand[-1]
    clubs = " ".join(f"{rank}C" for rank in ranks[: -size - 1 : -1])
    hands = {0: clubs, MAKER: " ".join(hand)}
    game = deal(rules, hands, num_players=num_players, widow=widow, **set_up)
    calls = {MAKER: bid}
    if bid == "wellington" and chosen.wellington_over:
        calls |= {0: "nap"}
    if bid == "blucher" and chosen.blucher_over:
        calls |= {0: "nap", 1: "wellington"}
    while game.phase in ("buy", "auction", "hold", "exchange", "name"):
        if game.phase == "auction" and game.seat == MAKER and widow and "look" in game.legal():
            act(game, "look")
        elif game.phase == "auction":
            act(game, calls.get(game.seat, "pass"))
        elif game.phase == "hold":
            act(game, "decline")
        elif game.phase == "name":
            act(game, "spades")
        else:
            act(game, "KD" if widow else "done")
    return play_out(game)


def price_rows() -> list[Any]:
    rows = [line.split() for line in PRICES.strip().splitlines()]
    return [pytest.param(*row, id=f"{row[0]}-{row[2]}") for row in rows]


def chips(text: str) -> int:
    return 0 if text == "-" else int(text)


def assert_pays(game: Game, maker: int, each: int, dues: list[int]) -> None:
    """Check that the maker and each opponent got their chips, less what they had paid before."""
    expected = [each - due for due in dues]
    expected[MAKER] = maker - dues[MAKER]
    assert payments(game) == expected


@pytest.mark.parametrize(
    ("rules", "n", "bid", "made", "made_each", "made_pool", "lost", "lost_each", "lost_pool"),
    price_rows(),
)
def test_price_list(
    rules: str,
    n: str,
    bid: str,
    made: str,
    made_each: str,
    made_pool: str,
    lost: str,
    lost_each: str,
    lost_pool: str,
) -> None:
    chosen, players = resolve(rules), int(n)
    dues = [chosen.pool_each] * players
    dues[-1] += chosen.pool_dealer
    dues[MAKER] += chosen.look_cost * bid.endswith("+f")
    pool = 6 - sum(dues) if made_pool != "-" else 0
    row = next(row for row in chosen.bids if row.name == bid)
    short = row.tricks - 1 if row.tricks else 1

    game = maker_wins(row.tricks, rules, bid, players, pool=pool)
    assert result(game)["made"]
    assert result(game)["tricks"][MAKER] == row.tricks
    assert_pays(game, int(made), int(made_each), dues)
    assert result(game)["pool"] == chips(made_pool)

    game = maker_wins(short, rules, bid, players, pool=pool)
    assert not result(game)["made"]
    # Where the lowest plain card must be led, the trick that is missing is the first one.
    assert result(game)["tricks"][MAKER] == (0 if row.lead == "lowest_plain" else short)
    assert_pays(game, int(lost), int(lost_each), dues)
    assert result(game)["pool"] == chips(lost_pool)


def test_price_list_has_every_bid_of_every_preset() -> None:
    listed = {tuple(line.split()[0:3:2]) for line in PRICES.strip().splitlines()}
    small = {name for name in PRESETS if name.startswith("mini")}
    bids = {(name, bid.name) for name, rules in PRESETS.items() for bid in rules.bids}
    assert listed == {(name, bid) for name, bid in bids if name not in small}


@pytest.mark.parametrize("row", ALT_PRICES.strip().splitlines(), ids=lambda row: row.split()[0])
def test_4_11_alternative_scoring_pays_single_tricks(row: str) -> None:
    bid, *prices = row.split()
    for tricks, price in enumerate(prices):
        game = maker_wins(tricks, "alt_scoring", bid)
        assert result(game)["tricks"][MAKER] == tricks
        assert_pays(game, 3 * int(price), -int(price), dues=[0] * 4)


@pytest.mark.parametrize("tricks", [3, 4, 5])
def test_3_2_a_made_bid_pays_its_amount_whatever_was_taken(tricks: int) -> None:
    game = maker_wins(tricks, "standard", "three", early_stop=False)
    assert result(game)["tricks"][MAKER] == tricks
    assert payments(game) == [-3, -3, 3 * 3, -3]


@pytest.mark.parametrize("tricks", [0, 1, 2])
def test_3_2_a_failed_bid_costs_its_amount_whatever_was_taken(tricks: int) -> None:
    game = maker_wins(tricks, "standard", "three", early_stop=False)
    assert result(game)["tricks"][MAKER] == tricks
    assert payments(game) == [3, 3, 3 * -3, 3]


# 4.12: one chip from each opponent for each trick above a made bid of One to Four.
@pytest.mark.parametrize(
    ("rules", "bid", "tricks", "each"),
    [
        ("house", "one", 1, 1),
        ("house", "one", 4, 1 + 3),
        ("house", "two", 4, 2 + 2),
        ("house", "three", 5, 3 + 2),
        ("house", "four", 5, 4 + 1),
        ("house", "nap", 5, 10),
        ("house", "misere", 0, 7),
        # Section 9 no. 8: in the seven-card game Nap and Six are bids for fewer than all tricks.
        ("seven_card", "three", 5, 3 + 2),
        ("seven_card", "nap", 6, 10 + 1),
        ("seven_card", "nap", 7, 10 + 2),
        ("seven_card", "six", 7, 18 + 1),
        ("seven_card", "seven", 7, 24),
    ],
)
def test_4_12_overtricks(rules: str, bid: str, tricks: int, each: int) -> None:
    game = maker_wins(tricks, rules, bid, overtrick=1)
    assert result(game)["tricks"][MAKER] == tricks
    assert payments(game) == [-each, -each, 3 * each, -each]


def test_9_overtrick_turns_early_stop_off() -> None:
    game = maker_wins(4, "standard", "three", overtrick=2, early_stop=True)
    assert result(game)["tricks"] == [1, 0, 4, 0]
    assert payments(game) == [-(3 + 2), -(3 + 2), 3 * (3 + 2), -(3 + 2)]


def test_9_alternative_scoring_turns_early_stop_off() -> None:
    game = maker_wins(4, "standard", "three", scheme="alt", early_stop=True)
    assert result(game)["tricks"] == [1, 0, 4, 0]
    assert payments(game) == [-(2 * 3 + 1), -(2 * 3 + 1), 3 * (2 * 3 + 1), -(2 * 3 + 1)]


def test_9_pay_overrides_a_single_bid() -> None:
    pay = {"nap": [5, 7]}
    assert payments(maker_wins(5, "standard", "nap", pay=pay)) == [-5, -5, 3 * 5, -5]
    assert payments(maker_wins(4, "standard", "nap", pay=pay)) == [7, 7, 3 * -7, 7]
    assert payments(maker_wins(4, "standard", "four", pay=pay)) == [-4, -4, 3 * 4, -4]


def test_3_3_stake_and_multiplier_multiply_the_settlement() -> None:
    game = maker_wins(3, "standard", "three", stake=5, multiplier=2, all_pass="double_next")
    assert payments(game) == [-3 * 5 * 2, -3 * 5 * 2, 3 * 3 * 5 * 2, -3 * 5 * 2]
    game = maker_wins(2, "standard", "three", stake=5, multiplier=2, all_pass="double_next")
    assert payments(game) == [3 * 5 * 2, 3 * 5 * 2, -3 * 3 * 5 * 2, 3 * 5 * 2]


def test_9_antes_contributions_and_looks_are_plain_chips() -> None:
    # Nobody bids: pool_each 1, dealer 2 more, one look for 3, at stake 5 and doubled.
    options = {"stake": 5, "pool_dealer": 2, "look_cost": 3}
    game = act(deal("floater", multiplier=2, **options), "look pass pass pass pass")
    assert payments(game) == [-1 - 3, -1, -1, -1 - 2]
    assert result(game)["pool"] == 4 * 1 + 2 + 3


def test_9_purchases_cost_stakes_but_are_not_doubled() -> None:
    options = {"stake": 5, "buy_cost": 2, "all_pass": "double_next"}
    game = deal("ecarte", {0: "2C 3C 4C 5C 6C"}, multiplier=2, **options)
    act(game, "2C 3C done done done done pass pass pass pass")
    assert payments(game) == [-2 * 2 * 5, 0, 0, 0]
    assert result(game)["pool"] == 2 * 2 * 5


# S01: the score sheet of the thirty-point game is multiplied by n - 1 = 3.
def test_s01_split_transfer_shares_the_price_among_the_opponents() -> None:
    game = maker_wins(5, "thirty", "nap", transfer="split")
    assert payments(game) == [-10, -10, 3 * 10, -10]


# S05: the taker leads the lowest card of his hand and loses it.
@pytest.mark.parametrize(
    ("options", "expected", "pool"),
    [
        ({"garnet_fail": 1}, [3 * -5, 5, 5, 5], 0),
        ({"garnet_fail": 2}, [3 * -10, 10, 10, 10], 0),
        ({"garnet_pool": 2}, [3 * -5 - 2, 5, 5, 5], 2),
        ({"garnet_pool": 2, "stake": 3}, [3 * -15 - 2 * 3, 15, 15, 15], 2 * 3),
    ],
)
def test_s05_lost_with_the_spare_hand(
    options: dict[str, int], expected: list[int], pool: int
) -> None:
    hands = {0: "AS KS 7D 6D 2C", 1: "AC"}
    game = deal("sir_garnet", hands, widow="3D 4D 5D KD QD", **options)
    act(game, "take 3D 4D 5D 6D 7D pass pass pass")
    assert game.hand(0) == ["2C", "QD", "KD", "KS", "AS"]
    act(game, "2C AC")
    play_out(game)
    assert payments(game) == expected
    assert result(game)["pool"] == pool


def test_s05_a_nap_lost_without_the_spare_hand_costs_the_normal_price() -> None:
    game = maker_wins(4, "sir_garnet", "nap", garnet_fail=2, garnet_pool=2)
    assert payments(game) == [5, 5, 3 * -5, 5]
    assert result(game)["pool"] == 0


# S06 to S08: five players, stake and dealer's contribution 2; the contribution makes the pool 10.
@pytest.mark.parametrize(
    ("bid", "tricks", "maker", "each", "pool"),
    [
        ("four", 3, -(4 * 2 * 4) - 4 * 2, 4 * 2, 10 + 8),
        ("five", 5, 4 * 5 * 2 + 10, -5 * 2, 0),
        ("five", 4, -4 * 5 * 2 - 10, 5 * 2, 20),
    ],
    ids=["S06", "S07", "S08"],
)
def test_s06_to_s08_the_treasure(bid: str, tricks: int, maker: int, each: int, pool: int) -> None:
    game = maker_wins(tricks, "old_russian", bid, 5, pool=8, stake=2, pool_dealer=2)
    assert_pays(game, maker, each, dues=[0, 0, 0, 0, 2])
    assert result(game)["pool"] == pool


# S09: only the separately called Napoleon plays for the Treasure.
@pytest.mark.parametrize(
    ("bid", "tricks", "maker", "each", "pool"),
    [
        ("five", 5, 3 * 5, -5, 6),
        ("napoleon", 5, 3 * 5 + 6, -5, 0),
        ("five", 4, 3 * -5 - 5, 5, 6 + 5),
        ("napoleon", 4, 3 * -5 - 6, 5, 2 * 6),
    ],
)
def test_s09_separate_call(bid: str, tricks: int, maker: int, each: int, pool: int) -> None:
    game = maker_wins(tricks, "old_russian", bid, pool=5, separate_call=True)
    assert_pays(game, maker, each, dues=[0, 0, 0, 1])
    assert result(game)["pool"] == pool


# 4.9 no. 7: of seven cards, too, the announcement plays for the Treasure, and nothing else does.
@pytest.mark.parametrize(
    ("bid", "tricks", "maker", "each", "pool"),
    [
        ("napoleon", 5, 3 * 5 + 6, -5, 0),
        ("napoleon", 4, 3 * -5 - 6, 5, 2 * 6),
        ("five", 5, 3 * 5, -5, 6),
        ("five", 4, 3 * -5 - 5, 5, 6 + 5),
        ("seven", 7, 3 * 24, -24, 6),
        ("seven", 6, 3 * -12 - 12, 12, 6 + 12),
    ],
)
def test_4_9_separate_call_with_seven_cards(
    bid: str, tricks: int, maker: int, each: int, pool: int
) -> None:
    options = {"separate_call": True, "hand_size": 7, "bids": ["four", "five", "seven"]}
    game = maker_wins(tricks, "old_russian", bid, pool=5, **options)
    assert_pays(game, maker, each, dues=[0, 0, 0, 1])
    assert result(game)["pool"] == pool


@pytest.mark.parametrize(
    ("options", "made", "lost"), [({"pay": {"five": [9, 8]}}, 5, 5), ({"scheme": "alt"}, 15, 10)]
)
def test_4_9_the_separate_napoleon_has_a_price_of_its_own(
    options: dict[str, Any], made: int, lost: int
) -> None:
    options = {"separate_call": True, "pool_fail": "none", "pool_five_fail": "none", **options}
    game = maker_wins(5, "old_russian", "napoleon", pool_dealer=0, **options)
    assert payments(game) == [-made, -made, 3 * made, -made]
    game = maker_wins(4, "old_russian", "napoleon", pool_dealer=0, **options)
    assert payments(game) == [lost, lost, 3 * -lost, lost]


# 4.7 no. 4: what an option says of a bid holds for its floater form, unless that has its own.
@pytest.mark.parametrize(
    ("pay", "each"), [({"four": [7, 1]}, 7), ({"four": [7, 1], "four+f": [6, 1]}, 6), ({}, 4)]
)
def test_4_7_a_price_holds_with_the_floater_too(pay: dict[str, Any], each: int) -> None:
    game = maker_wins(4, "floater", "four+f", pay=pay, look_cost=0, pool_each=0)
    assert payments(game) == [-each, -each, 3 * each, -each]


def test_s10_a_failing_maker_pays_the_pool_like_one_more_player() -> None:
    game = maker_wins(4, "house", "nap", pool=3)
    assert payments(game) == [5, 5, 3 * -5 - 5, 5]
    assert result(game)["pool"] == 3 + 5


def test_s13_a_dealer_who_sits_out_receives_like_the_others() -> None:
    game = maker_wins(4, "dealer_must", "wellington", 5)
    assert payments(game) == [10, 10, 4 * -10, 10, 10]


def test_9_a_pool_stops_doubling_at_a_million() -> None:
    game = maker_wins(4, "pool_nap", "nap", pool=700_000 - 2)
    assert_pays(game, 3 * -5 - 300_000, 5, dues=[0, 0, 0, 2])
    assert result(game)["pool"] == 1_000_000


@pytest.mark.parametrize("bid", ["napoleon", "wellington", "blucher"])
def test_4_8_every_bid_for_five_tricks_takes_the_pool(bid: str) -> None:
    bids = ["three", "nap", "napoleon", "wellington", "blucher"]
    game = maker_wins(5, "pool_nap", bid, pool=4, bids=bids)
    assert_pays(game, 3 * 10 + 6, -10, dues=[0, 0, 0, 2])
    assert result(game)["pool"] == 0


@pytest.mark.parametrize(
    ("bid", "tricks", "maker", "each", "pool"),
    [
        ("nap", 5, 3 * 10, -10, 6 + 4),
        ("six", 6, 3 * 18, -18, 6 + 4),
        ("seven", 7, 3 * 24 + 6 + 4, -24, 0),
    ],
)
def test_8_in_the_seven_card_game_seven_takes_the_pool(
    bid: str, tricks: int, maker: int, each: int, pool: int
) -> None:
    game = maker_wins(tricks, "seven_card", bid, pool=6, pool_each=1)
    assert_pays(game, maker, each, dues=[1] * 4)
    assert result(game)["pool"] == pool


def test_3_3_doubling_replaces_the_share_of_one_more_player() -> None:
    options = {"pool_fail": "as_player", "pool_five_fail": "double"}
    game = maker_wins(4, "standard", "nap", pool=6, **options)
    assert payments(game) == [5, 5, 3 * -5 - 6, 5]
    game = maker_wins(3, "standard", "four", pool=6, **options)
    assert payments(game) == [4, 4, 3 * -4 - 4, 4]


def test_2_6_antes_are_in_the_pool_that_a_nap_takes() -> None:
    game = maker_wins(5, "floater", "nap", pool=0)
    assert payments(game) == [-10 - 1, -10 - 1, 3 * 10 + 4 - 1, -10 - 1]
