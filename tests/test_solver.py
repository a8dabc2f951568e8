"""The solver against plain minimax over cards in text, written from RULES.md alone."""

import os
import random
import subprocess
import sys

import numba
import numpy as np
import pytest

from nap_env.actions import BIDS
from nap_env.batch import Batch
from nap_env.cards import CARDS
from nap_env.engine.kernel import subroutine
from nap_env.engine.state import NAME, PLAY
from nap_env.game import Game
from nap_env.presets import PRESETS, resolve
from nap_env.rules import rules_table
from nap_env.solver import (
    CAPPED,
    NEAR,
    NO_VALUE,
    NOT_IN_PLAY,
    SOLVED,
    TRICKS,
    UNKNOWN,
    Solver,
    Value,
    new_work,
    solve_position,
)

RANKS = "23456789TJQKA"
NAMES = {"clubs": "C", "diamonds": "D", "hearts": "H", "spades": "S"}
SOLVER = Solver()


class Plain:
    """All continuations of a deal, tried one by one. 2.5 to 2.9 and 3.3 of RULES.md."""

    def __init__(self, game):
        g = game.games[0]
        rules = game.rules
        self.rules = rules
        out = rules.dealer_out_from is not None and game.num_players >= rules.dealer_out_from
        self.seats = [s for s in range(game.num_players) if not (out and s == g["dealer"])]
        self.size = rules.num_tricks
        self.suits = "CDHS"[: rules.suits]
        self.multiplier = int(g["multiplier"])
        self.taken = rules.widow == "garnet" and g["taker"] == g["declarer"]
        self.declarer = int(g["declarer"])
        self.bid = next((bid for bid in rules.all_bids if bid.name == self._bid_name(g)), None)
        if self.bid is None:  # One, imposed on a list without it
            self.bid = PRESETS["parlett"].bids[0]

    @staticmethod
    def _bid_name(g):
        return BIDS[g["contract"]] if g["contract"] >= 0 else None

    def led_trumps(self):
        """Whether the opening lead fixes trumps."""
        misere_without = self.rules.misere_goal == "exact3_nt" or self.rules.misere_trump == "none"
        return not (self.bid.tricks == 0 and misere_without) and self.bid.lead != "lowest_plain"

    def made(self, tricks):
        if self.bid.tricks == 0:
            return tricks == (3 if self.rules.misere_goal == "exact3_nt" else 0)
        return tricks >= self.needed()

    def needed(self):
        return min(5, self.size) if self.bid.tricks == 5 else self.bid.tricks

    def price(self, tricks):
        """3.3 and 4.11."""
        bid = self.bid
        if self.rules.scheme == "alt" and 1 <= bid.tricks <= 4:
            missing = bid.tricks - tricks
            chips = -(2 * missing + 5 - tricks) if missing > 0 else bid.tricks + tricks
        elif self.made(tricks):
            over = self.rules.overtrick if 0 < self.needed() < self.size and bid.tricks else 0
            chips = bid.win + over * (tricks - self.needed())
        else:
            chips = -bid.lose * (self.rules.garnet_fail if self.taken else 1)
        return chips * self.rules.stake * self.multiplier

    def is_trump(self, card, trump):
        return card == "JK" or card[1] == trump

    def strength(self, card, led, trump):
        if card == "JK":
            return 200
        rank = RANKS.index(card[0])
        if card[1] == trump:
            return 100 + rank
        return rank if card[1] == led[1] else -1

    def legal(self, hand, trick, trump, opening):
        """Return the cards that may be played: 2.5 for the opening lead, 2.7 for the rest."""
        if not trick:
            return self.leads(hand, trump) if opening else sorted(hand)
        led = trick[0][1]
        if self.is_trump(led, trump):
            follow = [card for card in hand if self.is_trump(card, trump)]
        else:
            follow = [c for c in hand if c != "JK" and c[1] == led[1]]
        trumps = [card for card in hand if self.is_trump(card, trump)]
        if follow:
            return sorted(follow)
        return sorted(trumps if self.rules.must_trump and trumps else hand)

    def leads(self, hand, trump):
        if self.bid.lead == "lowest_trump":
            plain = [card for card in hand if card != "JK"]
            lowest = [
                min((c for c in plain if c[1] == suit), key=lambda c: RANKS.index(c[0]))
                for suit in sorted({c[1] for c in plain})
            ]
            return lowest or sorted(hand)
        if self.bid.lead == "lowest_plain":
            side = [card for card in hand if not self.is_trump(card, trump)]
            rank = min((RANKS.index(card[0]) for card in side), default=None)
            return [c for c in side if RANKS.index(c[0]) == rank] or sorted(hand)
        return sorted(hand)

    def value(self, worth, hands, trick, seat, trump, tricks, memo, opening=False):
        """Return what the deal is worth to the declarer from here on."""
        if len(trick) == len(self.seats):
            led = trick[0][1]
            seat, _ = max(trick, key=lambda play: self.strength(play[1], led, trump))
            tricks += seat == self.declarer
            trick = ()
        if not any(hands.values()):
            return worth(tricks)
        key = (tuple(hands[s] for s in self.seats), trick, seat, trump, tricks)
        if key not in memo:
            values = self.after_cards(worth, hands, trick, seat, trump, tricks, memo, opening)
            choose = max if seat == self.declarer else min
            memo[key] = choose(values.values())
        return memo[key]

    def after_cards(self, worth, hands, trick, seat, trump, tricks, memo, opening):
        values = {}
        for card in self.legal(hands[seat], trick, trump, opening):
            fixed = [trump]
            if opening and self.led_trumps() and trump is None:
                fixed = list(self.suits) if card == "JK" else [card[1]]
            rest = {**hands, seat: hands[seat] - {card}}
            following = self.seats[(self.seats.index(seat) + 1) % len(self.seats)]
            values[card] = max(
                self.value(worth, rest, (*trick, (seat, card)), following, suit, tricks, memo)
                for suit in fixed
            )
        return values

    def actions(self, game, worth):
        """Return the value after each action of the seat to move."""
        g = game.games[0]
        hands = {seat: frozenset(game.hand(seat)) for seat in self.seats}
        seat = game.seat
        tricks = int(g["tricks"]) >> (8 * self.declarer) & 255
        trump = None if g["trump_suit"] < 0 else "CDHS"[g["trump_suit"]]
        plays = [e for e in game.record()["events"] if e[1] in CARDS]
        count = int(g["in_trick"])
        trick = tuple((s, card) for s, card in plays[len(plays) - count :]) if count else ()
        opening = int(g["num_played"]) == 0
        memo = {}
        if g["phase"] != NAME:
            return self.after_cards(worth, hands, trick, seat, trump, tricks, memo, opening)
        values = {}
        for name, suit in NAMES.items():
            if suit not in self.suits:
                continue
            if self.led_trumps():
                rest = {**hands, seat: hands[seat] - {"JK"}}
                following = self.seats[(self.seats.index(seat) + 1) % len(self.seats)]
                values[name] = self.value(
                    worth, rest, ((seat, "JK"),), following, suit, tricks, memo
                )
            else:
                values[name] = self.value(worth, hands, (), seat, suit, tricks, memo, True)
        return values

    def tricks_worth(self, tricks):
        """In a contract for no tricks the declarer wants few of them."""
        lose_all = self.bid.tricks == 0 and self.rules.misere_goal == "lose_all"
        return -tricks if lose_all else tricks


