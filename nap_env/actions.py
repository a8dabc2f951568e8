"""The one action table: every preset and player count uses these ids, fixed for ever.

0..52    the cards: to play, to mark for discarding or to swap; the phase tells which
53..58   pass done look take hold decline
59..62   clubs diamonds hearts spades: naming trumps
63..77   the bids; a bid's rank is its place in the rules' list, not its id
"""

from nap_env.cards import CARDS, NUM_CARDS, SUIT_NAMES
from nap_env.words import did_you_mean

CALLS = ("pass", "done", "look", "take", "hold", "decline")
BIDS = (
    *("one", "two", "three+f", "three", "misere", "four+f", "four", "five"),
    *("nap+f", "nap", "napoleon", "wellington", "blucher", "six", "seven"),
)
ACTIONS = (*CARDS, *CALLS, *SUIT_NAMES, *BIDS)
NUM_ACTIONS = len(ACTIONS)
NUM_BIDS = len(BIDS)

PASS, DONE, LOOK, TAKE, HOLD, DECLINE = range(NUM_CARDS, NUM_CARDS + len(CALLS))
FIRST_SUIT = NUM_CARDS + len(CALLS)
FIRST_BID = FIRST_SUIT + len(SUIT_NAMES)

_IDS = {name: action for action, name in enumerate(ACTIONS)}


class IllegalActionError(ValueError):
    """An action that the rules do not allow in this position; the text says why and where."""


def action_id(name: str) -> int:
    """Return the id of an action written as in records: `"QH"`, `"pass"`, `"nap"`.

    Raises:
        ValueError: no action has that name.
    """
    try:
        return _IDS[name]
    except (KeyError, TypeError):
        others = " ".join(ACTIONS[NUM_CARDS:])
        raise ValueError(
            f"{name!r} is not an action: a card such as QH, or one of {others}"
            f"{did_you_mean(name, ACTIONS)}"
        ) from None
