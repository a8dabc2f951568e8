"""Matches of several deals: their end, the dealer, pool and stakes, how the next pack is made."""

import random
from typing import Any

import pytest
from deals import act, deal, height, names, payments, play_out, result
from hypothesis import assume, given
from hypothesis import strategies as st

from nap_env.cards import CARDS
from nap_env.game import Game
from nap_env.presets import PRESETS, resolve
from nap_env.records import differences

PASSED_OUT = "pass pass pass pass"


def scores(game: Game) -> list[int]:
    """Return what each seat has won in the match so far."""
    return [int(score) for score in game.games["scores"][0][: game.num_players]]


def play_at_random(game: Game, chance: random.Random) -> Game:
    while not game.over:
        act(game, chance.choice(game.legal()))
    return game


def played_to(game: Game, seat: int, bid: str, made: bool) -> Game:
    """Return the game after this deal, in which a seat bids alone and makes its bid, or fails.

    The cards are as they come; they are played at random until the deal goes as wanted.
    """
    chance = random.Random(0)
    for _ in range(5000):
        trial = game.clone()
        while trial.phase == "auction":
            act(trial, bid if trial.seat == seat else "pass")
        play_at_random(trial, chance)
        if result(trial)["made"] == made:
            return trial
    raise AssertionError(f"seat {seat} cannot be seen to end {bid} with made={made}")


# The end of a match


def test_s02_a_match_to_thirty() -> None:
    story = [
        (0, "three", True, [9, -3, -3, -3]),
        (1, "nap", False, [14, -18, 2, 2]),
        (2, "four", True, [10, -22, 14, -2]),
        (3, "misere", True, [7, -25, 11, 7]),
        (0, "blucher", False, [-53, -5, 31, 27]),
    ]
    game = Game(resolve("thirty"), 4, seed=6)
    for number, (seat, bid, made, running) in enumerate(story, start=1):
        game = played_to(game, seat, bid, made)
        assert scores(game) == running
        assert game.match_over == (number == len(story))
        if not game.match_over:
            game.next_deal()
    assert not game.truncated
    # Seat 2 has reached 30.
    assert max(range(4), key=lambda seat: scores(game)[seat]) == 2
    game.next_deal()
    assert scores(game) == [0, 0, 0, 0]


def test_s03_a_nap_in_the_first_deal_ends_the_match() -> None:
    game = deal("thirty", {1: "AS KS QS JS TS"})
    play_out(act(game, "pass nap pass pass"))
    assert game.match_over
    assert scores(game) == [-10, 30, -10, -10]


def test_s04_equal_leaders_share_the_win() -> None:
    game = deal("thirty", {2: "2S", 0: "AS"}, num_players=3, scores=[25, 25, -50])
    play_out(act(game, "pass pass blucher"))
    assert scores(game) == [25 + 20, 25 + 20, -50 - 2 * 20]
    assert game.match_over


@pytest.mark.parametrize(("before", "over"), [(26, False), (27, True), (28, True)])
def test_4_0_thirty_or_more_ends_the_match(before: int, over: bool) -> None:
    # Seat 1 gets three chips from a Three that seat 0 loses.
    hands = {0: "2S 2H 2D 2C 3C", 1: "AS"}
    game = deal("thirty", hands, scores=[-before, before, 0, 0])
    play_out(act(game, "three pass pass pass"))
    assert scores(game)[1] == before + 3
    assert game.match_over == over


def test_s01_a_split_match_counts_its_target_in_multiplied_scores() -> None:
    # The score sheet is multiplied by n - 1 = 3, so 30 points are 90.
    for before, over in ((86, False), (87, True)):
        before_deal = [-before, before, 0, 0]
        hands = {0: "2S 2H 2D 2C 3C", 1: "AS"}
        game = deal("thirty", hands, transfer="split", scores=before_deal)
        play_out(act(game, "three pass pass pass"))
        assert game.match_over == over