def compare(game):
    """Check everything the solver says of a position; return how many values that were."""
    plain = Plain(game)
    solution = SOLVER.solve(game)
    choose = max if game.seat == plain.declarer else min
    prices = plain.actions(game, plain.price)
    tricks = plain.actions(game, plain.tricks_worth)
    made = plain.actions(game, plain.made)
    deal = game.record()
    assert solution.values == {
        name: Value(price, abs(tricks[name])) for name, price in prices.items()
    }, deal
    assert solution.price == choose(prices.values()), deal
    assert solution.tricks == abs(choose(tricks.values())), deal
    assert solution.made == choose(made.values()), deal
    assert not solution.capped
    return len(prices)


def positions(rules, players, most_cards, seed):
    """Yield the positions of a randomly played deal with so many cards in all hands, or fewer."""
    game = Game(rules, players, seed=seed)
    chance = random.Random(seed)
    while not game.over:
        held = sum(int(hand).bit_count() for hand in game.games["hand"][0])
        if game.phase in ("name", "play") and held <= most_cards:
            yield game
        legal = game.legal()
        if len(legal) > 1 and game.phase == "auction" and "pass" in legal:
            # Most deals would be won by whoever speaks last with the highest bid, or by nobody.
            legal = ["pass"] if chance.random() < 0.5 else [a for a in legal if a != "pass"]
        game.act(chance.choice(legal))


