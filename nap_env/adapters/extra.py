"""What to install where a library is missing."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import a library within, or say which extra of nap_env brings it.

    Raises:
        ModuleNotFoundError: the library is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        text = f'{error}; pip install "nap_env[{extra}]"'
        raise ModuleNotFoundError(text, name=error.name) from None
