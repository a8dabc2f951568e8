"""A slow, plain referee for one deal of Nap, written from RULES.md alone.

The fast engine is compared with this module on random deals, so the module imports nothing from
nap_env. Cards, actions and bids are the text names of DESIGN.md section 3, seats are 0..n-1
clockwise. Numbers in docstrings and comments are clauses of RULES.md; "section 9 no. 4" is the
fourth of the decisions at its end. "Choice:" marks a reading where the text leaves room.

    python tests/reference.py FILE      replay every record of a JSONL file and compare
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

SUITS = "CDHS"
RANKS = "23456789TJQKA"
JOKER = "JK"
SUIT_OF_NAME = {"clubs": "C", "diamonds": "D", "hearts": "H", "spades": "S"}
POOL_LIMIT = 1_000_000  # section 9 no. 13

# 2.5: the tricks undertaken; Misère undertakes none.
TRICKS = {
    "one": 1,
    "two": 2,
    "three+f": 3,
    "three": 3,
    "misere": 0,
    "four+f": 4,
    "four": 4,
    "five": 5,
    "nap+f": 5,
    "nap": 5,
    "napoleon": 5,
    "wellington": 5,
    "blucher": 5,
    "six": 6,
    "seven": 7,
}

# 5, base tariff: [won from, lost to] each opponent. 4.7 no. 4: the floater changes no price.
BASE_TARIFF = {
    "one": [1, 1],
    "two": [2, 2],
    "three+f": [3, 3],
    "three": [3, 3],
    "misere": [3, 3],
    "four+f": [4, 4],
    "four": [4, 4],
    "nap+f": [10, 5],
    "nap": [10, 5],
    "napoleon": [10, 5],
    "wellington": [10, 10],
    "blucher": [10, 20],
}

# Section 9.
DEFAULTS: dict[str, Any] = {
    "player_range": [3, 7],
    "deck": 52,
    "suits": 4,
    "joker": False,
    "hand_size": 5,
    "dealer_out_from": "none",
    "first_dealer": "low_ace_low",
    "shuffle": "every",
    "packets": "3-2",
    "bids": [],
    "first_bidder": "eldest",
    "hold": False,
    "all_pass": "next_dealer",
    "wellington_over": "none",
    "blucher_over": "none",
    "wellington_min_players": 0,
    "blucher_min_players": 0,
    "lead": {},
    "misere_goal": "lose_all",
    "misere_trump": "none",
    "must_trump": False,
    "early_stop": True,
    "allow_revoke": False,
    "widow": "none",
    "look_cost": 0,
    "look_needed": True,
    "dealer_free_look": False,
    "buy": False,
    "buy_cost": 1,
    "draw": "none",
    "pay": BASE_TARIFF,
    "scheme": "table",
    "overtrick": 0,
    "stake": 1,
    "transfer": "each",
    "separate_call": False,
    "garnet_fail": 1,
    "garnet_pool": 0,
    "pool_start": 0,
    "pool_each": 0,
    "pool_dealer": 0,
    "pool_fail": "none",
    "pool_five_fail": "none",
    "pool_revoke": 0,
    "pool_end": "split",
    "discard_to": "none",
    "deals": 1,
    "target": "none",
    "chips": "none",
    "max_deals": 1000,
}

# Section 9: the words allowed. 4.11 also mentions transfer maker_only, which section 9 lacks.
CHOICES = {
    "first_bidder": ("eldest", "dealer"),
    "all_pass": ("next_dealer", "dealer_one", "eldest_one", "double_next"),
    "misere_goal": ("lose_all", "exact3_nt"),
    "misere_trump": ("none", "lead"),
    "widow": ("none", "peep", "floater", "garnet"),
    "draw": ("none", "maker_then_opponents", "maker_one"),
    "scheme": ("table", "alt"),
    "transfer": ("each", "split"),
    "pool_fail": ("none", "as_player"),
    "pool_five_fail": ("none", "double"),
}

# 5.1: packs by the number of players.
DW = {"2": 28, "3": 28, "4": 28, "5": 36, "6": 36, "7": 52}
DP = {"2": 24, "3": 24, "4": 28, "5": 32, "6": 36, "7": 52}
D32 = {"2": 32, "3": 32, "4": 32, "5": 52, "6": 52, "7": 52, "8": 52}

MINI = {
    "player_range": [2, 2],
    "hand_size": 3,
    "bids": ["one", "two", "nap"],
    "pay": {"nap": [6, 3]},
}

# 5.1, and section 9 for the small games.
PRESETS: dict[str, dict[str, Any]] = {
    "standard": {
        "deck": DW,
        "bids": ["three", "misere", "four", "nap", "wellington", "blucher"],
        "wellington_over": "nap",
        "blucher_over": "wellington",
        "lead": {"wellington": "lowest_trump"},
        "dealer_out_from": 6,
    },
    "parlett": {
        "player_range": [2, 8],
        "bids": ["one", "two", "three", "misere", "four", "nap", "wellington", "blucher"],
        "wellington_over": "nap",
        "wellington_min_players": 5,
        "blucher_over": "wellington",
        "blucher_min_players": 7,
        "pay": {"wellington": [20, 10], "blucher": [40, 20]},
        "first_dealer": "high",
        "packets": "1x5",
    },
    "house": {
        "player_range": [2, 8],
        "deck": D32,
        "bids": ["one", "two", "three", "misere", "four", "nap"],
        "must_trump": True,
        "overtrick": 1,
        "pay": {"misere": [7, 5]},
        "pool_fail": "as_player",
        "early_stop": False,
    },
    "alt_scoring": {
        "player_range": [2, 8],
        "bids": ["one", "two", "three", "misere", "four", "nap"],
        "scheme": "alt",
        "early_stop": False,
    },
    "draw": {
        "player_range": [2, 6],
        "bids": ["one", "two", "three", "misere", "four", "nap"],
        "draw": "maker_then_opponents",
    },
    "thirty": {
        "player_range": [2, 6],
        "bids": ["three", "misere", "four", "nap", "wellington", "blucher"],
        "deals": "none",
        "target": 30,
    },
    "seven_card": {
        "hand_size": 7,
        "packets": "3-2-2",
        "bids": ["three", "four", "nap", "misere", "six", "seven"],
        "pay": {"misere": [10, 5], "six": [18, 9], "seven": [24, 12]},
    },
    "ecarte": {
        "player_range": [3, 4],
        "bids": ["three", "misere", "four", "nap"],
        "buy": True,
    },
    "peep": {
        "bids": ["three", "misere", "four", "nap"],
        "widow": "peep",
        "look_cost": 1,
    },
    "sir_garnet": {
        "bids": ["three", "misere", "four", "nap"],
        "widow": "garnet",
    },
    "modern": {
        "deck": DW,
        "bids": ["three", "misere", "four", "nap", "napoleon", "wellington"],
        "lead": {"napoleon": "lowest_trump", "wellington": "lowest_plain"},
        "dealer_out_from": 6,
    },
    "floater": {
        "deck": DW,
        "bids": ["three+f", "three", "four+f", "four", "nap+f", "nap"],
        "widow": "floater",
        "look_cost": 1,
        "dealer_free_look": True,
        "pool_each": 1,
        "all_pass": "double_next",
    },
    "old_russian": {
        "player_range": [2, 6],
        "deck": 36,
        "bids": ["one", "two", "three", "four", "five"],
        "pay": {"five": [5, 5]},
        "first_bidder": "dealer",
        "hold": True,
        "must_trump": True,
        "draw": "maker_one",
        "pool_dealer": 1,
        "pool_fail": "as_player",
        "pool_five_fail": "double",
    },
    "pool_nap": {
        "player_range": [2, 6],
        "bids": ["one", "two", "three", "four", "nap"],
        "pool_start": 2,
        "pool_dealer": 2,
        "pool_five_fail": "double",
        "pool_revoke": 5,
    },
    "britannica_1911": {
        "bids": ["two", "three", "misere", "four", "nap", "wellington", "blucher"],
        "wellington_over": "nap",
        "blucher_over": "wellington",
        "pay": {"misere": [3, 6], "wellington": [20, 10], "blucher": [30, 15]},
    },
    "pub": {
        "deck": DP,
        "joker": True,
        "bids": ["two", "three", "misere", "four", "nap", "wellington", "blucher"],
        "wellington_over": "nap",
        "blucher_over": "wellington",
        "pay": {"wellington": [20, 20], "blucher": [40, 40]},
        "pool_each": 1,
        "shuffle": "after_nap",
    },
    "dealer_must": {
        "player_range": [2, 6],
        "bids": ["two", "three", "misere", "four", "nap", "wellington", "blucher"],
        "all_pass": "dealer_one",
        "dealer_out_from": 5,
    },
    "peel": {
        "player_range": [2, 6],
        "bids": ["one", "two", "misere", "three", "four", "nap", "wellington", "blucher"],
        "misere_trump": "lead",
        "all_pass": "eldest_one",
        "wellington_over": "nap",
        "blucher_over": "wellington",
        "pay": {"wellington": [20, 10], "blucher": [30, 15]},
        "first_dealer": "jack",
        "packets": "1x5",
        "pool_dealer": 1,
        "dealer_out_from": 6,
    },
    "mini_2x4": {**MINI, "suits": 2, "deck": 8},
    "mini_2x5": {**MINI, "suits": 2, "deck": 10},
    "mini_3x4": {**MINI, "suits": 3, "deck": 12},
    "mini_3p": {**MINI, "player_range": [3, 3], "suits": 2, "deck": 10},
    "mini_mix": {
        **MINI,
        "suits": 2,
        "deck": 8,
        "pay": {"one": [1, 2], "two": [2, 4], "nap": [5, 3]},
        "hold": True,
    },
}


def options_of(rules: str, options: dict[str, Any], num_players: int) -> dict[str, Any]:
    """Every option of section 9, with the preset and then the overrides applied.

    What depends on other options is worked out: `deck` is the number for these players,
    `early_stop` is off where tricks count (2.7), `separate_call` has added its bid (4.9 no. 7).

    Args:
        rules: name of a preset.
        options: overrides; `pay` and `lead` are merged bid by bid, the others replace.
        num_players: players at the table, a dealer who sits out included.

    Raises:
        ValueError: an unknown name, a value that is not allowed, or an impossible combination.
    """
    if rules not in PRESETS:
        raise ValueError(f"rules={rules!r}: the presets are {sorted(PRESETS)}")
    full = {**DEFAULTS, "pay": dict(BASE_TARIFF), "lead": {}}
    if {**PRESETS[rules], **options}.get("separate_call"):
        full["pay"]["napoleon"] = [5, 5]
    for layer in (PRESETS[rules], options):
        for name, value in layer.items():
            if name not in DEFAULTS:
                raise ValueError(f"option {name!r}: the options are {sorted(DEFAULTS)}")
            if name in ("pay", "lead"):
                floaters = {f"{bid}+f": said for bid, said in (value or {}).items()}
                full[name].update(floaters | (value or {}))  # section 9: unless it has its own
            else:
                full[name] = "none" if value is None else value

    for name, allowed in CHOICES.items():
        if full[name] not in allowed:
            raise ValueError(f"{name}={full[name]!r}: allowed are {allowed}")
    fewest, most = full["player_range"]
    if not fewest <= num_players <= most:
        raise ValueError(f"num_players={num_players}: {rules} seats {fewest} to {most}")
    if isinstance(full["deck"], dict):
        table = {str(players): cards for players, cards in full["deck"].items()}
        if str(num_players) not in table:
            raise ValueError(f"deck={table}: no pack for {num_players} players")
        full["deck"] = table[str(num_players)]
    if full["overtrick"] or full["scheme"] == "alt":
        full["early_stop"] = False
    if full["widow"] != "none" and full["draw"] != "none":
        raise ValueError("widow and draw are not combined")  # section 9 no. 9
    if full["separate_call"]:
        if "napoleon" in full["bids"]:
            raise ValueError("separate_call adds napoleon to the bids")  # section 9 no. 9
        full["bids"] = [*full["bids"], "napoleon"]

    tricks = tricks_of(full)
    for bid in full["bids"]:
        if bid not in TRICKS or bid not in full["pay"]:
            raise ValueError(f"bid {bid!r}: not a bid, or without a price in pay")
        if TRICKS[bid] > tricks and TRICKS[bid] != 5:
            raise ValueError(f"bid {bid!r}: a hand has only {tricks} tricks")
        if bid.endswith("+f") and full["widow"] != "floater":
            raise ValueError(f"bid {bid!r}: needs widow=floater")
    return full


def tricks_of(options: dict[str, Any]) -> int:
    """The cards of a hand when play begins: those dealt, less what `discard_to` takes (4.2)."""
    dealt: int = options["hand_size"]
    return dealt if options["discard_to"] == "none" else min(dealt, options["discard_to"])


def card_id(card: str) -> int:
    """The order of marking: 13*suit + rank, the joker last (DESIGN.md section 3)."""
    if card == JOKER:
        return len(SUITS) * len(RANKS)
    return len(RANKS) * SUITS.index(card[1]) + RANKS.index(card[0])


def pack_of(options: dict[str, Any]) -> set[str]:
    """The cards in play: the highest ranks of each suit (2.1, section 9 `suits`), and a joker."""
    ranks = RANKS[-(options["deck"] // options["suits"]) :]
    pack = {rank + suit for suit in SUITS[: options["suits"]] for rank in ranks}
    return pack | {JOKER} if options["joker"] else pack


class Decision(NamedTuple):
    """What the table waits for: one seat to choose one of its legal actions."""

    seat: int
    phase: str
    legal: list[str]


# The phases are generators: they yield a Decision and are sent the action that was chosen.
T = TypeVar("T")
Asking = Generator[Decision, str, T]


class ReferenceDeal:
    """One deal from given cards, asked for its legal actions and told each one chosen.

    Attributes:
        options: every option of section 9, see `options_of`.
        hands, widow, stock, discards, played: where the cards are; each card is in one of them.
        payments: chips moved so far, one number a seat.
        pool: chips in the pool now.
        tricks: completed tricks won, one number a seat.
        declarer, contract, trump, made: None until they are known.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        """Set up the table.

        Args:
            record: a deal record of DESIGN.md section 3; its events, legal lists, result and
                unknown keys are ignored.

        Raises:
            ValueError: impossible rules or cards.
        """
        self.num_players: int = record["num_players"]
        self.dealer: int = record["dealer"]
        self.options = options_of(record["rules"], record.get("options") or {}, self.num_players)
        self.hands: list[list[str]] = [list(hand) for hand in record["hands"]]
        self.widow: list[str] = list(record["widow"])
        self.stock: list[str] = list(record["stock"])
        self.discards: list[str] = []
        self.played: list[str] = []

        out_from = self.options["dealer_out_from"]
        self.dealer_out = out_from != "none" and self.num_players >= out_from  # 2.10
        self.tricks_in_hand = tricks_of(self.options)
        self._check_cards()

        self.payments = [0] * self.num_players
        self.pool: int = record["pool"]
        # Section 9 no. 3: there is no multiplier but under double_next.
        doubling = self.options["all_pass"] == "double_next"
        self.multiplier: int = record.get("multiplier", 1) if doubling else 1

        self.calls: list[tuple[int, str]] = []  # every bid of the auction, holds and takes included
        self.looked: set[int] = set()
        self.taker: int | None = None
        self.declarer: int | None = None
        self.contract: str | None = None
        self.trump: str | None = None
        self.tricks = [0] * self.num_players
        self.offender: int | None = None
        self.made: bool | None = None

        self._steps = self._deal()
        self._decision: Decision | None = next(self._steps, None)

    @property
    def seat(self) -> int | None:
        """Who is to act; None when the deal is over."""
        return None if self._decision is None else self._decision.seat

    @property
    def phase(self) -> str:
        """One of buy, auction, hold, exchange, name, play, over."""
        return "over" if self._decision is None else self._decision.phase

    def legal(self) -> list[str]:
        """Legal action names, sorted as strings; empty when the deal is over."""
        return [] if self._decision is None else sorted(self._decision.legal)

    def act(self, action: str) -> None:
        """Let the seat to act choose an action.

        Raises:
            ValueError: the action is not legal.
        """
        if action not in self.legal():
            raise ValueError(
                f"{self.phase}, seat {self.seat}: {action!r} is not legal; legal: {self.legal()}"
            )
        try:
            self._decision = self._steps.send(action)
        except StopIteration:
            self._decision = None

    def result(self) -> dict[str, Any]:
        """The `result` object of a deal record.

        Raises:
            ValueError: the deal is not over.
        """
        if self._decision is not None:
            raise ValueError(f"the deal is not over: seat {self.seat} is to act in {self.phase}")
        return {
            "declarer": self.declarer,
            "contract": self.contract,
            "trump": self.trump,
            "made": self.made,
            "tricks": list(self.tricks),
            "payments": list(self.payments),
            "pool": self.pool,
            "multiplier": self.multiplier,
        }

    # The table

    def _check_cards(self) -> None:
        if not 0 <= self.dealer < self.num_players:
            raise ValueError(f"dealer={self.dealer}: seats are 0 to {self.num_players - 1}")
        if len(self.hands) != self.num_players:
            raise ValueError(f"{len(self.hands)} hands for {self.num_players} players")
        for seat, hand in enumerate(self.hands):
            size = 0 if self.dealer_out and seat == self.dealer else self.options["hand_size"]
            if len(hand) != size:
                raise ValueError(f"seat {seat} was dealt {len(hand)} cards instead of {size}")
        kind = self.options["widow"]
        # Choice (4.5): a spare hand is as large as a hand, five cards in the five-card game.
        spare = {"none": 0, "garnet": self.options["hand_size"]}.get(kind, 1)
        if len(self.widow) != spare:
            raise ValueError(f"widow={kind}: {len(self.widow)} cards instead of {spare}")
        in_hands = [card for hand in self.hands for card in hand]
        cards = [*in_hands, *self.widow, *self.stock]
        if len(set(cards)) < len(cards) or not set(cards) <= pack_of(self.options):
            raise ValueError(f"cards twice, or not in the pack: {sorted(cards)}")

    def _seats_from(self, first: int) -> list[int]:
        """The seats that hold cards, clockwise; a dealer who sits out has no turn (2.10)."""
        seats = [(first + k) % self.num_players for k in range(self.num_players)]
        return [seat for seat in seats if not (self.dealer_out and seat == self.dealer)]

    def _eldest(self) -> int:
        return (self.dealer + 1) % self.num_players

    def _pay_pool(self, seat: int, chips: int) -> None:
        """Move chips from a player to the pool; a negative number takes them out."""
        # Choice (3.2 no. 6): with transfer split "all scores" are multiplied by n-1, so the pool's
        # plain chips weigh n-1 points each in the payments.
        weight = self.num_players - 1 if self.options["transfer"] == "split" else 1
        self.payments[seat] -= chips * weight
        self.pool += chips

    # The course of a deal (4.0)

    def _deal(self) -> Asking[None]:
        self._contribute()
        yield from self._discard_surplus()
        yield from self._buy()
        yield from self._auction()
        if self.declarer is None:
            if self.options["all_pass"] == "double_next":  # 2.6
                self.multiplier = 2
            return
        yield from self._exchange()
        yield from self._play()
        self._settle()

    def _contribute(self) -> None:
        """P1, 4.8: everybody's ante (also of a dealer who sits out), the dealer's contribution."""
        for seat in range(self.num_players):
            self._pay_pool(seat, self.options["pool_each"])
        self._pay_pool(self.dealer, self.options["pool_dealer"])

    # Marking cards

    def _mark(self, seat: int, phase: str, at_most: int) -> Asking[int]:
        """4.0: discard up to `at_most` cards in increasing order until `done`; how many."""
        hand, last, count = self.hands[seat], -1, 0
        while True:
            higher = [card for card in hand if card_id(card) > last]
            markable = higher if count < at_most else []
            action = yield Decision(seat, phase, [*markable, "done"])
            if action == "done":
                return count
            self._discard(seat, action)
            last, count = card_id(action), count + 1

    def _mark_exactly(self, seat: int, number: int) -> Asking[None]:
        """Section 9 no. 1: enough higher cards must remain for the marks still to come."""
        last = -1
        for still_due in range(number, 0, -1):
            higher = sorted((c for c in self.hands[seat] if card_id(c) > last), key=card_id)
            card = yield Decision(seat, "exchange", higher[: len(higher) - still_due + 1])
            self._discard(seat, card)
            last = card_id(card)

    def _discard(self, seat: int, card: str) -> None:
        self.hands[seat].remove(card)
        self.discards.append(card)

    def _draw_from_stock(self, seat: int, number: int) -> None:
        self.hands[seat] += self.stock[:number]
        del self.stock[:number]

    # Before the auction

    def _discard_surplus(self) -> Asking[None]:
        """4.2, `discard_to`: each hand marks its surplus cards."""
        # Choice: from the dealer's left, and before anything is bought.
        for seat in self._seats_from(self._eldest()):
            yield from self._mark_exactly(seat, self.options["hand_size"] - self.tricks_in_hand)

    def _buy(self) -> Asking[None]:
        """P3, 4.4: each hand may buy new cards, limited by the stock; the dealer is last."""
        if not self.options["buy"]:
            return
        for seat in self._seats_from(self._eldest()):
            number = yield from self._mark(seat, "buy", at_most=len(self.stock))
            self._draw_from_stock(seat, number)
            self._pay_pool(seat, number * self.options["buy_cost"] * self.options["stake"])

    # The auction

    def _auction(self) -> Asking[None]:
        """P4 and P5, 2.5 and 2.6: fixes declarer and contract, if there are any."""
        # Choice: `dealer_free_look` is the floater's alone (section 9), at peep the dealer pays.
        if self.options["widow"] == "floater" and self.options["dealer_free_look"]:
            self.looked.add(self.dealer)  # 4.7 no. 1
        first = self.dealer if self.options["first_bidder"] == "dealer" else self._eldest()
        speakers = self._seats_from(first)
        for seat in speakers:
            if self.options["hold"] and seat == self.dealer and self.calls:
                continue  # 4.9 no. 2: he speaks in P5
            yield from self._speak(seat, last=seat == speakers[-1])

        if not self.calls:
            if self.options["all_pass"] == "eldest_one":
                # Section 9 no. 5. Choice: the imposed One is no bid, so the dealer cannot hold it.
                self.declarer, self.contract = self._eldest(), "one"
            return
        if self.options["hold"] and not self.dealer_out:
            yield from self._hold()
        self.declarer, self.contract = self.calls[-1]

    def _speak(self, seat: int, last: bool) -> Asking[None]:
        """One call; before it the seat may look at the widow."""
        # 2.6 dealer_one, section 9 no. 5.
        must_bid = self.options["all_pass"] == "dealer_one" and last and not self.calls
        while True:
            legal = set(self._legal_bids(seat))
            if self._may_take(seat):
                legal.add("take")
            if self.options["widow"] in ("peep", "floater") and seat not in self.looked:
                legal.add("look")
            legal.add("one" if must_bid else "pass")
            action = yield Decision(seat, "auction", list(legal))
            if action != "look":
                break
            self.looked.add(seat)
            self._pay_pool(seat, self.options["look_cost"])  # 4.3 no. 1, 4.7 no. 1

        if action == "take":
            yield from self._take(seat)
        elif action != "pass":
            self.calls.append((seat, action))

    def _rank(self, bid: str) -> int:
        """A bid's place in the list; the One of `dealer_one` may be lower than all of them."""
        bids: list[str] = self.options["bids"]
        return bids.index(bid) if bid in bids else -1

    def _legal_bids(self, seat: int) -> list[str]:
        """4.1: the bids above the standing one whose conditions are met."""
        standing = self._rank(self.calls[-1][1]) if self.calls else -1
        return [
            bid
            for bid in self.options["bids"]
            if self._rank(bid) > standing
            and self.num_players >= self.options.get(f"{bid}_min_players", 0)
            and self._overcall_allowed(seat, bid)
            and (seat in self.looked or not bid.endswith("+f"))  # 4.7 no. 2
        ]

    def _overcall_allowed(self, seat: int, bid: str) -> bool:
        """2.5 and section 9 no. 4: another player has made the bid that this one must overcall."""
        condition = self.options.get(f"{bid}_over", "none")
        return condition == "none" or any(
            caller != seat and condition in (call, call.removesuffix("+f"))
            for caller, call in self.calls
        )

    def _may_take(self, seat: int) -> bool:
        """4.5 no. 1: the spare hand is untouched and Nap would be a legal bid."""
        untouched = self.options["widow"] == "garnet" and self.taker is None
        return untouched and "nap" in self._legal_bids(seat)

    def _take(self, seat: int) -> Asking[None]:
        """4.5 no. 1: take up the spare hand, discard as many cards; this counts as bidding Nap."""
        self.taker = seat
        self.calls.append((seat, "nap"))
        number = len(self.widow)
        self.hands[seat] += self.widow
        self.widow.clear()
        yield from self._mark_exactly(seat, number)

    def _hold(self) -> Asking[None]:
        """P5, 4.9 no. 3: the dealer may hold or raise the standing bid."""
        while self.calls[-1][0] != self.dealer:
            held, bid = self.calls[-1]
            choices = ["decline", *self._legal_bids(self.dealer)]
            # Choice (4.7 no. 2): who holds a +f bid must have looked, as if he bid it. An overcall
            # condition is not asked again: the bid stands already.
            if self.dealer in self.looked or not bid.endswith("+f"):
                choices.append("hold")
            action = yield Decision(self.dealer, "hold", choices)
            if action == "decline":
                return
            if action != "hold":
                self.calls.append((self.dealer, action))  # his raise is final
                return
            self.calls.append((self.dealer, bid))
            raises = self._legal_bids(held)
            if not raises:  # section 9 no. 6
                return
            answer = yield Decision(held, "hold", ["decline", *raises])
            if answer == "decline":
                return
            self.calls.append((held, answer))

    # After the auction

    def _exchange(self) -> Asking[None]:
        """P6: peep (4.3), floater (4.7), draws (4.6 and 4.9 no. 4)."""
        assert self.declarer is not None and self.contract is not None
        maker, hand = self.declarer, self.hands[self.declarer]
        if self.options["widow"] == "peep":
            if maker in self.looked or not self.options["look_needed"]:
                card = yield Decision(maker, "exchange", [*hand, "done"])
                if card != "done":
                    self._swap(card)
        elif self.options["widow"] == "floater":
            if self.contract.endswith("+f"):
                card = yield Decision(maker, "exchange", list(hand))
                self._swap(card)
        elif self.options["draw"] == "maker_one":
            # Choice: with the stock empty `done` is the only action, as in section 9 no. 2.
            card = yield Decision(maker, "exchange", [*(hand if self.stock else []), "done"])
            if card != "done":
                self._discard(maker, card)
                self._draw_from_stock(maker, 1)
        elif self.options["draw"] == "maker_then_opponents":
            most = yield from self._mark(maker, "exchange", at_most=len(self.stock))
            self._draw_from_stock(maker, most)
            if most == 0:  # section 9 no. 2
                return
            for seat in self._seats_from(maker)[1:]:
                at_most = min(most, len(self.stock))
                number = yield from self._mark(seat, "exchange", at_most)
                self._draw_from_stock(seat, number)

    def _swap(self, card: str) -> None:
        """The maker takes the widow card and discards one of his own face down."""
        assert self.declarer is not None
        self._discard(self.declarer, card)
        self.hands[self.declarer] += self.widow
        self.widow.clear()

    # Play

    def _play(self) -> Asking[None]:
        """P7 and P8, 2.7: tricks until all are played, the bid is decided or somebody revokes."""
        assert self.declarer is not None
        if self._lead_rule() == "lowest_plain" and not self._no_trumps():
            yield from self._name_trumps()
        leader = self.declarer
        for _ in range(self.tricks_in_hand):
            trick = yield from self._trick(leader)
            if self.offender is not None:  # 2.11: play stops at once
                return
            leader = self._winner(trick)
            self.tricks[leader] += 1
            if self.options["early_stop"] and self._decided():
                return

    def _trick(self, leader: int) -> Asking[dict[int, str]]:
        """One card from each hand; on a revoke the trick stays incomplete."""
        trick: dict[int, str] = {}
        for seat in self._seats_from(leader):
            opening = not self.played
            hand = self.hands[seat]
            if opening:
                proper = self._opening_leads(hand)
            elif not trick:
                proper = list(hand)
            else:
                proper = self._following_cards(hand, led=trick[leader])
            choices = hand if self.options["allow_revoke"] else proper
            card = yield Decision(seat, "play", list(choices))
            hand.remove(card)
            self.played.append(card)
            trick[seat] = card
            fixes_trumps = opening and self.trump is None and not self._no_trumps()
            if fixes_trumps and card != JOKER:
                self.trump = card[1]  # 2.7 no. 1; also a card led against a lead restriction
            if card not in proper:
                # Choice (2.11): a joker led against `lowest_trump` ends the deal before any naming.
                self.offender = seat
                break
            if fixes_trumps and card == JOKER:
                yield from self._name_trumps()  # 2.9
        return trick

    def _lead_rule(self) -> str:
        rule: str = self.options["lead"].get(self.contract, "any")
        return rule

    def _no_trumps(self) -> bool:
        """2.8: a Misère without trumps; there a joker is the only trump."""
        literal = self.options["misere_goal"] == "exact3_nt"
        return self.contract == "misere" and (literal or self.options["misere_trump"] == "none")

    def _name_trumps(self) -> Asking[None]:
        """P7: the maker names a suit."""
        assert self.declarer is not None
        # Choice (2.5 "any of the four"): where the pack has fewer suits, one of those in the pack.
        suits = SUITS[: self.options["suits"]]
        names = [name for name, suit in SUIT_OF_NAME.items() if suit in suits]
        name = yield Decision(self.declarer, "name", names)
        self.trump = SUIT_OF_NAME[name]

    def _is_trump(self, card: str) -> bool:
        return card == JOKER or card[1] == self.trump

    def _suit(self, card: str) -> str:
        """A card's suit; the joker belongs to trumps and without trumps is alone (2.9)."""
        return (self.trump or JOKER) if card == JOKER else card[1]

    def _opening_leads(self, hand: list[str]) -> list[str]:
        """2.5, exact meaning of the lead restrictions."""
        suited = [card for card in hand if card != JOKER]
        if self._lead_rule() == "lowest_trump" and suited:
            return [min((c for c in suited if c[1] == s), key=card_id) for s in _suits_in(suited)]
        # Choice: `lowest_plain` in a Misère without trumps is the lowest card, nothing being named.
        plain = [card for card in hand if not self._is_trump(card)]
        if self._lead_rule() == "lowest_plain" and plain:
            lowest = min(RANKS.index(card[0]) for card in plain)
            return [card for card in plain if RANKS.index(card[0]) == lowest]
        return list(hand)

    def _following_cards(self, hand: list[str], led: str) -> list[str]:
        """2.7 no. 2: follow suit if able; if not, any card or, with `must_trump`, a trump."""
        same_suit = [card for card in hand if self._suit(card) == self._suit(led)]
        if same_suit:
            return same_suit
        trumps = [card for card in hand if self._is_trump(card)]
        return trumps if self.options["must_trump"] and trumps else list(hand)

    def _winner(self, trick: dict[int, str]) -> int:
        """2.7 no. 3: the joker, else the highest trump, else the highest card of the led suit."""
        led = next(iter(trick.values()))

        def strength(seat: int) -> tuple[bool, bool, bool, int]:
            card = trick[seat]
            follows = self._suit(card) == self._suit(led)
            rank = 0 if card == JOKER else RANKS.index(card[0])
            return card == JOKER, self._is_trump(card), follows, rank

        return max(trick, key=strength)

    def _needed(self) -> int:
        """Tricks of the contract; five means all where the hand has fewer (section 9)."""
        assert self.contract is not None
        return min(TRICKS[self.contract], self.tricks_in_hand)

    def _fulfilled(self, tricks: int) -> bool:
        """3.3: whether so many tricks at the end make the contract."""
        if self.contract != "misere":
            return tricks >= self._needed()
        return tricks == (0 if self.options["misere_goal"] == "lose_all" else 3)

    def _decided(self) -> bool:
        """2.7 no. 5: all the numbers of tricks still possible lead to the same outcome."""
        assert self.declarer is not None
        won = self.tricks[self.declarer]
        left = self.tricks_in_hand - sum(self.tricks)
        return len({self._fulfilled(final) for final in range(won, won + left + 1)}) == 1

    # Settlement (3.3)

    def _settle(self) -> None:
        assert self.declarer is not None
        maker, won = self.declarer, self.tricks[self.declarer]
        if self.offender is None:
            self.made = self._fulfilled(won)
        elif self.offender == maker:  # 2.11
            self.made, won = False, min(won, self._needed() - 1)
        else:
            self.made, won = True, max(won, self._needed())

        value = self._value(won) * self.options["stake"] * self.multiplier
        if self.taker == maker and not self.made:
            # Choice (4.5 no. 3, 3.3 "widow hand was taken"): taken by the maker himself.
            value *= self.options["garnet_fail"]
        opponents = [seat for seat in range(self.num_players) if seat != maker]
        for opponent in opponents:
            payer = opponent if self.offender in (None, maker) else self.offender
            self.payments[payer] -= value
            self.payments[maker] += value
        self._settle_pool(abs(value))
        if self.made:
            self.multiplier = 1  # section 9 no. 3

    def _value(self, won: int) -> int:
        """What each opponent pays the maker; negative when the bid failed."""
        assert self.contract is not None
        if self.options["scheme"] == "alt":
            return self._alternative_value(won)
        win, lose = self.options["pay"][self.contract]
        if not self.made:
            return -int(lose)
        overtricks = 0 if self.contract == "misere" else won - self._needed()  # none for all tricks
        return int(win) + int(self.options["overtrick"]) * overtricks

    def _alternative_value(self, won: int) -> int:
        """4.11."""
        assert self.contract is not None
        if self.contract == "misere":
            return 6 if self.made else -6
        # Choice: every bid for five tricks or more is priced as Nap.
        if TRICKS[self.contract] >= 5:
            return 15 if self.made else -10
        bid, lost = self._needed(), self.tricks_in_hand - won
        return 2 * bid + (won - bid) if self.made else -(2 * (bid - won) + lost)

    def _plays_for_the_pool(self) -> bool:
        """Section 9 no. 12: a bid for all the tricks; with `separate_call` only Napoleon."""
        if self.options["separate_call"]:
            return self.contract == "napoleon"
        return self.contract != "misere" and self._needed() == self.tricks_in_hand

    def _settle_pool(self, value: int) -> None:
        """The pool's part of 3.3; `value` is the amount settled with each opponent."""
        assert self.declarer is not None
        maker, five = self.declarer, self._plays_for_the_pool()
        if self.made and five:
            self._pay_pool(maker, -self.pool)
        if not self.made:
            if five and self.options["pool_five_fail"] == "double":
                room = max(0, POOL_LIMIT - self.pool)
                self._pay_pool(maker, min(self.pool, room))
            elif self.options["pool_fail"] == "as_player":
                self._pay_pool(maker, value)
            if self.taker == maker:
                chips = self.options["garnet_pool"] * self.options["stake"] * self.multiplier
                self._pay_pool(maker, chips)
        if self.offender is not None:
            self._pay_pool(self.offender, self.options["pool_revoke"])


