"""What was meant by a word that is not known here."""

import functools
import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Concatenate, ParamSpec, TypeVar

_Made = TypeVar("_Made")
_P = ParamSpec("_P")


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return the end of an error's text that names the known word most like this one, if any is."""
    close = get_close_matches(f"{word}".lower(), known, 1, 0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


def names_arguments(
    make: Callable[Concatenate[_Made, _P], None],
) -> Callable[Concatenate[_Made, _P], None]:
    """Have an `__init__` say which argument was meant by one that there is not."""
    known = list(inspect.signature(make).parameters)[1:]

    @functools.wraps(make)
    def made(self: _Made, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        for name in kwargs:
            if name not in known:
                raise TypeError(
                    f"{type(self).__name__}: no argument {name!r}; there are {', '.join(known)}"
                    f"{did_you_mean(name, known)}"
                )
        make(self, *args, **kwargs)

    return made
