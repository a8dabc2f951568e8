"""Players that solve open deals: `pimc-K`, perfect information Monte Carlo, and `omniscient`.

pimc-K deals K worlds that agree with all that its seat knows (`nap_env.agents.worlds`), solves
each of them double dummy (`nap_env.solver`) and takes what is best on average. It reads nothing
that is hidden; omniscient does: it does the same in one world, the true deal. What either can win
there it can win against opponents who see all cards, so that neither is a bluffer.

In the play the average is over the chips of each card, then over the tricks; of cards that are
still equal the lowest is played. A call is worth what it is expected to bring, in chips of the
caller, pool included:

* a bid, the contract played by the caller. Trumps are chosen before averaging, and so is the
  opening lead where it is not free: the caller, too, sees only his own hand. That later players
  may bid more is left out;
* a pass, and declining, the standing contract played by its bidder, who chooses the best trumps
  in each world; nothing, if there is no bid, unless the rules impose one.

A world that the solver gives up (`NODE_CAP`) is left out.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from nap_env.actions import DECLINE, FIRST_BID, NUM_BIDS, PASS
from nap_env.actions import HOLD as HOLD_ACTION
from nap_env.agents.worlds import KNOWLEDGE, deal_world, know
from nap_env.batch import Batch
from nap_env.cards import JOKER, NUM_RANKS, NUM_SUITS
from nap_env.engine.kernel import subroutine
from nap_env.engine.play import begin_play
from nap_env.engine.settle import settle
from nap_env.engine.state import AUCTION, HOLD, NAME, PLAY, new_games, next_hand
from nap_env.engine.step import is_legal, only_action, random_action
from nap_env.rules import LEAD_ANY, MAX_HAND, TRUMPS_LED, Rules, rules_table
from nap_env.solver import (
    MADE,
    NO_VALUE,
    PRICE,
    TRICKS,
    new_work,
    solve_actions,
    solve_position,
    solve_suits,
)

NODE_CAP = 100_000
"""Most nodes of one question to the solver."""

_WORLD, _SPARE = range(2)

_I8 = np.int64
TALLY = np.dtype(
    [
        ("worlds", _I8),  # solved
        ("chips", _I8, FIRST_BID),  # by card or suit name, summed over the worlds: of the contract,
        ("tricks", _I8, FIRST_BID),  # and what the solver counts as tricks
        ("suit_tricks", _I8, (NUM_SUITS, MAX_HAND + 1)),  # worlds in which a suit takes so many
        ("led", _I8, (NUM_BIDS, FIRST_BID)),  # worlds in which a contract is made after a lead
        ("standing", _I8, MAX_HAND + 1),  # worlds in which the standing bidder takes so many
    ],
    align=True,
)
"""What has been found in the worlds of one decision."""


@subroutine
def _next_world(g, rules, knowledge, games, worlds):
    """Make the next world, unless there is only the true one."""
    if worlds > 0:
        deal_world(g, rules, knowledge, games[_WORLD])


@subroutine
def _best_card(w, g, rules, knowledge, games, worlds, tally):
    """Return the card to play, or the suit to name."""
    draws = g["draws"]
    _count_values(w, g, rules, knowledge, games, worlds, np.int64(PRICE), tally["chips"], tally)
    side = np.int64(1) if g["seat"] == g["declarer"] else np.int64(-1)
    best = np.int64(-1)
    ties = np.int64(0)
    for action in range(FIRST_BID):
        if tally["chips"][action] <= NO_VALUE:
            continue
        if best < 0 or side * tally["chips"][action] > side * tally["chips"][best]:
            best = np.int64(action)
            ties = np.int64(0)
        elif tally["chips"][action] == tally["chips"][best]:
            ties += np.int64(1)
    if ties == 0:
        return best
    g["draws"] = draws  # the same worlds again
    _count_values(w, g, rules, knowledge, games, worlds, np.int64(TRICKS), tally["tricks"], tally)
    best_chips = tally["chips"][best]
    for action in range(FIRST_BID):
        if tally["chips"][action] == best_chips:
            more = side * (tally["tricks"][action] - tally["tricks"][best])
            if more > 0 or (more == 0 and _height(g, action) < _height(g, best)):
                best = np.int64(action)
    return best


@subroutine
def _height(g, action):
    """Return a number that orders cards by what they are worth keeping for."""
    if action >= JOKER:
        return action
    trump = (g["trumps"] >> action) & 1
    return NUM_RANKS * trump + action % NUM_RANKS


@subroutine
def _count_values(w, g, rules, knowledge, games, worlds, count, sums, tally):
    """Add up what each action is worth in the worlds; NO_VALUE or below where it is not legal."""
    tally["worlds"] = 0
    for action in range(FIRST_BID):
        sums[action] = 0
    for _ in range(max(worlds, 1)):
        _next_world(g, rules, knowledge, games, worlds)
        solve_actions(w, games[_WORLD], rules, count)
        if w["capped"] == 0:
            tally["worlds"] += 1
            for action in range(FIRST_BID):
                sums[action] += w["values"][action]


@subroutine
def _chips(games, g, rules, seat, bid, tricks):
    """Return the chips that the seat to move gets if `seat` takes `tricks` in a contract."""
    games[_SPARE] = g
    spare = games[_SPARE]
    spare["declarer"] = seat
    spare["contract"] = bid
    settle(spare, rules, tricks, np.int64(-1))
    return spare["payments"][g["seat"]] - g["payments"][g["seat"]]


@subroutine
def _is_plain(rules, bid):
    """Return whether a contract asks for tricks under trumps that a free lead fixes."""
    return (
        rules["most"][bid] == rules["num_tricks"]
        and rules["trumps"][bid] == TRUMPS_LED
        and rules["lead"][bid] == LEAD_ANY
    )


@subroutine
def _set_contract(games, rules, seat, bid):
    """Copy the world and let a seat be about to play a contract in it."""
    games[_SPARE] = games[_WORLD]
    spare = games[_SPARE]
    spare["declarer"] = seat
    spare["contract"] = bid
    begin_play(spare, rules)


@subroutine
def _missed(rules, bid):
    """Return tricks with which a contract that is no plain one is lost."""
    if rules["most"][bid] < rules["num_tricks"]:
        return rules["most"][bid] + 1
    return rules["fewest"][bid] - 1


@subroutine
def _count_own(w, g, rules, games, bids, tally):
    """Count what the seat to move can do as declarer in a world; return whether it is solved."""
    me = g["seat"]
    solve_suits(w, games[_WORLD], rules, me)
    if w["capped"] != 0:
        return False
    for suit in range(NUM_SUITS):
        if w["suit_tricks"][suit] >= 0:
            tally["suit_tricks"][suit, w["suit_tricks"][suit]] += 1
    for bid in range(NUM_BIDS):
        if (bids >> bid) & 1 == 0 or _is_plain(rules, bid):
            continue
        _set_contract(games, rules, me, bid)
        solve_actions(w, games[_SPARE], rules, np.int64(MADE))
        if w["capped"] != 0:
            return False
        for action in range(FIRST_BID):
            tally["led"][bid, action] += w["values"][action]
    return True


@subroutine
def _count_standing(w, rules, games, seat, bid, tally):
    """Count what the standing bidder takes in a world; return whether it is solved."""
    if _is_plain(rules, bid):
        solve_suits(w, games[_WORLD], rules, seat)
        tricks = np.int64(0)
        for suit in range(NUM_SUITS):
            tricks = max(tricks, w["suit_tricks"][suit])
    else:
        _set_contract(games, rules, seat, bid)
        made = solve_position(w, games[_SPARE], rules, np.int64(MADE))
        tricks = rules["fewest"][bid] if made == 1 else _missed(rules, bid)
    if w["capped"] != 0:
        return False
    tally["standing"][tricks] += 1
    return True


@subroutine
def _bid_chips(games, g, rules, bid, tally):
    """Return what a contract of the seat to move brings in the tallied worlds together."""
    me = g["seat"]
    best = np.int64(NO_VALUE)
    if _is_plain(rules, bid):
        for suit in range(NUM_SUITS):
            chips = np.int64(0)
            solved = np.int64(0)
            for tricks in range(rules["num_tricks"] + 1):
                worlds = tally["suit_tricks"][suit, tricks]
                if worlds > 0:
                    chips += worlds * _chips(games, g, rules, me, bid, np.int64(tricks))
                    solved += worlds
            if solved > 0:
                best = max(best, chips)
        return best
    won = _chips(games, g, rules, me, bid, rules["fewest"][bid])
    lost = _chips(games, g, rules, me, bid, _missed(rules, bid))
    for action in range(FIRST_BID):
        made = tally["led"][bid, action]
        if made >= 0:
            best = max(best, made * won + (tally["worlds"] - made) * lost)
    return best


@subroutine
def _best_call(w, g, rules, knowledge, games, worlds, tally):
    """Return the bid, or the pass, hold or decline, that is expected to bring most."""
    bids = g["legal_bids"]
    if is_legal(g, np.int64(HOLD_ACTION)):
        bids |= np.int64(1) << g["contract"]
    tally["worlds"] = 0
    for tricks in range(MAX_HAND + 1):
        tally["standing"][tricks] = 0
        for suit in range(NUM_SUITS):
            tally["suit_tricks"][suit, tricks] = 0
    for bid in range(NUM_BIDS):
        for action in range(FIRST_BID):
            tally["led"][bid, action] = 0
    bidder = g["declarer"]
    standing = g["contract"]
    if standing < 0 and rules["imposed_bid"] >= 0:
        standing = rules["imposed_bid"]
        bidder = next_hand(g, rules, g["dealer"])
    for _ in range(max(worlds, 1)):
        _next_world(g, rules, knowledge, games, worlds)
        solved = _count_own(w, g, rules, games, bids, tally)
        if solved and standing >= 0:
            solved = _count_standing(w, rules, games, bidder, standing, tally)
        if solved:
            tally["worlds"] += 1
    best = np.int64(-1)
    best_chips = np.int64(0)
    if g["legal"] != 0:  # declining or passing
        best = np.int64(DECLINE if g["phase"] == HOLD else PASS)
        for tricks in range(rules["num_tricks"] + 1):
            if tally["standing"][tricks] > 0:
                chips = _chips(games, g, rules, bidder, standing, np.int64(tricks))
                best_chips += tally["standing"][tricks] * chips
    for bid in range(NUM_BIDS):
        if (bids >> bid) & 1:
            chips = _bid_chips(games, g, rules, bid, tally)
            if best < 0 or chips > best_chips:
                best_chips = chips
                best = np.int64(FIRST_BID + bid)
    if g["phase"] == HOLD and best == FIRST_BID + g["contract"]:
        best = np.int64(HOLD_ACTION)
    return best


@subroutine
def _choose(w, g, rules, knowledge, games, worlds, tally):
    """Return what the seat to move does."""
    action = only_action(g)
    if action >= 0:
        return action
    w["generation"] += 1  # nothing that was solved for another game may help, or answers would vary
    games[_WORLD] = g
    know(g, rules, knowledge)
    if g["phase"] == PLAY or g["phase"] == NAME:
        return _best_card(w, g, rules, knowledge, games, worlds, tally)
    if g["phase"] == AUCTION or g["phase"] == HOLD:
        return _best_call(w, g, rules, knowledge, games, worlds, tally)
    return random_action(g)


@subroutine
def _choose_rows(work, all_games, table, rows, knowledge, games, worlds, tallies, actions):
    for k in range(len(rows)):
        actions[k] = _choose(
            work[0], all_games[rows[k]], table[0], knowledge[0], games, worlds, tallies[0]
        )


class Pimc:
    """A player that solves K worlds a decision, or the true deal; belongs to one thread."""

    def __init__(self, rules: Rules, num_players: int, worlds: int) -> None:
        """Set the player up.

        Args:
            rules: the rules of the games it will be asked about.
            num_players: players at their tables.
            worlds: K, worlds a decision; 0 for the true deal alone.
        """
        self._table = rules_table(rules, num_players)
        self._worlds = worlds
        self._scratch: tuple[npt.NDArray[np.void], ...] | None = None

    def __call__(self, games: Batch, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Choose an action in each of some games, see `Agent`."""
        if self._scratch is None:
            self._scratch = (
                new_work(NODE_CAP),
                np.zeros(1, KNOWLEDGE),
                new_games(2),
                np.zeros(1, TALLY),
            )
        work, knowledge, scratch, tally = self._scratch
        actions = np.empty(len(rows), np.int64)
        rows = np.asarray(rows, np.int64)
        _choose_rows(
            work,
            games.games,
            self._table,
            rows,
            knowledge,
            scratch,
            np.int64(self._worlds),
            tally,
            actions,
        )
        return actions

    def __getstate__(self) -> dict[str, Any]:
        """Leave the scratch behind: it is large, and no answer depends on what is in it."""
        return self.__dict__ | {"_scratch": None}