def test_4_0_a_match_of_three_deals() -> None:
    game = deal("standard", deals=3)
    for number in range(1, 4):
        act(game, PASSED_OUT)
        assert game.match_over == (number == 3)
        game.next_deal()
    act(game, PASSED_OUT)
    assert not game.match_over


def test_9_deals_or_target_whichever_comes_first() -> None:
    game = deal("thirty", {1: "AS KS QS JS TS"}, deals=5)
    assert play_out(act(game, "pass nap pass pass")).match_over
    game = deal("thirty", deals=2)
    assert not act(game, PASSED_OUT).match_over
    game.next_deal()
    assert act(game, PASSED_OUT).match_over
    assert not game.truncated


def test_9_max_deals_truncates() -> None:
    game = deal("thirty", max_deals=3)
    for number in range(1, 4):
        act(game, PASSED_OUT)
        assert (game.match_over, game.truncated) == (number == 3, number == 3)
        game.next_deal()
    assert not game.truncated


def test_9_a_match_that_ends_at_max_deals_is_not_truncated() -> None:
    game = act(deal("standard", deals=1, max_deals=1), PASSED_OUT)
    assert (game.match_over, game.truncated) == (True, False)


# Equal chips each until a player cannot pay: the match ends when somebody has nothing left.
CANNOT_PAY = [
    # Maker, tricks, chips each; who fails pays the nearest opponent on his left first.
    (0, "three", False, 10, [3 * -3, 3, 3, 3], False),
    (0, "three", False, 9, [3 * -3, 3, 3, 3], True),
    (0, "three", False, 5, [-5, 3, 2, 0], True),
    (2, "three", False, 5, [2, 0, -5, 3], True),
    (3, "nap", False, 4, [4, 0, 0, -4], True),
    (0, "three", True, 4, [3 * 3, -3, -3, -3], False),
    (0, "three", True, 3, [3 * 3, -3, -3, -3], True),
    (0, "three", True, 2, [3 * 2, -2, -2, -2], True),
    (1, "nap", True, 7, [-7, 3 * 7, -7, -7], True),
]


@pytest.mark.parametrize(("maker", "bid", "made", "chips", "expected", "over"), CANNOT_PAY)
def test_9_chips(
    maker: int, bid: str, made: bool, chips: int, expected: list[int], over: bool
) -> None:
    hand = "AS KS QS JS TS" if made else "2S 2H 2D 2C 3C"
    hands = {maker: hand, (maker + 1) % 4: "3S AC"}
    game = deal("thirty", hands, target=None, chips=chips)
    calls = ["pass"] * 4
    calls[maker] = bid
    play_out(act(game, " ".join(calls)))
    assert payments(game) == expected
    assert game.match_over == over
    assert not game.truncated


def test_9_what_an_opponent_has_left_is_paid() -> None:
    game = deal("standard", {0: "AS KS QS JS TS"}, chips=20, deals=None, scores=[9, 0, -18, 9])
    play_out(act(game, "nap pass pass pass"))
    assert payments(game) == [10 + 2 + 10, -10, -2, -10]
    assert game.match_over


def test_9_what_is_left_after_the_opponents_goes_to_the_pool() -> None:
    # Four chips for the pool are due after three times four to the opponents.
    hands = {0: "7S 7H 7D 7C 8C", 1: "AS"}
    for chips, paid in ((20, 4), (14, 2), (12, 0)):
        game = deal("house", hands, chips=chips, deals=None)
        play_out(act(game, "four pass pass pass"))
        assert payments(game) == [3 * -4 - paid, 4, 4, 4]
        assert result(game)["pool"] == paid
        assert game.match_over == (chips < 17)


def test_9_an_ante_takes_what_is_left() -> None:
    game = deal("standard", chips=5, deals=None, pool_each=2, scores=[-4, 4, 0, 0])
    act(game, PASSED_OUT)
    assert payments(game) == [-1, -2, -2, -2]
    assert game.match_over


def test_9_who_has_nothing_left_can_buy_no_look() -> None:
    game = deal("floater", chips=1, deals=None)
    assert game.legal() == names("pass three four nap")


