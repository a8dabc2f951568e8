"""Players that solve open deals: `pimc-K`, perfect information Monte Carlo, and `omniscient`.

pimc-K deals K worlds that agree with all that its seat knows (`nap_env.agents.worlds`), solves
each of them double dummy (`nap_env.solver`) and takes what is best on average. It reads nothing
that is hidden; omniscient does: it does the same in one world, the true deal. pimc-inference-K
refuses worlds, as long as its patience lasts, in which the heuristic would have called otherwise
than the others have; where hands are exchanged it plays like pimc-K.

A few worlds are a small sample, and the best of several averages is the luckiest one, too. So
the heuristic's own choice has an advantage (`CALL_DOUBT`, `CARD_DOUBT`) that shrinks, as the error
of an average does, with the square root of K: the player departs from the heuristic where the
worlds speak clearly. Without it pimc-20 was no stronger than the heuristic.

In the play the average is over the chips that each card brings, then over the tricks; of cards
that are still equal the lowest is played.

Before the play each legal action is tried: in each world the heuristic acts for everybody up to
the opening lead, and the contract that this leads to is solved. So a pass costs what others will
make of it, and a bid may be overbid. The caller's own contract is worth what its best trumps
bring, or its best opening lead where that is not free: they are chosen before averaging, as the
caller has to choose by his own hand alone. Where cards are still to come that he will see first,
the heuristic chooses for him. Chips are those of the settlement, pool and fees included; in the
play the solver's price. The solver's defenders see all cards. Real ones do not, for which a call
allows by `GIFTS`, the play does not.

A world that the solver gives up (`NODE_CAP`) is left out; if all are, the heuristic chooses.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nap_env.actions import FIRST_BID, FIRST_SUIT, NUM_ACTIONS
from nap_env.agents.agent import Ints, SeatedAgent
from nap_env.agents.heuristic import choose
from nap_env.agents.worlds import CARDS, KNOWLEDGE, deal_world, know
from nap_env.cards import JOKER, NUM_RANKS, NUM_SUITS
from nap_env.engine.kernel import subroutine
from nap_env.engine.settle import settle
from nap_env.engine.state import (
    AUCTION,
    EVENT_SEAT,
    NAME,
    OVER,
    PLAY,
    lowest_bit,
    new_games,
    next_hand,
)
from nap_env.engine.step import is_legal, only_action, open_deal, step
from nap_env.rules import LEAD_ANY, TRUMPS_LED, Rules
from nap_env.solver import (
    MADE,
    NEAR,
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

GIFTS = 25
"""Deals in a hundred in which defenders who do not see all cards give the declarer a trick."""

CALL_DOUBT, CARD_DOUBT = 6, 3
"""Chips from each opponent, at a stake of 1, that the heuristic's choice is worth more, times the
square root of 1 / K: before the play, and in it. Out of 0, 0.7, 1.5, 3 and 6 by 0, 3, 6 and 10,
tried in `standard` with 4 and 5 players."""

MOST_WORLDS = 1 << 20
"""Largest K: sums over the worlds of whatever an action can be worth fit in 64 bits."""

_WORLD, _SPARE, _END = range(3)
"""Scratch games: the world, the same at the opening lead, the same settled."""

_TRIES = 30
"""Worlds dealt until one agrees with the calls; the last is taken as it is."""

_I8 = np.int64
SETTINGS = np.dtype(
    [("worlds", _I8), ("tries", _I8), ("gifts", _I8), ("call_doubt", _I8), ("card_doubt", _I8)]
)
"""K, or 0 for the true deal; how many worlds may be refused for the calls; what has the name of a
constant is that constant, or 0."""

TALLY = np.dtype(
    [
        ("worlds", _I8),  # that are counted
        ("capped", _I8),  # 1: the solver has given up the present one
        ("own", _I8, NUM_SUITS),  # tricks in it of the seat to move as declarer, by trump suit,
        ("own_known", _I8),  # if this is 1
        ("chips", _I8, NUM_ACTIONS),  # by action: its worth, summed over the worlds
        ("tricks", _I8, NUM_ACTIONS),
        # And what comes on top, by the trumps or the opening lead chosen; else NO_VALUE.
        ("led", _I8, (NUM_ACTIONS, FIRST_BID)),
    ],
    align=True,
)
"""What has been found in the worlds of one decision."""


@subroutine
def _heuristic(g, rules):
    return choose(g, rules)


@subroutine
def _calls_agree(g, rules, games):
    """Return whether the heuristic, with the hands of the world, would have called as was called.

    For rules without exchanges: a hand is what a seat holds and has played.
    """
    games[_SPARE] = games[_WORLD]
    spare = games[_SPARE]
    place = 0
    seat = g["dealer"]
    for _ in range(rules["hands"]):
        seat = next_hand(g, rules, seat)
        hand = spare["hand"][seat] | (spare["seen"][seat] & CARDS)
        while hand != 0:
            spare["pack"][place] = lowest_bit(hand)
            hand &= hand - 1
            place += 1
    spare["pool"] = g["first_pool"]
    spare["multiplier"] = g["first_multiplier"]
    open_deal(spare, rules)
    event = 0
    while event < g["num_events"] and spare["phase"] == AUCTION:
        action = np.int64(g["events"][event] & (EVENT_SEAT - 1))
        if spare["seat"] != g["seat"] and _heuristic(spare, rules) != action:
            return False
        step(spare, rules, action)
        event += 1
    return True


@subroutine
def _next_world(g, rules, knowledge, games, settings):
    """Make the next world, unless there is only the true one."""
    if settings["worlds"] == 0:
        return
    deal_world(g, rules, knowledge, games[_WORLD])
    if rules["exchanges"] == 0:
        for _ in range(settings["tries"]):
            if _calls_agree(g, rules, games):
                return
            deal_world(g, rules, knowledge, games[_WORLD])


@subroutine
def _best_card(w, g, rules, knowledge, games, settings, tally):
    """Return the card to play, or the suit to name; -1 if no world was solved."""
    draws = g["draws"]
    _count_values(w, g, rules, knowledge, games, settings, np.int64(PRICE), tally["chips"], tally)
    if tally["worlds"] == 0:
        return np.int64(-1)
    side = np.int64(1) if g["seat"] == g["declarer"] else np.int64(-1)
    stake = rules["stake"] * g["multiplier"]
    doubt = settings["card_doubt"] * stake * math.sqrt(tally["worlds"])
    tally["chips"][_heuristic(g, rules)] += side * np.int64(doubt)
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
    _count_values(w, g, rules, knowledge, games, settings, np.int64(TRICKS), tally["tricks"], tally)
    most_chips = tally["chips"][best]
    for action in range(FIRST_BID):
        if tally["chips"][action] == most_chips:
            more = side * (tally["tricks"][action] - tally["tricks"][best])
            if more > 0 or (more == 0 and _height(g, action) < _height(g, best)):
                best = np.int64(action)
    return best


@subroutine
def _height(g, action):
    """Return a number that orders cards by what they are worth keeping for."""
    if action >= JOKER:
        return np.int64(action)
    trump = (g["trumps"] >> action) & 1
    return NUM_RANKS * trump + action % NUM_RANKS


@subroutine
def _count_values(w, g, rules, knowledge, games, settings, count, sums, tally):
    """Add up what each action is worth in the worlds; NO_VALUE or below where it is not legal."""
    tally["worlds"] = 0
    for action in range(FIRST_BID):
        sums[action] = 0
    for _ in range(max(settings["worlds"], 1)):
        _next_world(g, rules, knowledge, games, settings)
        solve_actions(w, games[_WORLD], rules, count)
        if w["capped"] == 0:
            tally["worlds"] += 1
            for action in range(FIRST_BID):
                sums[action] += w["values"][action]


@subroutine
def _play_to_lead(spare, rules, action):
    """Take an action, then let the heuristic act for everybody up to the opening lead."""
    step(spare, rules, action)
    while spare["phase"] != PLAY and spare["phase"] != NAME and spare["phase"] != OVER:
        step(spare, rules, _heuristic(spare, rules))


@subroutine
def _settled(games, rules, me, tricks):
    """Return the chips that a seat has got or paid once the declarer has taken so many tricks."""
    games[_END] = games[_SPARE]
    end = games[_END]
    settle(end, rules, tricks, np.int64(-1))
    return end["payments"][me]


@subroutine
def _chips(games, rules, me, settings, tricks):
    """Return hundred times what a seat gets if the declarer could take so many tricks.

    One more, or one less in a misère, in `GIFTS` of a hundred deals.
    """
    bid = games[_SPARE]["contract"]
    more = tricks
    if rules["most"][bid] == rules["num_tricks"]:
        more = min(tricks + 1, rules["num_tricks"])
    elif tricks > rules["most"][bid]:
        more = tricks - 1
    chips = (100 - settings["gifts"]) * _settled(games, rules, me, tricks)
    return chips + settings["gifts"] * _settled(games, rules, me, more)


@subroutine
def _is_plain(rules, bid):
    """Return whether a contract asks for tricks under trumps that a free lead fixes."""
    return (
        rules["most"][bid] == rules["num_tricks"]
        and rules["trumps"][bid] == TRUMPS_LED
        and rules["lead"][bid] == LEAD_ANY
    )


@subroutine
def _outcome(rules, bid, made):
    """Return tricks with which a contract is made or lost."""
    if made:
        return rules["fewest"][bid]
    if rules["most"][bid] < rules["num_tricks"]:
        return rules["most"][bid] + 1
    return rules["fewest"][bid] - 1


@subroutine
def _solve_own(w, me, rules, games, tally):
    """Solve the suits of the seat to move as declarer, once a world if no card changes hands."""
    spare = games[_SPARE]
    as_dealt = True
    for seat in range(rules["num_players"]):
        as_dealt = as_dealt and spare["hand"][seat] == games[_WORLD]["hand"][seat]
    if not as_dealt or tally["own_known"] == 0:
        solve_suits(w, spare, rules, me)
        tally["capped"] |= w["capped"]
        tally["own_known"] = np.int64(as_dealt)
        for suit in range(NUM_SUITS):
            tally["own"][suit] = w["suit_tricks"][suit]


@subroutine
def _add(tally, action, option, chips):
    """Add the chips that an action brings with a choice of trumps or lead; -1: there is none."""
    if option < 0:
        tally["chips"][action] += chips
    else:
        if tally["led"][action, option] == NO_VALUE:
            tally["led"][action, option] = 0
        tally["led"][action, option] += chips


@subroutine
def _count_own(w, me, rules, games, settings, action, is_open, tally):
    """Add what the seat to move gets as declarer, by its choices if they are still open."""
    spare = games[_SPARE]
    bid = spare["contract"]
    lead = np.int64(-1) if is_open else _heuristic(spare, rules)
    if _is_plain(rules, bid):
        _solve_own(w, me, rules, games, tally)
        most = np.int64(0)
        for suit in range(NUM_SUITS):
            tricks = tally["own"][suit]
            if is_open and tricks >= 0:
                _add(tally, action, FIRST_SUIT + suit, _chips(games, rules, me, settings, tricks))
            elif lead == JOKER or lead // NUM_RANKS == suit:
                most = max(most, tricks)
        if not is_open:
            _add(tally, action, np.int64(-1), _chips(games, rules, me, settings, most))
        return
    solve_actions(w, spare, rules, np.int64(MADE))
    tally["capped"] |= w["capped"]
    won = _chips(games, rules, me, settings, _outcome(rules, bid, True))
    lost = _chips(games, rules, me, settings, _outcome(rules, bid, False))
    for option in range(FIRST_BID):
        made = w["values"][option]
        if made >= 0 and (is_open or option == lead):
            chips = won if made == 1 else lost
            _add(tally, action, np.int64(option) if is_open else np.int64(-1), chips)


@subroutine
def _count_action(w, g, rules, knowledge, games, settings, action, tally):
    """Add what an action brings in the world."""
    me = g["seat"]
    games[_SPARE] = games[_WORLD]
    spare = games[_SPARE]
    _play_to_lead(spare, rules, action)
    bid = spare["contract"]
    if spare["phase"] == OVER:  # all have passed
        _add(tally, action, np.int64(-1), 100 * spare["payments"][me])
    elif spare["declarer"] == me and spare["seat"] == me:
        # The same hand in the same contract whatever the world is.
        settled = action == FIRST_BID + bid or bid == g["contract"]
        is_open = settled and spare["hand"][me] & knowledge["unseen"] == 0
        _count_own(w, me, rules, games, settings, action, is_open, tally)
    else:
        tricks = abs(solve_position(w, spare, rules, np.int64(NEAR)))
        tally["capped"] |= w["capped"]
        if w["capped"] == 0:
            _add(tally, action, np.int64(-1), _chips(games, rules, me, settings, tricks))


@subroutine
def _best_action(w, g, rules, knowledge, games, settings, tallies):
    """Return what is best before the play; -1 if no world was solved."""
    tally = tallies[0]
    tally["worlds"] = 0
    for action in range(NUM_ACTIONS):
        tally["chips"][action] = 0
        for option in range(FIRST_BID):
            tally["led"][action, option] = NO_VALUE
    for _ in range(max(settings["worlds"], 1)):
        _next_world(g, rules, knowledge, games, settings)
        tallies[1] = tally
        tally["worlds"] += 1
        tally["capped"] = 0
        tally["own_known"] = 0
        for action in range(NUM_ACTIONS):
            if is_legal(g, action) and tally["capped"] == 0:
                _count_action(w, g, rules, knowledge, games, settings, np.int64(action), tally)
        if tally["capped"] != 0:
            tallies[0] = tallies[1]
    stake = rules["stake"] * g["multiplier"]
    hundredths = 100 * stake * (rules["num_players"] - 1)  # in which chips are counted
    doubt = settings["call_doubt"] * hundredths * math.sqrt(tally["worlds"])
    tally["chips"][_heuristic(g, rules)] += np.int64(doubt)
    best = np.int64(-1)
    most = np.int64(0)
    for action in range(NUM_ACTIONS):
        if is_legal(g, action) and tally["worlds"] > 0:
            chips = np.int64(NO_VALUE)
            for option in range(FIRST_BID):
                chips = max(chips, tally["led"][action, option])
            chips = tally["chips"][action] + (chips if chips != NO_VALUE else 0)
            if best < 0 or chips > most:
                best = np.int64(action)
                most = chips
    return best


@subroutine
def _choose(w, g, rules, knowledge, games, settings, tallies):
    """Return what the seat to move does."""
    best = only_action(g)
    if best >= 0:
        return best
    w["generation"] += 1  # an answer must not depend on what has been solved before
    games[_WORLD] = g
    know(g, rules, g["seat"], knowledge)
    if g["phase"] == PLAY or g["phase"] == NAME:
        best = _best_card(w, g, rules, knowledge, games, settings, tallies[0])
    else:
        best = _best_action(w, g, rules, knowledge, games, settings, tallies)
    return best if best >= 0 else _heuristic(g, rules)


@subroutine
def _choose_rows(work, all_games, table, rows, knowledge, games, settings, tallies, actions):
    for k in range(len(rows)):
        actions[k] = _choose(
            work[0], all_games[rows[k]], table[0], knowledge[0], games, settings[0], tallies
        )


class Pimc(SeatedAgent):
    """A player that solves K worlds a decision, or the true deal; belongs to one thread."""

    def __init__(
        self, rules: Rules, num_players: int, worlds: int, *, infers: bool = False
    ) -> None:
        """Set the player up.

        Args:
            rules: the rules of the games it will be asked about.
            num_players: players at their tables.
            worlds: K, worlds a decision; 0 for the true deal alone.
            infers: prefer worlds in which the heuristic would have made the calls that were made.

        Raises:
            ValueError: K is above MOST_WORLDS, or the rules cannot seat so many players.
        """
        if worlds > MOST_WORLDS:
            raise ValueError(f"worlds={worlds}: must be at most {MOST_WORLDS}")
        super().__init__(rules, num_players)
        self._settings = np.zeros(1, SETTINGS)
        self._settings["worlds"] = worlds
        self._settings["tries"] = _TRIES * infers
        if worlds > 0:
            self._settings["gifts"] = GIFTS
            self._settings["call_doubt"] = CALL_DOUBT
            self._settings["card_doubt"] = CARD_DOUBT
        self._scratch: tuple[npt.NDArray[np.void], ...] | None = None

    def _choose(self, games: npt.NDArray[np.void], rows: Ints, actions: Ints) -> None:
        if self._scratch is None:
            self._scratch = (
                new_work(NODE_CAP),
                np.zeros(1, KNOWLEDGE),
                new_games(3),
                np.zeros(2, TALLY),
            )
        work, knowledge, scratch, tallies = self._scratch
        _choose_rows(
            work, games, self._table, rows, knowledge, scratch, self._settings, tallies, actions
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave the scratch behind: it is large, and no answer depends on what is in it."""
        return self.__dict__ | {"_scratch": None}