SMALL = {"hand_size": 3, "bids": ["one", "two", "three", "misere"]}
TINY = {"hand_size": 2, "bids": ["one", "two", "misere"]}
CASES = [
    *[(name, {}, None) for name in PRESETS],
    # From the opening lead on.
    ("standard", SMALL, None),
    ("pub", SMALL, None),
    ("peel", SMALL, None),
    ("house", SMALL, None),
    ("house", {**SMALL, "joker": True}, None),
    ("peel", {**SMALL, "joker": True, "must_trump": True}, None),
    ("standard", {**SMALL, "misere_goal": "exact3_nt", "joker": True}, None),
    ("standard", {**SMALL, "lead": {"two": "lowest_trump", "three": "lowest_plain"}}, None),
    ("pub", {**SMALL, "lead": {"two": "lowest_trump", "one": "lowest_plain"}}, None),
    ("pub", {**TINY, "must_trump": True, "lead": {"one": "lowest_plain"}}, None),
    ("standard", {**TINY, "overtrick": 2, "stake": 3}, None),
    ("modern", {"joker": True}, None),
    ("alt_scoring", {"misere_goal": "exact3_nt", "must_trump": True}, None),
    ("seven_card", {"joker": True, "misere_goal": "exact3_nt"}, None),
    ("seven_card", {"joker": True, "must_trump": True, "overtrick": 1}, None),
    ("standard", {"hand_size": 6, "discard_to": 3, "bids": ["one", "two", "misere"]}, 4),
]


def check_cases(deals, most_cards):
    checked = 0
    for number, (name, options, only) in enumerate(CASES):
        rules = resolve(name, options)
        low, high = rules.player_range
        for players in range(low, high + 1) if only is None else [only]:
            try:
                rules.check_players(players)
            except ValueError:
                continue
            for deal in range(deals):
                seed = 1000 * number + 100 * players + deal
                for game in positions(rules, players, most_cards, seed):
                    checked += compare(game) > 0
    return checked


def test_every_value_is_that_of_plain_minimax():
    checked = check_cases(deals=3, most_cards=10)
    assert checked > 1500, checked


@pytest.mark.slow
def test_every_value_is_that_of_plain_minimax_on_many_larger_positions():
    checked = check_cases(deals=30, most_cards=12)
    assert checked > 25_000, checked


def test_a_led_joker_that_is_level_with_the_ace_of_the_suit_named():
    """The joker is then one run with the ace: the search knows it by its lowest card."""
    game = Game(PRESETS["pub"], 3, seed=0)
    hands = ["JK AS KS QS JS", "AH KH QH JH TH", "AC KC QC JC TC"]
    game.set_up(hands=[hand.split() for hand in hands], dealer=2)
    for action in ("nap", "pass", "pass", "JK"):
        game.act(action)
    solution = SOLVER.solve(game)
    assert solution.made
    assert solution.values["spades"] == (10, 5)
    # The joker is the only trump, and the opponents hold all the clubs after the ace of spades.
    assert solution.values["clubs"].price == -5


def as_declarer(game, seat, bid):
    """Return the game as if a seat had got a contract before any play."""
    other = game.clone()
    g = other.games[0]
    g["declarer"] = g["seat"] = g["leader"] = seat
    g["contract"] = BIDS.index(bid.name)
    g["phase"] = NAME if bid.lead == "lowest_plain" else PLAY
    return other