def test_9_purchases_are_limited_to_the_chips() -> None:
    game = deal("ecarte", {0: "2C 3C 4C 5C 6C"}, chips=2, deals=None)
    assert act(game, "2C 3C").legal() == ["done"]


# The dealer


@pytest.mark.parametrize("rules", ["standard", "old_russian", "pub"])
def test_2_2_the_deal_passes_to_the_left_also_after_a_passed_out_deal(rules: str) -> None:
    chance = random.Random(1)
    game = Game(resolve(rules, {"deals": 9}), 4, seed=1)
    first = game.record()["dealer"]
    for number in range(9):
        assert game.record()["dealer"] == (first + number) % 4
        while number % 2 and not game.over:
            act(game, "pass")
        play_at_random(game, chance)
        game.next_deal()


def test_2_10_the_deal_passes_through_a_dealer_who_sits_out() -> None:
    game = deal("standard", num_players=6, dealer=4, deals=3)
    for dealer in (4, 5, 0):
        assert game.record()["dealer"] == dealer
        assert game.record()["hands"][dealer] == []
        assert game.seat == (dealer + 1) % 6
        act(game, " ".join(5 * ["pass"]))
        game.next_deal()


# Pool and stakes


def test_4_3_the_pool_is_carried_over_and_goes_to_a_nap() -> None:
    game = act(deal("peep", deals=3), "look pass look pass pass pass")
    game.next_deal()
    assert game.record()["pool"] == 2
    act(game, "look pass pass pass pass")
    game.next_deal()
    assert game.record()["pool"] == 3


def test_9_pool_start_comes_with_the_first_reward_and_the_shares_with_the_last() -> None:
    # Pool Nap: two chips from everybody, and two from each dealer: seats 3 and 0.
    game = act(deal("pool_nap", deals=2), PASSED_OUT)
    assert payments(game) == [0, 0, 0, -2]
    assert game.rewards() == [-2, -2, -2, -2 - 2]
    game.next_deal()
    assert game.record()["pool"] == 4 * 2 + 2
    act(game, PASSED_OUT)
    assert payments(game) == [-2, 0, 0, 0]
    # Twelve chips are shared out.
    assert game.rewards() == [3 - 2, 3, 3, 3]
    game.next_deal()
    assert game.record()["pool"] == 4 * 2


def test_s12_the_pool_is_shared_odd_chips_from_the_last_dealers_left() -> None:
    game = act(deal("peep", dealer=1, pool=7), PASSED_OUT)
    assert game.match_over
    assert payments(game) == [0, 0, 0, 0]
    assert game.rewards() == [1 + 1, 1, 1 + 1, 1 + 1]
    assert result(game)["pool"] == 7  # of the one deal, before it is shared


def test_4_0_the_pool_is_not_shared_before_the_end() -> None:
    game = act(deal("peep", pool=7, deals=2), PASSED_OUT)
    assert game.rewards() == [0, 0, 0, 0]
    game.next_deal()
    assert game.record()["pool"] == 7


def test_s11_double_header() -> None:
    options = {"all_pass": "double_next", "pool_dealer": 0, "deals": 5}
    game = Game(resolve("peel", options), 4, seed=8)
    story = [
        (1, None, None, 0, 0),
        (2, None, None, 0, 0),
        (2, "three", False, -18, 6),
        (2, "four", True, 24, -8),
        (1, "two", True, 6, -2),
    ]
    for number, (multiplier, bid, made, maker, each) in enumerate(story):
        assert game.record()["multiplier"] == multiplier
        if bid is None:
            act(game, PASSED_OUT)
            expected = [0] * 4
        else:
            game = played_to(game, number % 4, bid, made)
            expected = [maker if seat == number % 4 else each for seat in range(4)]
        assert payments(game) == expected
        game.next_deal()
    # A new match begins.
    assert game.record()["multiplier"] == 1


