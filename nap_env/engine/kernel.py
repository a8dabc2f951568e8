"""The decorators of every compiled function of the package."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

_Function = TypeVar("_Function", bound=Callable[..., object])


def _fingerprint() -> str:
    """Return a hash of the package's whole source, and of what else changes compiled code."""
    digest = hashlib.sha256(repr(numba.config.BOUNDSCHECK).encode())  # type: ignore[attr-defined]
    package = Path(__file__).parent.parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


FINGERPRINT = _fingerprint()


class PackageCache(FunctionCache):
    """Numba's cache on disk, made stale by an edit of any file of the package.

    Numba looks only at the file of the cached function itself, although helpers and constants of
    other files are compiled into it.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, FINGERPRINT)


def kernel(function: _Function) -> _Function:
    """Compile a function without the GIL and cache it on disk; plain Python if the JIT is off.

    Kernels are inlined into each other: a call costs more than most of them do.
    """
    compiled: Any = numba.njit(nogil=True, forceinline=True)(function)
    if compiled is not function:
        compiled._cache = PackageCache(function)
    return cast(_Function, compiled)


def subroutine(function: _Function) -> _Function:
    """Compile like `kernel`, but as a function that is called.

    A function that calls itself cannot be inlined, and large ones would be compiled many times.
    """
    compiled: Any = numba.njit(nogil=True)(function)
    if compiled is not function:
        compiled._cache = PackageCache(function)
    return cast(_Function, compiled)
