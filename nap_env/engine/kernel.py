"""The decorators of every compiled function of the package."""

import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

_Function = TypeVar("_Function", bound=Callable[..., object])

_IMPORT = re.compile(r"^(?:from ([\w.]+) )?import (\([^)]*\)|.*)$", re.MULTILINE)


@cache
def _read(module: str) -> tuple[str, list[str]]:
    """Return a module's source, and what it imports from its own package and this one."""
    file = getattr(sys.modules[module], "__file__", None)
    source = Path(file).read_text() if file else ""
    names = {
        f"{package}.{name}".strip(".")
        for package, listed in _IMPORT.findall(source)
        for name in ("", *re.findall(r"[\w.]+", listed))
    }
    ours = (module.partition(".")[0], __name__.partition(".")[0])
    return source, sorted(name for name in names if name.partition(".")[0] in ours)


@cache
def fingerprint(module: str) -> str:
    """Return a hash of all source that kernels of a module are compiled from."""
    digest = hashlib.sha256(repr(numba.config.BOUNDSCHECK).encode())  # type: ignore[attr-defined]
    needed = [module]
    for name in needed:  # which grows
        source, imported = _read(name)
        needed += [other for other in imported if other in sys.modules and other not in needed]
        digest.update(f"{name}\n{source}".encode())
    return digest.hexdigest()


class PackageCache(FunctionCache):
    """Numba's cache on disk, made stale by an edit of any file that a kernel's module imports.

    Numba looks only at the file of the cached function itself, although helpers and constants of
    other files are compiled into it. The version is what it reads first: an index may name types
    that are no longer there.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file._version = (numba.__version__, fingerprint(function.__module__))


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