SEATED = [
    (name, players)
    for name, rules in PRESETS.items()
    for players in range(rules.player_range[0], rules.player_range[1] + 1)
]
LENGTHS = {
    "pool_start": st.integers(0, 3),
    "pool_each": st.integers(0, 2),
    "pool_dealer": st.integers(0, 2),
    "pool_revoke": st.integers(0, 5),
    "pool_fail": st.just("as_player"),
    "pool_five_fail": st.just("double"),
    "all_pass": st.just("double_next"),
    "allow_revoke": st.booleans(),
    "shuffle": st.sampled_from(["every", "after_nap"]),
    "chips": st.integers(3, 40),
    "target": st.integers(1, 30),
    "max_deals": st.integers(1, 3),
    "stake": st.integers(1, 3),
}


@given(
    table=st.sampled_from(SEATED),
    options=st.fixed_dictionaries({}, optional=LENGTHS),
    seed=st.integers(0, 2**32 - 1),
)
def test_9_rewards_sum_to_zero_over_a_match(
    table: tuple[str, int], options: dict[str, Any], seed: int
) -> None:
    name, players = table
    try:
        game = Game(resolve(name, options | {"deals": 3}), players, seed=seed)
    except ValueError:
        assume(False)
    chance = random.Random(seed)
    total = [0] * players
    for number in range(1, 4):
        play_at_random(game, chance)
        before, after = game.record()["pool"], result(game)["pool"]
        assert sum(payments(game)) + after - before == 0
        total = [sum(pair) for pair in zip(total, game.rewards(), strict=True)]
        assert scores(game) == total
        if game.rules.chips:
            assert min(total) >= -game.rules.chips
        if game.match_over:
            break
        assert number < 3
        game.next_deal()
        assert game.record()["pool"] == after
    assert sum(total) == 0


# 2.3 Shuffle and cut


def next_pack(game: Game, log: list[tuple[str, int, str]]) -> list[str]:
    """Return a finished deal's cards as they are gathered: in plain Python, from what was done.

    Args:
        game: the game, for its first hands, widow and stock.
        log: phase, seat and action of every decision.
    """
    record = game.record()
    rules = game.rules
    hands = [set(hand) for hand in record["hands"]]
    discards: list[list[str]] = [[] for _ in hands]
    widow, stock = record["widow"], record["stock"]
    played: list[str] = []
    marks = 0
    for phase, seat, action in log:
        new: list[str] = []
        if action == "take":
            new, widow = widow, []
        elif phase == "play":
            hands[seat].remove(action)
            played.append(action)
        elif phase in ("buy", "exchange") and action in CARDS:
            hands[seat].remove(action)
            discards[seat].append(action)
            marks += 1
            if rules.widow in ("peep", "floater"):
                new, widow = widow, []
            elif rules.draw == "maker_one":
                new, stock = stock[:1], stock[1:]
        elif action == "done":
            new, stock = stock[:marks], stock[marks:]
        if action == "done" or phase == "auction":
            marks = 0
        hands[seat] |= set(new)
    left = [(record["dealer"] + step) % len(hands) for step in range(1, len(hands) + 1)]
    unplayed = [card for seat in left for card in sorted(hands[seat], key=CARDS.index)]
    thrown = [card for seat in left for card in sorted(discards[seat], key=CARDS.index)]
    return [*played, *unplayed, *thrown, *sorted(widow, key=CARDS.index), *stock]


def dealt(pack: list[str], game: Game, packets: list[int]) -> tuple[list[list[str]], list[str]]:
    """Return the hands by seat, and the rest, that a pack gives when dealt packet by packet."""
    record = game.record()
    players = len(record["hands"])
    left = [(record["dealer"] + step) % players for step in range(1, players + 1)]
    hands: list[list[str]] = [[] for _ in range(players)]
    pack = list(pack)
    for packet in packets:
        for seat in left:
            if record["hands"][seat]:
                hands[seat] += pack[:packet]
                pack = pack[packet:]
    return hands, pack


