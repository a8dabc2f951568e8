"""What environments do about an illegal action, if they raise no error; all of them do the same."""

import functools

import gymnasium

from nap_env.rules import one_of

ILLEGAL = ("terminate", "random")


def plays_on(illegal: str) -> bool:
    """Return whether another action is played instead of an illegal one.

    Args:
        illegal: `terminate` or `random`.

    Raises:
        ValueError: something else.
    """
    return bool(one_of("illegal", illegal, ILLEGAL) == "random")


@functools.cache  # it says each of the two once
def warn_of_illegal_action(played_on: bool) -> None:
    """Warn that a mask may have been forgotten, once in a process."""
    done = "has been replaced by a random legal one" if played_on else "has ended the match"
    more = "" if played_on else "; illegal='random' plays a legal one instead"
    gymnasium.logger.warn(
        f"an illegal action {done}: choose by the action mask, which is in the observation or the "
        f"info (mask_in){more}. This is said once"
    )