@pytest.mark.parametrize(
    ("name", "players", "options"),
    [
        ("standard", 4, {**SMALL, "lead": {"two": "lowest_trump", "three": "lowest_plain"}}),
        ("standard", 6, TINY),
        ("pub", 5, {**TINY, "must_trump": True}),
        ("peel", 3, {**SMALL, "joker": True}),
        ("dealer_must", 3, {"hand_size": 3, "bids": ["two"]}),
        ("standard", 3, {**SMALL, "misere_goal": "exact3_nt"}),
        ("mini_2x5", 2, {}),
        ("mini_3p", 3, {"joker": True}),
    ],
)
def test_what_each_seat_can_do_as_declarer(name, players, options):
    rules = resolve(name, options)
    for seed in range(6):
        game = Game(rules, players, seed=seed)
        result = SOLVER.solve_deals(game.games, rules, players)[0]
        bids = {bid.name: bid for bid in rules.all_bids}
        if rules.all_pass == "dealer_one":
            bids["one"] = PRESETS["parlett"].bids[0]
        for seat in range(8):
            holds = seat < players and game.hand(seat)
            for number, bid in enumerate(BIDS):
                made = result["bid_made"][seat, number]
                if not holds or bid not in bids:
                    assert made == NO_VALUE
                    continue
                position = as_declarer(game, seat, bids[bid])
                plain = Plain(position)
                assert made == max(plain.actions(position, plain.made).values()), (seat, bid)
            for number, suit in enumerate("CDHS"):
                tricks = result["suit_tricks"][seat, number]
                cards = [c for c in game.hand(seat) if c[1] == suit or c == "JK"] if holds else []
                if not cards or number >= rules.suits:
                    assert tricks == NO_VALUE
                    continue
                position = as_declarer(game, seat, bids["one"])
                plain = Plain(position)
                hands = {s: frozenset(game.hand(s)) for s in plain.seats}
                after = plain.after_cards(int, hands, (), seat, suit, 0, {}, False)
                assert tricks == max(after[card] for card in cards), (seat, suit)


SLOW = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="half an hour without the JIT")


@pytest.mark.parametrize("players", [*range(2, 8), pytest.param(8, marks=SLOW)])
def test_ace_to_ten_of_a_suit_always_make_nap(players):
    rules = PRESETS["parlett"]
    for seed, suit in enumerate("CDHS"):
        hands = [None] * players
        hands[0] = [rank + suit for rank in "AKQJT"]
        rest = [card for card in CARDS[:-1] if card not in hands[0]]
        random.Random(seed).shuffle(rest)
        for seat in range(1, players):
            hands[seat] = rest[5 * seat : 5 * seat + 5]
        game = Game(rules, players, seed=0)
        game.set_up(hands=hands, dealer=players - 1)
        result = SOLVER.solve_deals(game.games, rules, players)[0]
        assert result["suit_tricks"][0, seed] == 5
        assert result["bid_made"][0, BIDS.index("nap")] == 1
        assert result["bid_made"][0, BIDS.index("misere")] == 0


FULL = [("standard", 4), ("parlett", 6), ("pub", 5), ("modern", 3), ("house", 4), ("peel", 5)]


@pytest.mark.parametrize(("name", "players"), [*FULL, ("seven_card", 4), ("alt_scoring", 5)])
def test_an_action_is_worth_what_the_position_after_it_is_worth(name, players):
    for seed in range(4):
        for game in positions(PRESETS[name], players, 99, seed):
            before = game.games.tobytes()
            solution = SOLVER.solve(game)
            assert game.games.tobytes() == before
            for action, value in solution.values.items():
                after = game.clone()
                if after.act(action):
                    continue
                then = SOLVER.solve(after)
                assert (then.price, then.tricks) == value, game.record()
            # The best action of the seat to move gives the position its worth.
            prices = [value.price for value in solution.values.values()]
            choose = max if game.seat == game.games["declarer"][0] else min
            assert solution.price == choose(prices)
            assert set(solution.values) == set(game.legal())


def test_nobody_revokes():
    rules = resolve("standard", {"allow_revoke": True})
    for game in positions(rules, 4, 16, 5):
        plain = Plain(game)
        assert set(SOLVER.solve(game).values) == set(plain.actions(game, plain.price))


def first_lead(name, players, seed=0):
    return next(positions(PRESETS[name], players, 99, seed))


def test_the_node_cap_leaves_values_unknown_and_the_solver_in_order():
    game = first_lead("parlett", 6)
    exact = SOLVER.solve(game)
    solver = Solver(node_cap=50)
    capped = solver.solve(game)
    assert capped.capped
    assert not exact.capped
    assert capped.tricks is None
    for action, value in capped.values.items():
        assert value.price in (None, exact.values[action].price)
        assert value.tricks in (None, exact.values[action].tricks)
    result = solver.solve_games(game.games, game.rules, 6)[0]
    assert result["status"] == CAPPED
    assert result["tricks"] == UNKNOWN
    deal = Game(game.rules, 6, seed=3)
    assert (solver.solve_deals(deal.games, deal.rules, 6)["suit_tricks"] == UNKNOWN).any()
    # A position that needs few nodes is still solved, by the same work area.
    late = next(positions(PRESETS["alt_scoring"], 6, 6, 0))
    assert solver.solve(late).values == SOLVER.solve(late).values
    assert not solver.solve(late).capped
    with pytest.raises(ValueError, match=r"node_cap=0: a whole number from 1 on"):
        Solver(node_cap=0)