def cut_of(pack: list[str], game: Game, packets: list[int]) -> int | None:
    """Return where the gathered pack was cut to give this deal; None if no cut gives it."""
    record = game.record()
    for cut in range(4, len(pack) - 3):
        hands, rest = dealt(pack[cut:] + pack[:cut], game, packets)
        if hands == record["hands"] and rest == record["widow"] + record["stock"]:
            return cut
    return None


def play_and_log(game: Game, chance: random.Random) -> list[tuple[str, int, str]]:
    log = []
    while not game.over:
        log.append((game.phase, game.seat, chance.choice(game.legal())))
        act(game, log[-1][2])
    return log


@pytest.mark.parametrize(
    ("text", "packets"), [("3-2", [3, 2]), ("1x5", [1] * 5), ("2-3", [2, 3]), ("5", [5])]
)
@pytest.mark.parametrize(
    ("rules", "players", "options"),
    [
        ("standard", 4, {}),
        ("standard", 6, {}),  # the dealer sits out
        ("standard", 4, {"allow_revoke": True}),  # with a trick that is not complete
        ("pub", 5, {}),
        ("modern", 4, {"joker": True}),
        ("peep", 4, {}),
        ("floater", 4, {}),
        ("sir_garnet", 4, {}),
        ("ecarte", 4, {}),
        ("draw", 5, {}),
        ("old_russian", 4, {}),
    ],
)
def test_2_3_after_nap_the_cards_are_gathered_cut_and_dealt_in_packets(
    rules: str, players: int, options: dict[str, Any], text: str, packets: list[int]
) -> None:
    options = options | {"shuffle": "after_nap", "packets": text, "deals": 1000}
    game = Game(resolve(rules, options), players, seed=3)
    all_tricks = ("five", "nap+f", "nap", "napoleon", "wellington", "blucher")
    chance = random.Random(3)
    for _ in range(12):
        log = play_and_log(game, chance)
        pack = next_pack(game, log)
        shuffled = result(game)["made"] and result(game)["contract"] in all_tricks
        game.next_deal()
        assert (cut_of(pack, game, packets) is None) == bool(shuffled)


@pytest.mark.parametrize(("text", "packets"), [("3-2-2", [3, 2, 2]), ("3-4", [3, 4])])
def test_2_4_packets_of_the_seven_card_game(text: str, packets: list[int]) -> None:
    options = {"shuffle": "after_nap", "packets": text, "deals": 1000}
    game = Game(resolve("seven_card", options), 4, seed=3)
    chance = random.Random(3)
    for _ in range(5):
        pack = next_pack(game, play_and_log(game, chance))
        game.next_deal()
        assert cut_of(pack, game, packets) is not None


# Whether the pack is shuffled after this deal: after a made bid for all the tricks only.
SHUFFLED = [
    ("standard", {}, "nap", "AS KS QS JS TS", True),
    ("standard", {}, "nap", "AS KS QS JS 8C", False),
    ("standard", {}, "four", "AS KS QS JS TS", False),
    ("thirty", {}, "wellington", "AS KS QS JS TS", True),
    ("thirty", {}, "blucher", "AS KS QS JS TS", True),
    ("modern", {}, "napoleon", "AS KS QS JS TS", True),
    ("old_russian", {}, "five", "AS KS QS JS TS", True),
    ("old_russian", {"separate_call": True}, "napoleon", "AS KS QS JS TS", True),
    ("old_russian", {"separate_call": True}, "five", "AS KS QS JS TS", True),
    # Section 9 no. 12: of the seven-card game Seven is the bid for all the tricks.
    ("seven_card", {}, "seven", "AS KS QS JS TS 9S 8S", True),
    ("seven_card", {}, "nap", "AS KS QS JS TS 9S 8S", False),
]


