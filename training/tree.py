"""Small games as a whole: each deal, what each side can tell apart, and what every end brings.

A side is a seat, or seats that show each other their cards. All that it has seen at its turns makes
an information set; a set and an action a sequence. How a side plays is a number for each of its
sequences: how likely it plays all of it, from the start, if the others let it; its plan (the
realization plan of von Stengel, 1996). What a deal brings is then a sum over ends: the chips, times
the chance of the cards, times the plans of the sequences that lead there, one of each side. So no
tree of moves is kept, only the sequences of each side and the ends.

Where no rule knows one suit from another, deals that differ in nothing but the names of the suits
are walked once. What a seat sees is then named by the least of its names; actions that the seat
cannot tell apart (the ace of either suit, of two equal ones) are one action, which plays each of
them with the same chance. That loses nothing: an equilibrium, and a best response to others who
play alike in all suits, is among the ways to play that are alike in all suits.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nap_env.actions import NUM_ACTIONS
from nap_env.agents.features import AS_THEY_ARE, entries, turned_action, turned_suit
from nap_env.cards import NUM_CARDS
from nap_env.engine.kernel import kernel, subroutine, wrapping
from nap_env.engine.settle import reward_of
from nap_env.engine.state import (
    EVENT_SEAT,
    MAX_EVENTS,
    OVER,
    lane,
    lowest_bit,
    mix,
    new_games,
    popcount,
)
from nap_env.engine.step import legal_action, only_action, open_deal, random_action, step
from nap_env.game import Game
from nap_env.observation import WORD, layout
from nap_env.rules import Rules, rules_table
from nap_env.sight import observe

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_DEALS = 1_000_000
MOST_DECISIONS = 10_000_000
"""Games of more deals, or more decisions in all of them, are refused."""

DEALS_AT_ONCE = 256
SAMPLES = 200
"""Random deals from which the size of a game is estimated."""

_U = np.uint64
_NO_ACTION = 255  # what an empty sequence does
_NO_CARD = 255  # in the order of play, where no card has been played yet


class Tree(NamedTuple):
    """A game as kernels take it: I information sets, S sequences, E ends, P sides.

    Sets and sequences are numbered side by side, and within a side every set after those that lead
    to it. The first sequence of a side is the empty one.
    """

    side_sets: Ints  # (P + 1,), where the sets of each side start
    side_sequences: Ints  # (P + 1,), and its sequences
    parents: Ints  # (I,), the sequence that leads to a set
    firsts: Ints  # (I,), the sequence of its first action
    counts: Ints  # (I,), its actions
    ends: npt.NDArray[np.int32]  # (E, P), the sequences that lead to an end
    chances: Floats  # (E,), how likely the cards are with which it comes
    chips: Floats  # (E, P), what it brings each side, times its chance


class Places(NamedTuple):
    """Where information sets are met, and what their sequences do."""

    keys: npt.NDArray[np.uint64]  # (I,), what the side has seen, hashed
    seats: Ints  # (I,), who is to move
    deals: Ints  # (I,), number of a deal
    starts: Ints  # (I,), where the moves start that lead to the set in that deal
    lengths: Ints  # (I,), and how many they are
    moves: npt.NDArray[np.uint8]  # (M,), actions
    actions: npt.NDArray[np.uint8]  # (S,), what a sequence does there; 255: an empty sequence


class _Room(NamedTuple):
    """What has been found so far, with room for more."""

    used: Ints  # (4,), sets, sequences, ends and moves
    slots: Ints  # (a power of 2,), by key: a set, -1: none
    keys: npt.NDArray[np.uint64]  # (I,), what the side has seen, hashed
    sides: npt.NDArray[np.int32]  # (I,)
    parents: npt.NDArray[np.int32]
    firsts: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    alike: npt.NDArray[np.int32]  # (I,), sets that differ in nothing but the names of the suits
    seats: npt.NDArray[np.int32]
    deals: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    actions: npt.NDArray[np.uint8]  # (S,)
    ends: npt.NDArray[np.int32]  # (E, P)
    chances: Floats  # (E,)
    chips: Floats  # (E, P)
    moves: npt.NDArray[np.uint8]  # (M,)

    @staticmethod
    def of(sets: int, sequences: int, ends: int, moves: int, num_sides: int) -> "_Room":
        """Return room for so many of each, empty but for the empty sequences."""

        def of_sets() -> npt.NDArray[np.int32]:
            return np.zeros(sets, np.int32)

        return _Room(
            used=np.array([0, num_sides, 0, 0]),
            slots=np.full(2 << sets.bit_length(), -1),
            keys=np.zeros(sets, np.uint64),
            sides=of_sets(),
            parents=of_sets(),
            firsts=of_sets(),
            counts=of_sets(),
            alike=of_sets(),
            seats=of_sets(),
            deals=of_sets(),
            starts=of_sets(),
            lengths=of_sets(),
            actions=np.full(sequences, _NO_ACTION, np.uint8),
            ends=np.zeros((ends, num_sides), np.int32),
            chances=np.zeros(ends),
            chips=np.zeros((ends, num_sides)),
            moves=np.zeros(moves, np.uint8),
        )

    def more(self) -> "_Room":
        """Return the same with more room: twice as much of what is mostly used."""
        rooms: tuple[Array, ...] = (self.keys, self.actions, self.ends, self.moves)
        sets, sequences, ends, moves = (
            len(room) * (2 if 2 * used > len(room) else 1)
            for room, used in zip(rooms, self.used.tolist(), strict=True)
        )
        room = _Room.of(sets, sequences, ends, moves, self.ends.shape[1])
        for name in set(self._fields) - {"slots"}:
            old: Array = getattr(self, name)
            getattr(room, name)[: len(old)] = old
        _enter_keys(room)
        return room


@kernel
def _slot(room, key):
    """Return where a key stands in the hash table, or where it could."""
    slot = np.int64(key >> _U(1)) & (len(room.slots) - 1)
    while room.slots[slot] >= 0 and room.keys[room.slots[slot]] != key:
        slot = (slot + 1) & (len(room.slots) - 1)
    return slot


@subroutine
def _enter_keys(room):
    for number in range(room.used[0]):
        room.slots[_slot(room, room.keys[number])] = number


class _Viewer(NamedTuple):
    """How what a seat sees becomes numbers, one for each way to name the suits."""

    views: npt.NDArray[np.void]  # `Layout.new_view`, scratch
    entries: npt.NDArray[np.void]  # ENTRY (K,)
    order: int  # where the cards in the order of play start; they are the last entries
    turns: Ints  # (T,), orders of the suits, as of `nap_env.agents.features`


class _Path(NamedTuple):
    """The moves from the start of a deal to where the walk is now: a row for each decision."""

    games: npt.NDArray[np.void]  # GAME (D,)
    seen: npt.NDArray[np.uint64]  # (D, P, T), what each side has seen at its turns, by its names
    sequences: Ints  # (D, P), what each side has done
    chances: Floats  # (D,)
    actions: Ints  # (D, NUM_ACTIONS), what can be done
    names: Ints  # (D, NUM_ACTIONS), as the side calls it
    into: Ints  # (D, NUM_ACTIONS), the sequence that it is part of
    shares: Floats  # (D, NUM_ACTIONS), and how much of it
    left: Ints  # (D,), how many of these have still to be walked


@subroutine
def _begin(games, table, base, packs, deal):
    """Deal pack number `deal`."""
    g = games[0]
    games[0] = base[0]
    for k in range(packs.shape[1]):
        g["pack"][k] = packs[deal, k]
    open_deal(g, table[0])


@subroutine
def _act(games, at, table, action):
    """Let the seat to move take an action; compiled once, not at each of its places."""
    step(games[at], table[0], action)


@subroutine
@wrapping
def _see(g, rules, seat, viewer, seen):
    """Add what a seat sees to what its side has seen, `seen` uint64 (T,)."""
    view, turns = viewer.views[0], viewer.turns
    observe(g, rules, seat, view)
    for t in range(len(turns)):
        seen[t] = mix(seen[t] + _U(seat + 1))
    for plane in range(view["num_planes"]):
        bits = view["planes"][plane]
        while bits != 0:
            entry = viewer.entries[WORD * plane + lowest_bit(bits)]
            bits &= bits - 1
            for t in range(len(turns)):
                place = np.int64(entry["place"])
                if entry["suit"] >= 0:
                    place += entry["step"] * turned_suit(turns[t], np.int64(entry["suit"]))
                seen[t] += mix(_U(place + 1))
    first = WORD * view["num_planes"]
    for index in range(first, len(viewer.entries)):
        number = index - first
        value = lane(view["scalars"][number >> 3], number & 7)
        is_card = index >= viewer.order
        if value == (_NO_CARD if is_card else 0):
            continue
        for t in range(len(turns)):
            told = turned_action(turns[t], value) if is_card else value
            seen[t] += mix(_U(index << 8 | told))


@kernel
def _name_actions(path, at, viewer, seen, key):
    """Write the legal actions by the least name of what the side has seen; return their number."""
    g = path.games[at]
    count = popcount(g["legal"]) + popcount(g["legal_bids"])
    for k in range(count):
        action = legal_action(g, np.int64(k))
        name = np.int64(NUM_ACTIONS)
        for t in range(len(seen)):
            if seen[t] == key:
                name = min(name, turned_action(viewer.turns[t], action))
        path.actions[at, k] = action
        path.names[at, k] = name
    return count


@kernel
def _is_first(names, k):
    """Return whether a name stands at no place before."""
    is_first = True
    for other in range(k):
        is_first = is_first and names[other] != names[k]
    return is_first


@kernel
def _enter(room, path, at, viewer, side, deal):
    """Find or enter the information set of a decision, and write what can be done there.

    Returns:
        Whether there was room.
    """
    seen = path.seen[at, side]
    key = seen.min()
    count = _name_actions(path, at, viewer, seen, key)
    names = path.names[at]
    slot = _slot(room, key)
    number = room.slots[slot]
    is_new = number < 0
    used = room.used
    if is_new:
        number = used[0]
        if not _has_room(room, count, path.games[at]["num_events"]):
            return False
        room.slots[slot] = number
        room.firsts[number] = used[1]
        _note_set(room, path.games[at], number, deal)
        room.keys[number] = key
        room.sides[number] = side
        room.parents[number] = path.sequences[at, side]
        room.alike[number] = len(seen) // (seen == key).sum()
        used[0] += 1
    for k in range(count):
        alike = np.int64(0)
        place = np.int64(0)  # among the different names
        for other in range(count):
            alike += np.int64(names[other] == names[k])
            if names[other] < names[k]:
                place += np.int64(_is_first(names, other))
        sequence = room.firsts[number] + place
        path.into[at, k] = sequence
        path.shares[at, k] = 1 / alike
        if is_new and _is_first(names, k):
            room.actions[sequence] = path.actions[at, k]
            used[1] = max(used[1], sequence + 1)
    if is_new:
        room.counts[number] = used[1] - room.firsts[number]
    path.left[at] = count
    return True


@kernel
def _has_room(room, actions, moves):
    """Return whether a set with so many actions fits, so many moves from the start."""
    used = room.used
    return (
        used[0] < len(room.keys)
        and used[1] + actions <= len(room.actions)
        and used[3] + moves <= len(room.moves)
    )


@kernel
def _note_set(room, g, number, deal):
    """Keep how an information set is met."""
    room.seats[number] = g["seat"]
    room.deals[number] = deal
    room.starts[number] = room.used[3]
    room.lengths[number] = g["num_events"]
    for k in range(g["num_events"]):
        room.moves[room.used[3] + k] = np.int64(g["events"][k]) % EVENT_SEAT
    room.used[3] += g["num_events"]


@kernel
def _end(room, path, at, sides):
    """Enter what the end of a deal brings; return whether there was room."""
    end = room.used[2]
    if end == len(room.ends):
        return False
    room.used[2] += 1
    room.chances[end] = path.chances[at]
    for side in range(len(room.ends[end])):
        room.ends[end, side] = path.sequences[at, side]
        room.chips[end, side] = 0
    for seat in range(len(sides)):
        room.chips[end, sides[seat]] += path.chances[at] * reward_of(path.games[at], seat)
    return True


@subroutine
def _go_on(room, path, at, table, viewer, sides, deal):
    """Play what is forced, up to a decision or the end; return whether there was room."""
    g = path.games[at]
    path.left[at] = 0
    while g["phase"] != OVER:
        side = sides[g["seat"]]
        for seat in range(len(sides)):
            if sides[seat] == side:
                _see(g, table[0], np.int64(seat), viewer, path.seen[at, side])
        action = only_action(g)
        if action < 0:
            return _enter(room, path, at, viewer, side, deal)
        _act(path.games, at, table, action)
    return _end(room, path, at, sides)


@subroutine
def _walk_deal(room, path, table, viewer, sides, deal):
    """Walk what begins at `path.games[0]`; return whether there was room."""
    at = np.int64(0)
    if not _go_on(room, path, at, table, viewer, sides, deal):
        return False
    while at >= 0:
        if path.left[at] == 0:
            at -= 1
            continue
        path.left[at] -= 1
        k = path.left[at]
        side = sides[path.games[at]["seat"]]
        path.games[at + 1] = path.games[at]
        path.seen[at + 1] = path.seen[at]
        path.sequences[at + 1] = path.sequences[at]
        path.sequences[at + 1, side] = path.into[at, k]
        path.chances[at + 1] = path.chances[at] * path.shares[at, k]
        at += 1
        _act(path.games, at, table, path.actions[at - 1, k])
        if not _go_on(room, path, at, table, viewer, sides, deal):
            return False
    return True


@subroutine
def _walk(room, path, table, viewer, sides, base, packs, chances, first, last):
    """Walk deals number `first` up to `last`; return the first one for which there was no room."""
    for deal in range(first, last):
        _begin(path.games, table, base, packs, deal)
        for side in range(path.sequences.shape[1]):
            path.sequences[0, side] = side
        path.seen[0] = 0
        path.chances[0] = chances[deal]
        ends = room.used[2]
        if not _walk_deal(room, path, table, viewer, sides, deal):
            room.used[2] = ends  # what else has been entered is found again
            return deal
    return last


@subroutine
def _replay(games, table, base, packs, places, rows):
    """Write games that stand where the information sets `rows` are met."""
    for i in range(len(rows)):
        row = rows[i]
        _begin(games[i : i + 1], table, base, packs, places.deals[row])
        start = places.starts[row]
        for k in range(start, start + places.lengths[row]):
            _act(games, i, table, np.int64(places.moves[k]))


@subroutine
def _sample(games, table, base, packs):
    """Play deals by chance; return how many decisions and information sets one may have.

    A decision on the way stands for as many as there were ways to go elsewhere before it; and in a
    set are as many decisions as there are ways to deal what its seat does not see.
    """
    decisions = 0.0
    sets = 0.0
    g = games[0]
    for deal in range(len(packs)):
        _begin(games, table, base, packs, deal)
        ways = 1.0
        while g["phase"] != OVER:
            count = popcount(g["legal"]) + popcount(g["legal_bids"])
            if count > 1:
                decisions += ways
                sets += ways / _unseen(g, table[0])
                ways *= count
            _act(games, 0, table, random_action(g))
    return decisions / len(packs), sets / len(packs)


@kernel
def _unseen(g, rules):
    """Return in how many ways the cards that the seat to move does not see can lie."""
    cards = rules["pack_size"]
    for seat in range(rules["num_players"]):
        cards -= popcount(g["seen"][seat] & ((np.int64(1) << NUM_CARDS) - 1))
    cards -= popcount(g["hand"][g["seat"]])
    ways = 1.0
    for seat in range(rules["num_players"]):
        if seat != g["seat"]:
            for k in range(popcount(g["hand"][seat])):
                ways *= cards / (k + 1)
                cards -= 1
    return ways


def _draws_from_stock(rules: Rules) -> bool:
    return rules.buy or rules.draw != "none"


def knows_suits(rules: Rules) -> bool:
    """Return whether a rule tells one suit from another: cards are marked by increasing id."""
    marks = rules.buy or rules.draw == "maker_then_opponents" or rules.widow == "garnet"
    return marks or rules.discard_to is not None


def _parts(rules: Rules, num_players: int) -> list[int]:
    """Return how many cards are dealt to each hand, and to the table."""
    return [rules.hand_size] * rules.hands(num_players) + [rules.widow_cards]


def num_deals(rules: Rules, num_players: int) -> int:
    """Return the number of different deals, the dealer given."""
    left = int(rules_table(rules, num_players)["pack_size"][0])
    deals = 1
    for size in _parts(rules, num_players):
        deals *= math.comb(left, size)
        left -= size
    return deals * math.factorial(left) if _draws_from_stock(rules) else deals


def every_deal(rules: Rules, num_players: int) -> npt.NDArray[np.int8]:
    """Return all deals as packs, int8 (D, C): hands from the dealer's left, widow, stock."""
    table = rules_table(rules, num_players)[0]
    rest = table["pack"][None, : table["pack_size"]]
    dealt = rest[:, :0]
    for size in _parts(rules, num_players):
        places = range(rest.shape[1])
        chosen = np.array([*itertools.combinations(places, size)], np.int64)  # (ways, size)
        others = np.array([[k for k in places if k not in each] for each in chosen], np.int64)
        taken = rest[:, chosen].reshape(len(rest) * len(chosen), size)
        dealt = np.concatenate([np.repeat(dealt, len(chosen), 0), taken], 1)
        rest = rest[:, others].reshape(len(dealt), len(places) - size)
    if _draws_from_stock(rules):
        orders = np.array([*itertools.permutations(range(rest.shape[1]))], np.int64)
        dealt = np.repeat(dealt, len(orders), 0)
        rest = rest[:, orders].reshape(len(dealt), rest.shape[1])
    return np.concatenate([dealt, rest], 1)


