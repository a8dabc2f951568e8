"""What the fuzz tests draw: values of every kind, where something else is expected."""

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from child import in_child, trying
from hypothesis import settings
from hypothesis import strategies as st

from nap_env.actions import ACTIONS
from nap_env.rules import CHOICES, FIRST_DEALERS, LEADS, Rules

TRIES = int(os.environ.get("NAP_FUZZ_TRIES", "40"))
"""Of each test; `test_longer.py` runs them all with more."""

EXAMPLES = Path(__file__).parent / "examples.jsonl"
RECORDS = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]

WORDS = (
    *ACTIONS, *LEADS, *FIRST_DEALERS, *(word for choice in CHOICES.values() for word in choice),
    "", "4", "1x5", "x" * 5000, "\x00", "\ud800", "é\n", "standard", "player_0",
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 28, 52, 53, 78, 255, -1, 2**31, 2**63 - 1, 2**63, 10**30)

scalars = (
    st.none()
    | st.booleans()
    | st.sampled_from(NUMBERS)
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=5)
)


def _nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
        | st.builds(_nested, inner, st.sampled_from([3, 60]))
    ),
    max_leaves=6,
)
"""Whatever a JSON text can say."""

values = json_values | st.sampled_from(
    [
        *(b"x", (), (1, 2), {1, 2}, 1j, object, object(), print, range(3), Path("x")),
        *(np.float64(4), np.True_, np.int64(4), np.array(4), np.arange(4), np.zeros((2, 2))),
        *(np.array(["a", None], object), [[1], [1, 2]]),
    ]
)
"""Also what it cannot say."""


def places(value: Any, depth: int) -> list[tuple[Any, Any]]:
    """Return the places in a JSON value: what holds them, and the key."""
    if depth and isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        return [place for key in keys for place in ((value, key), *places(value[key], depth - 1))]
    return []


@st.composite
def changed(draw: Any, value: Any, anything: Any) -> Any:
    """Draw a JSON value with something else at a few of its places."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(0, 3))):
        found = places(value, depth=draw(st.sampled_from([1, 6])))
        if not found:
            return draw(anything)
        holder, key = draw(st.sampled_from(found))
        change = draw(st.sampled_from(["put", "put", "drop", "double"]))
        if change == "put":
            holder[key] = draw(anything)
        elif isinstance(holder, list):
            holder[key : key + 1] = holder[key : key + 1] * 2 * (change == "double")
        else:
            holder.pop(key, None)
    return value


OPTIONS = (*sorted(Rules.__dataclass_fields__.keys() - {"name"}), "pay", "lead", "joke")
options = st.dictionaries(st.sampled_from(OPTIONS), json_values, min_size=1, max_size=3)


def as_json(value: Any) -> str:
    """Return a value as JSON text, one of numpy as what it holds."""
    return json.dumps(value, default=lambda one: one.item())


def fuzz(
    tries: float = 1, forked: bool = True
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make a test of a property by `given`: so many times TRIES, all in one child.

    What computes with torch cannot be forked: its threads would be missing in the child.
    """

    def test_of(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            many = settings(max_examples=int(tries * TRIES))(check)
            in_child(many) if forked else many()

        test.__doc__ = check.__doc__
        return test

    return test_of


def accepted(
    action: Callable[[], Any], *names: str, errors: tuple[type[Exception], ...] = ()
) -> bool:
    """Try something; return whether it was accepted.

    Args:
        action: raises AssertionError where something wrong was accepted.
        names: of what may be refused; the refusal names one of them.
        errors: what may be raised beside ValueError.

    Raises:
        AssertionError: it was not refused as it should be.
    """
    trying(f"{[cell.cell_contents for cell in action.__closure__ or ()]}")
    try:
        action()
    except (ValueError, *errors) as error:
        assert any(name in str(error) for name in names), f"{error!r} names none of {names}"
        return False
    return True