@pytest.mark.parametrize(("rules", "options", "bid", "hand", "shuffled"), SHUFFLED)
def test_2_3_after_nap_shuffles_after_a_made_bid_for_all_tricks(
    rules: str, options: dict[str, Any], bid: str, hand: str, shuffled: bool
) -> None:
    game = deal(rules, {0: hand, 1: "AC"}, shuffle="after_nap", deals=2, **options)
    log = []
    order = hand.split()
    while not game.over:
        legal = game.legal()
        choice = next((card for card in order if card in legal), legal[0])
        if game.phase == "auction":
            choice = bid if game.seat == 0 else "pass"
        elif game.phase in ("hold", "exchange"):
            choice = "decline" if game.phase == "hold" else "done"
        log.append((game.phase, game.seat, choice))
        act(game, choice)
    pack = next_pack(game, log)
    packets = [int(size) for size in game.rules.packets.split("-")]
    game.next_deal()
    assert (cut_of(pack, game, packets) is None) == shuffled


def test_2_3_after_nap_a_new_match_is_shuffled() -> None:
    game = deal("standard", shuffle="after_nap", deals=1)
    calls = PASSED_OUT.split()
    log = [("auction", seat, call) for seat, call in enumerate(calls)]
    act(game, PASSED_OUT)
    pack = next_pack(game, log)
    game.next_deal()
    assert cut_of(pack, game, [3, 2]) is None


# T3: each part of the cut keeps at least four cards.
@pytest.mark.parametrize(
    ("rules", "players", "joker", "cards"),
    [
        ("standard", 4, False, 28),
        ("standard", 5, False, 36),
        ("thirty", 4, False, 52),
        ("thirty", 4, True, 53),
    ],
)
def test_t3_cut_points(rules: str, players: int, joker: bool, cards: int) -> None:
    options = {"joker": joker, "shuffle": "after_nap", "packets": "5"}
    length = {"deals": 2000, "max_deals": 2000}
    game = Game(resolve(rules, options | length), players, seed=3)
    counts = [0] * (cards + 1)
    for _ in range(1000):
        act(game, " ".join(players * ["pass"]))
        pack = next_pack(game, [])
        game.next_deal()
        record = game.record()
        first = record["hands"][(record["dealer"] + 1) % players]
        cut = pack.index(first[0])
        assert first == (pack[cut:] + pack[:cut])[:5]
        counts[cut] += 1
    assert {cut for cut in range(cards + 1) if counts[cut]} == set(range(4, cards - 3))
    # All points are equally likely: chi-square within four standard deviations.
    points = cards - 7
    mean = 1000 / points
    chi_square = sum((count - mean) ** 2 / mean for count in counts[4 : cards - 3])
    assert chi_square < points + 4 * (2 * points) ** 0.5


def test_2_3_every_card_is_dealt_again() -> None:
    game = Game(resolve("pub", {"deals": 50}), 4, seed=0)
    chance = random.Random(0)
    packs = set()
    for _ in range(50):
        record = game.record()
        parts = [*record["hands"], record["widow"], record["stock"]]
        packs.add(tuple(sorted((card for part in parts for card in part), key=height)))
        play_at_random(game, chance)
        game.next_deal()
    assert len(packs) == 1


# DESIGN.md 5: a deal is replayed by seed and number.
@pytest.mark.parametrize("rules", [name for name in PRESETS if PRESETS[name].shuffle == "every"])
def test_deals_do_not_depend_on_what_was_played(rules: str) -> None:
    chosen = resolve(rules, {"deals": 20, "target": None})
    players = chosen.player_range[1]
    random_play, first_action = Game(chosen, players, seed=5), Game(chosen, players, seed=5)
    chance = random.Random(5)
    for _ in range(8):
        one, other = random_play.record(), first_action.record()
        for key in ("dealer", "hands", "widow", "stock"):
            assert one[key] == other[key]
        play_at_random(random_play, chance)
        while not first_action.over:
            act(first_action, first_action.legal()[0])
        random_play.next_deal()
        first_action.next_deal()


def test_record_of_a_first_deal_with_chips_has_paid_pool_start() -> None:
    game = Game(resolve("pool_nap", {"chips": 5, "deals": None}), 4, seed=0)
    for _ in range(40):
        while not game.over:
            game.step(game.random_action())
        assert differences(game.record()) == []
        game.next_deal()