def suit_turns(rules: Rules) -> Ints:
    """Return the orders of the suits that no rule tells apart, the given one first."""
    if knows_suits(rules):
        return np.array([AS_THEY_ARE])
    above = AS_THEY_ARE >> (2 * rules.suits) << (2 * rules.suits)
    return np.array(
        [
            above | sum(place << (2 * suit) for suit, place in enumerate(places))
            for places in itertools.permutations(range(rules.suits))
        ]
    )


def different(
    packs: npt.NDArray[np.int8], parts: Sequence[int], turns: Ints
) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return one of all deals that differ in the names of the suits only, and their chances.

    Args:
        packs: int8 (D, C), all deals.
        parts: cards in each hand, on the table, and below, whose order does not matter.
        turns: the orders of the suits.
    """
    stays = np.zeros(len(packs), np.int64)
    is_least = np.ones(len(packs), np.bool_)
    for turn in turns:
        turned = np.array([turned_action(turn, card) for card in range(NUM_CARDS)], np.int8)[packs]
        at = 0
        for size in parts:
            turned[:, at : at + size].sort(1)
            at += size
        change = turned - packs
        first = np.take_along_axis(change, (change != 0).argmax(1)[:, None], 1)[:, 0]
        stays += first == 0
        is_least &= first >= 0
    return packs[is_least], len(turns) / stays[is_least] / len(packs)


class Size(NamedTuple):
    """How large a game is, or may be."""

    deals: int
    decisions: int  # in all deals
    information_sets: int  # with a choice


class SmallGame:
    """All of a game of one deal, for given sides.

    Attributes:
        rules: the rules.
        num_players: seats at the table; seat 0 speaks first.
        sides: int64 (num_players,), the side of each seat.
        size: what there is, all suits told apart.
        tree: the game as kernels take it.
        places: where its information sets are met.
    """

    def __init__(
        self,
        rules: Rules,
        num_players: int,
        sides: Sequence[int] | None = None,
        *,
        fold: bool = True,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Walk the whole game.

        Args:
            rules: the rules.
            num_players: players at the table.
            sides: of each seat, from 0 on; by default each is one of its own.
            fold: walk deals once that differ in nothing but the names of suits, as far as the
                rules allow it. What plays the suits differently needs them all.
            say: is told how far it is, often.

        Raises:
            ValueError: the game is too large, or a match is more than one deal.
        """
        if rules.deals != 1:
            raise ValueError(f"deals={rules.deals}: a match of 1 deal can be walked as a whole")
        self.size = estimate(rules, num_players)
        turns = suit_turns(rules) if fold else suit_turns(rules)[:1]
        if self.size.deals > MOST_DEALS or self.size.decisions > MOST_DECISIONS * len(turns):
            raise ValueError(
                f"{rules.name} with {num_players} players is too large to be walked as a whole: "
                f"{self.size.deals:.3g} deals, about {self.size.decisions:.0e} decisions in all of "
                f"them, in {self.size.information_sets:.0e} information sets"
            )
        self.rules, self.num_players = rules, num_players
        self.sides = np.array(range(num_players) if sides is None else sides)
        self._table, self._base = rules_table(rules, num_players), _base(rules, num_players)
        packs = every_deal(rules, num_players)
        deals = len(packs)
        parts = _parts(rules, num_players)
        if not _draws_from_stock(rules):
            parts.append(packs.shape[1] - sum(parts))
        self._packs, chances = different(packs, parts, turns)
        room = self._walk(turns, chances, say)
        self.size = Size(deals, self.size.decisions, int(room.alike[: room.used[0]].sum()))
        self.tree, self.places = _in_order(room)

    def _walk(self, turns: Ints, chances: Floats, say: Callable[[str], None]) -> _Room:
        """Walk the deals and return what there is."""
        num_sides = int(self.sides.max()) + 1
        seen = layout(self.rules, self.num_players)
        viewer = _Viewer(seen.new_view(), entries(seen), seen.slice("order").start, turns)
        deepest = MAX_EVENTS + 1
        path = _Path(
            games=new_games(deepest),
            seen=np.zeros((deepest, num_sides, len(turns)), np.uint64),
            sequences=np.zeros((deepest, num_sides), np.int64),
            chances=np.zeros(deepest),
            actions=np.zeros((deepest, NUM_ACTIONS), np.int64),
            names=np.zeros((deepest, NUM_ACTIONS), np.int64),
            into=np.zeros((deepest, NUM_ACTIONS), np.int64),
            shares=np.zeros((deepest, NUM_ACTIONS)),
            left=np.zeros(deepest, np.int64),
        )
        room = _Room.of(1 << 12, 1 << 13, 1 << 14, 1 << 15, num_sides)
        walked = 0
        while walked < len(chances):
            last = min(walked + DEALS_AT_ONCE, len(chances))
            done = int(
                _walk(
                    room, path, self._table, viewer, self.sides, self._base, self._packs, chances,
                    walked, last,
                )
            )  # fmt: skip
            if done < last:
                room = room.more()
            walked = done
            say(f"{self.rules.name}: {walked:,} of {len(chances):,} deals walked")
        return room

    def games(self, rows: Ints) -> npt.NDArray[np.void]:
        """Return games that stand where the information sets `rows` are met, GAME (n,)."""
        games = new_games(len(rows))
        _replay(games, self._table, self._base, self._packs, self.places, rows)
        return games

    def hands(self) -> Ints:
        """Return what the seat to move was dealt in each information set, masks int64 (I,)."""
        size, players = self.rules.hand_size, self.num_players
        dealer = int(self._base["dealer"][0])
        place = (self.places.seats - dealer - 1) % players  # of the hand in the pack
        cards = self._packs[
            self.places.deals[:, None], place[:, None] * size + np.arange(size)
        ].astype(np.int64)
        hands: Ints = (1 << cards).sum(1)
        return hands