def test_a_batch_is_solved_as_its_games_are():
    batch = Batch("standard", 4, num_games=64, seed=3, observe="none")
    seen = set()
    for _ in range(14):
        results = SOLVER.solve_games(batch.games, batch.rules, 4)
        seen |= set(results["status"])
        for index, result in enumerate(results):
            game = Game.of(batch.rules, 4, batch.games[index : index + 1])
            if result["status"] == NOT_IN_PLAY:
                assert game.phase not in ("name", "play")
                assert result["price"] == NO_VALUE
                continue
            single = SOLVER.solve(game)
            assert (result["price"], result["tricks"]) == (single.price, single.tricks)
            assert bool(result["made"]) == single.made
            prices = {CARDS[card]: p for card, p in enumerate(result["prices"]) if p != NO_VALUE}
            assert prices == {card: value.price for card, value in single.values.items()}
        batch.step(batch.sample())
    assert seen == {SOLVED, NOT_IN_PLAY}


def test_only_the_play_can_be_solved():
    game = Game(PRESETS["standard"], 4, seed=0)
    with pytest.raises(ValueError, match="phase auction: only naming trumps and playing"):
        SOLVER.solve(game)
    later = next(positions(PRESETS["house"], 4, 12, 1))
    with pytest.raises(ValueError, match="game 0: its play has begun"):
        SOLVER.solve_deals(later.games, later.rules, 4)
    rules = resolve("standard", {"hand_size": 6, "discard_to": 5})
    undecided = Game(rules, 4, seed=0)
    with pytest.raises(ValueError, match=r"game 0: hands of \[6, 6, 6, 6\], 5 are played"):
        SOLVER.solve_deals(undecided.games, rules, 4)


WITHOUT_JIT = """
from nap_env.game import Game
from nap_env.solver import Solver
from test_solver import SMALL, positions, resolve
solver = Solver()
rules = resolve("pub", SMALL)
for seed in range(4):
    for game in positions(rules, 4, 12, seed):
        print(solver.solve(game))
deal = Game(rules, 4, seed=1)
print(solver.solve_deals(deal.games, rules, 4).tolist())
"""


def test_without_the_jit_the_answers_are_the_same():
    texts = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", WITHOUT_JIT],
            env={
                **os.environ,
                "NUMBA_DISABLE_JIT": disabled,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert texts[0] == texts[1]
    assert texts[0].count("Solution(") >= 10


@subroutine
def _worths(work, games, table, told):
    for i in range(len(games)):
        told[i, 0] = abs(solve_position(work[0], games[i], table[0], np.int64(TRICKS)))
        told[i, 1] = abs(solve_position(work[0], games[i], table[0], np.int64(NEAR)))


@pytest.mark.parametrize("name", ["parlett", "alt_scoring"])
def test_near_tricks_are_the_tricks_as_far_as_one_more_or_less_changes_the_price(name):
    """In `alt_scoring` each trick has its price (3.3)."""
    rules = PRESETS[name]
    batch = Batch(rules, 3, 400, seed=1)
    batch.rollout(7)
    games = batch.games[batch.games["phase"] == PLAY]
    told = np.zeros((len(games), 2), np.int64)
    _worths(new_work(), games, rules_table(rules, 3), told)
    table = rules_table(rules, 3)[0]
    for game, (tricks, near) in zip(games, told.tolist(), strict=True):
        bid = game["contract"]
        fewest, most = int(table["fewest"][bid]), int(table["most"][bid])
        if table["overtrick"][bid] or table["undertrick"][bid] or 0 < most < rules.num_tricks:
            assert near == tricks
        elif most == 0:
            assert near == min(tricks, 2)
        else:
            assert near == max(min(tricks, fewest), fewest - 2)
    assert len({tuple(pair) for pair in told.tolist()}) > 4