def _suits_in(cards: list[str]) -> list[str]:
    return [suit for suit in SUITS if any(card[1] == suit for card in cards)]


def replay(record: dict[str, Any]) -> tuple[list[list[str]], dict[str, Any] | None]:
    """Play a record's events.

    Args:
        record: a deal record of DESIGN.md section 3.

    Returns:
        The legal list before each event, and the result, or None where the deal is not over.

    Raises:
        ValueError: impossible rules or cards, an event out of turn or not legal.
    """
    deal = ReferenceDeal(record)
    legal = []
    for number, (seat, action) in enumerate(record["events"]):
        if seat != deal.seat:
            raise ValueError(f"event {number}: seat {seat} acts, but {deal.seat} is to act")
        legal.append(deal.legal())
        deal.act(action)
    return legal, deal.result() if deal.seat is None else None


def differences(record: dict[str, Any]) -> list[str]:
    """What a record says otherwise than the referee, one line each."""
    try:
        legal, result = replay(record)
    except ValueError as error:
        return [str(error)]
    found = []
    if "legal" in record:
        if len(record["legal"]) != len(legal):
            found.append(f"{len(record['legal'])} legal lists for {len(legal)} events")
        for number, (theirs, ours) in enumerate(zip(record["legal"], legal, strict=False)):
            if theirs != ours:
                found.append(f"event {number} {record['events'][number]}: {theirs}, here {ours}")
    if "result" in record and record["result"] != result:
        found.append(f"result {record['result']}, here {result}")
    return found


def main(path: str) -> int:
    """Compare every record of a JSONL file with the referee; 1 if any differs."""
    count = differing = 0
    for line_number, line in enumerate(Path(path).read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        found = differences(json.loads(line))
        count, differing = count + 1, differing + bool(found)
        for text in found:
            print(f"line {line_number}: {text}")
    print(f"{count} records, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/reference.py FILE")
    sys.exit(main(sys.argv[1]))