def _base(rules: Rules, num_players: int) -> npt.NDArray[np.void]:
    """Return GAME (1,) to which any pack can be dealt; seat 0 speaks first."""
    table = rules_table(rules, num_players)[0]
    game = Game(rules, num_players, seed=0)
    game.set_up(dealer=0 if table["dealer_first"] else num_players - 1)
    game.games["pool"] = game.games["first_pool"]
    return game.games


def estimate(rules: Rules, num_players: int) -> Size:
    """Return about how large a game is, from random deals; the number of deals is exact."""
    base, table = _base(rules, num_players), rules_table(rules, num_players)
    deals = num_deals(rules, num_players)
    random = np.random.default_rng(0)
    pack = table[0]["pack"][: table[0]["pack_size"]]
    packs = random.permuted(np.tile(pack, (SAMPLES, 1)), axis=1)
    decisions, sets = _sample(new_games(1), table, base, packs)
    return Size(deals, int(deals * decisions), int(deals * sets))


def is_small(rules: Rules, num_players: int, most: int) -> bool:
    """Return whether a match is one deal, with about so many decisions in all deals at most."""
    few_deals = rules.deals == 1 and num_deals(rules, num_players) <= MOST_DEALS
    return few_deals and estimate(rules, num_players).decisions <= most


def _in_order(room: _Room) -> tuple[Tree, Places]:
    """Return what has been found, side by side, ends with the same sequences as one."""
    num_sets, num_sequences, num_ends, num_moves = room.used.tolist()
    num_sides = room.ends.shape[1]
    sides, firsts, counts = (each[:num_sets] for each in (room.sides, room.firsts, room.counts))
    order = np.argsort(sides, kind="stable")  # (I,)
    side_of = np.concatenate([np.arange(num_sides), np.repeat(sides, counts)])  # (S,)
    sequences = np.argsort(side_of, kind="stable")  # (S,), the empty one first on each side
    number = np.empty(num_sequences, np.int64)
    number[sequences] = np.arange(num_sequences)
    ends = number[room.ends[:num_ends]]
    by_sequence = np.lexsort(ends.T[::-1])
    ends = ends[by_sequence]
    starts = np.flatnonzero(np.r_[True, (ends[1:] != ends[:-1]).any(1)])
    tree = Tree(
        side_sets=np.searchsorted(sides[order], np.arange(num_sides + 1)),
        side_sequences=np.searchsorted(side_of[sequences], np.arange(num_sides + 1)),
        parents=number[room.parents[order]],
        firsts=number[firsts[order]],
        counts=counts[order].astype(np.int64),
        ends=ends[starts].astype(np.int32),
        chances=np.add.reduceat(room.chances[by_sequence], starts),
        chips=np.add.reduceat(room.chips[by_sequence], starts),
    )
    places = Places(
        keys=room.keys[order],
        seats=room.seats[order].astype(np.int64),
        deals=room.deals[order].astype(np.int64),
        starts=room.starts[order].astype(np.int64),
        lengths=room.lengths[order].astype(np.int64),
        moves=room.moves[:num_moves],
        actions=room.actions[sequences],
    )
    return tree, places
