"""What each seat may know, told from a deal's record and the rules alone, in cards as text.

The observation is compared with this module field by field. It reads a record's cards and events,
the columns of `Rules`, and the referee of `reference.py` for whose turn it is and in which phase;
it never reads the engine's fields.
"""

from collections.abc import Sequence
from typing import Any

import reference

from nap_env.rules import TARIFFS, Bid, Rules

PHASES = ["buy", "auction", "hold", "exchange", "name", "play"]
BIDS = "one two three+f three misere four+f four five nap+f nap napoleon wellington blucher six"
BIDS = [*BIDS.split(), "seven"]
PACK = [rank + suit for suit in reference.SUITS for rank in reference.RANKS] + ["JK"]
SEATS = 8

View = dict[tuple[str, int], list[int]]
"""Values by (field, relative seat); the seat is 0 for a field that is not a seat's."""


class Observer:
    """A deal watched from its first decision on, event by event.

    Attributes:
        referee: the same deal, refereed.
        scores, pool, multiplier, deals_played: those of the match so far; as the next deal finds
            them once this one is over.
        match_over: whether this was the last deal.
    """

    def __init__(
        self,
        rules: Rules,
        record: dict[str, Any],
        *,
        deals_played: int = 0,
        scores: Sequence[int] | None = None,
    ) -> None:
        """Sit down at a deal that has just been dealt.

        Args:
            rules: the rules.
            record: the deal's record; its events are ignored.
            deals_played: deals of the match before this one.
            scores: chips of each seat before this deal; without them a match begins, for which
                everybody has paid `pool_start`.
        """
        self.rules = rules
        self.players = record["num_players"]
        self.dealer = record["dealer"]
        self.referee = reference.ReferenceDeal(record)
        self.sits_out = {seat for seat, hand in enumerate(record["hands"]) if not hand}
        self.widow = list(record["widow"])
        self.deals_played = deals_played
        self.scores = list(scores or [-rules.pool_start] * self.players)
        self.match_over = False
        self.first_multiplier = record["multiplier"]  # that of this deal

        self.bids: list[set[str]] = [set() for _ in range(self.players)]
        self.passed: set[int] = set()
        self.looked: set[int] = set()
        if rules.widow == "floater" and rules.dealer_free_look:
            self.looked.add(self.dealer)
        self.standing: str | None = None  # the highest bid, later the contract
        self.put_away: list[set[str]] = [set() for _ in range(self.players)]
        self.marked = 0  # by the seat to move, which has not drawn for them yet
        self.bought = [0] * self.players
        self.exchanged = [0] * self.players

        self.trump: str | None = None
        self.joker_waits = False  # led, but not on the table before trumps are named
        self.leader: int | None = None
        self.table: dict[int, str] = {}
        self.played: list[tuple[int, str]] = []
        self.tricks = [0] * self.players
        self.void: list[set[str]] = [set() for _ in range(self.players)]

    @property
    def pool(self) -> int:
        """Chips in the pool; none once the match is over and they are shared out."""
        return 0 if self.match_over else self.referee.pool

    @property
    def multiplier(self) -> int:
        return self.referee.multiplier

    def next_deal(self, record: dict[str, Any]) -> "Observer":
        """Sit down at the deal that follows this one, in this match or as the first of a new one.

        Raises:
            AssertionError: the match has another pool, multiplier, scores or dealer.
        """
        deal = Observer(self.rules, record)
        if not self.match_over:
            assert record["dealer"] == (self.dealer + 1) % self.players, record
            deal = Observer(self.rules, record, deals_played=self.deals_played, scores=self.scores)
        pool = self.rules.pool_start * self.players if self.match_over else self.pool
        assert record["pool"] == pool, record
        assert record["multiplier"] == (1 if self.match_over else self.multiplier), record
        assert record.get("scores", [0] * self.players) == deal.scores, record
        return deal

    def act(self, name: str) -> None:
        """Watch the seat to move take an action."""
        seat, phase, contracted = self.referee.seat, self.referee.phase, self.referee.declarer
        assert seat is not None
        self.referee.act(name)
        if phase in ("auction", "hold"):
            self._call(seat, name)
        elif phase in ("buy", "exchange"):
            self._exchange(seat, name, phase, after_auction=contracted is not None)
        elif phase == "name":
            self.trump = reference.SUIT_OF_NAME[name]
            if self.joker_waits:
                self.joker_waits = False
                self._lay(seat, "JK")
        elif not self.played and name == "JK" and self.referee.phase == "name":
            self.joker_waits = True
        else:
            self._lay(seat, name)
        maker = self.referee.declarer
        if maker is not None:
            if self.standing is None:  # imposed on the eldest hand
                self.standing = "one"
                self.bids[maker].add("one")
            if self.leader is None and self.referee.phase in ("name", "play"):
                self.leader = maker
        if self.referee.seat is None:
            self._end()

    def _call(self, seat: int, name: str) -> None:
        if name == "pass":
            self.passed.add(seat)
        elif name == "look":
            self.looked.add(seat)
        elif name != "decline":
            if name == "take":
                self.looked.add(seat)
            if name != "hold":
                self.standing = "nap" if name == "take" else name
            assert self.standing is not None
            self.bids[seat].add(self.standing)

    def _exchange(self, seat: int, name: str, phase: str, after_auction: bool) -> None:
        """Marks are counted when the new cards come: at `done`, or at once for the one card."""
        if name == "done":
            (self.bought if phase == "buy" else self.exchanged)[seat] += self.marked
            self.marked = 0
            return
        self.put_away[seat].add(name)
        if phase == "buy" or (after_auction and self.rules.draw == "maker_then_opponents"):
            self.marked += 1
        elif after_auction:
            self.exchanged[seat] += 1
            if self.widow:
                self.looked.add(seat)

    def _lay(self, seat: int, card: str) -> None:
        """Put a card on the table; it fixes trumps, or shows that the seat did not follow."""
        if not self.played and self.trump is None and not self._without_trumps() and card != "JK":
            self.trump = card[1]
        led = self._suit(next(iter(self.table.values()), card))
        if led is not None and self._suit(card) != led:
            self.void[seat].add(led)
        self.played.append((seat, card))
        self.table[seat] = card
        full = len(self.table) == self.players - len(self.sits_out)
        if full and self.referee.offender is None:
            winner = self._winning()
            assert winner is not None
            self.leader = winner
            self.tricks[winner] += 1
            self.table = {}

    def _without_trumps(self) -> bool:
        """A misère has none, unless the rules give it those of its lead."""
        if self.bid is None or self.bid.tricks > 0:
            return False
        return self.rules.misere_goal == "exact3_nt" or self.rules.misere_trump == "none"

    def _suit(self, card: str) -> str | None:
        """The joker is of the trump suit, or of none."""
        return self.trump if card == "JK" else card[1]

    def _winning(self) -> int | None:
        """The joker beats all, trumps beat the rest, then the highest card of the led suit."""
        best: int | None = None
        for seat, card in self.table.items():
            if best is None or self._beats(card, self.table[best]):
                best = seat
        return best

    def _beats(self, card: str, best: str) -> bool:
        if "JK" in (card, best):
            return card == "JK"
        if card[1] == best[1]:
            return reference.RANKS.index(card[0]) > reference.RANKS.index(best[0])
        return card[1] == self.trump

    @property
    def bid(self) -> Bid | None:
        """The row of the highest bid. An imposed One need not be in the list."""
        if self.standing is None:
            return None
        rows = {bid.name: bid for bid in self.rules.all_bids}
        return rows.get(self.standing, TARIFFS[self.rules.scheme][self.standing])

    def _end(self) -> None:
        """Add the deal to the match, which may be over with it."""
        rules = self.rules
        for seat, chips in enumerate(self.referee.payments):
            self.scores[seat] += chips
        self.deals_played += 1
        weight = self.players - 1 if rules.transfer == "split" else 1
        self.match_over = self.deals_played in (rules.deals, rules.max_deals) or (
            rules.target is not None and max(self.scores) >= rules.target * weight
        )
        if self.match_over:
            for k in range(self.referee.pool):  # chip by chip from the dealer's left
                self.scores[(self.dealer + 1 + k) % self.players] += 1

    def sees(self, me: int) -> View:
        """Return every field of the layout that has all of them, as seat `me` sees it."""
        over, phase = self.referee.seat is None, self.referee.phase
        hand = self.referee.hands[me] + ["JK"] * (self.joker_waits and me == self.referee.seat)
        around = [(me + k) % self.players for k in range(self.players)]
        bid, stake = self.bid, self.rules.stake * self.first_multiplier
        led = self._suit(next(iter(self.table.values()))) if self.table else None
        left = (self.rules.deals or 0) - self.deals_played - (not over)
        order = [PACK.index(card) for _, card in self.played]
        view: View = {
            ("hand", 0): _among(PACK, hand),
            ("phase", 0): _among(PHASES, [phase]),
            ("trump_suit", 0): _among(reference.SUITS, [self.trump]),
            ("no_trumps", 0): [int(phase == "play" and self._without_trumps())],
            ("table", 0): _among(PACK, self.table.values()),
            ("led_suit", 0): _among(reference.SUITS, [] if over else [led]),
            ("trick", 0): _among(range(7), [sum(self.tricks)] if phase == "play" else []),
            ("discards", 0): _among(PACK, self.put_away[me]),
            ("widow", 0): _among(PACK, self.widow if me in self.looked else []),
            ("scores", 0): _by_seat(_saturated(self.scores[seat]) for seat in around),
            ("tricks", 0): _by_seat(self.tricks[seat] for seat in around),
            ("pool", 0): [_saturated(self.pool)],
            ("multiplier", 0): [self.multiplier],
            ("contract_tricks", 0): [-1 if bid is None else min(bid.tricks, self._all_tricks(bid))],
            ("win", 0): [0 if bid is None else _saturated(bid.win * stake)],
            ("lose", 0): [0 if bid is None else _saturated(bid.lose * stake)],
            ("deals_left", 0): [_saturated(max(left, 0))],
            ("bought_cards", 0): _by_seat(self.bought[seat] for seat in around),
            ("exchanged_cards", 0): _by_seat(self.exchanged[seat] for seat in around),
            ("order", 0): order,
        }
        for relative, seat in enumerate(around):
            view |= {
                (name, relative): value
                for name, value in {
                    "played": _among(PACK, [card for who, card in self.played if who == seat]),
                    "dealer": [int(seat == self.dealer)],
                    "declarer": [int(seat == self.referee.declarer)],
                    "leader": [int(seat == self.leader)],
                    "winning": [int(seat == self._winning())],
                    "looked": [int(seat in self.looked)],
                    "exchanged": [int(self.bought[seat] + self.exchanged[seat] > 0)],
                    "sits_out": [int(seat in self.sits_out)],
                    "void": _among(reference.SUITS, self.void[seat]),
                    "bids": _among(BIDS, self.bids[seat]),
                    "passed": [int(seat in self.passed)],
                }.items()
            }
        return view

    def _all_tricks(self, bid: Bid) -> int:
        """Five means all the tricks of a smaller hand."""
        cards = self.rules.discard_to or self.rules.hand_size
        return cards if bid.tricks == 5 else bid.tricks


def _among(names: Sequence[Any], chosen: Any) -> list[int]:
    """Return 1 for each name that is chosen, 0 for the others."""
    chosen = set(chosen)
    return [int(name in chosen) for name in names]


def _by_seat(values: Any) -> list[int]:
    values = list(values)
    return values + [0] * (SEATS - len(values))


def _saturated(value: int) -> int:
    return max(-128, min(127, value))
