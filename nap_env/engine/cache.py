"""The cache of compiled code on disk."""

import ast
import hashlib
import inspect
import pickle
import sys
import warnings
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any
from uuid import uuid4

import llvmlite
import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.misc.appdirs import AppDirs

_config: Any = numba.config

_LIBRARIES = {library.__name__: library.__version__ for library in (llvmlite, numba, np)}
_FLAGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _is_of_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES


def _ingredients(function: Any) -> tuple[str, list[Any]]:
    """Return what a function is compiled from: its code and the constants that it names, as text.

    The functions that it names come apart, to be looked into in their turn, and so does what a
    function of Python is compiled as. What `numba.extending.overload` adds is not seen.
    """
    python = function if isinstance(function, FunctionType) else function.__wrapped__
    functions = [python.compiled_as] if hasattr(python, "compiled_as") else []

    def text(value: Any) -> str:
        if isinstance(value, tuple | list):
            return f"{type(value)} {[text(item) for item in value]}"
        if isinstance(value, np.ndarray):
            return f"{value.dtype} {value.shape} {value.tobytes()!r}"
        if isinstance(getattr(value, "__wrapped__", value), FunctionType):
            if not _is_of_library(value.__module__):
                functions.append(value)
            return f"{value.__module__}.{value.__qualname__}"
        extras = [getattr(value, name, "") for name in ("_fields", "__members__")]
        return f"{type(value)} {value!r} {extras}"

    codes = [python.__code__]
    parts = [str(getattr(function, "targetoptions", ""))]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        constants = [
            None if constant is python.__doc__ or isinstance(constant, CodeType) else constant
            for constant in code.co_consts
        ]
        names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
        counts = (code.co_argcount, code.co_kwonlyargcount, code.co_flags)
        parts.append(f"{code.co_code!r} {constants} {names} {counts}")
    parts += [text(cell.cell_contents) for cell in python.__closure__ or ()]
    parts.append(text([python.__defaults__, *(python.__kwdefaults__ or {}).items()]))
    named = {name for code in codes for name in code.co_names}
    modules: list[ModuleType] = []
    spaces = [python.__globals__]
    for space in spaces:
        for name in sorted(named & space.keys()):
            value = space[name]
            if not isinstance(value, ModuleType):
                parts.append(f"{name} {text(value)}")
            elif not _is_of_library(value.__name__) and value not in modules:
                modules.append(value)
                spaces.append(vars(value))
    return "\n".join(parts), functions


def _spelling(kind: Any) -> str:
    """Return a type's name with the names of a tuple's fields, which Numba's name lacks."""
    parts = [_spelling(part) for part in getattr(kind, "types", ())]
    return f"{kind} {getattr(kind, 'fields', '')} {parts}"


@cache
def _way_of(compiler: str) -> str:
    """Return the source of the module that compiles kernels, without its comments."""
    return ast.dump(ast.parse(inspect.getsource(sys.modules[compiler])))


class DiskCache(NullCache):
    """Compiled code of a kernel on disk: one file for each kind of arguments and machine.

    A file's name holds a hash of all that its content was compiled from, of whichever file that
    is. So an edit of any file makes stale what depends on it and nothing else, and it does not
    matter who else writes at the same time. Numba's own cache looks only at the file of the cached
    function itself, and an index written apart from the code can outlive it or run ahead of it.
    """

    has_warned = False

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    @cached_property
    def recipe(self) -> str:
        """A hash of all that the kernel is compiled from, but for the types of its arguments."""
        numbers = {self._kernel: 0}
        functions = [self._kernel]
        texts = [_way_of(type(self._kernel).__module__)]
        for function in functions:
            text, named = _ingredients(function)
            for other in named:
                if other not in numbers:
                    numbers[other] = len(functions)
                    functions.append(other)
            texts.append(f"{text} {[numbers[other] for other in named]}")
        return _hash("\n".join(texts))

    @property
    def _folders(self) -> list[Path]:
        """Where the code may lie, the first choice first; the same places as Numba's."""
        source = Path(inspect.getfile(self._kernel.py_func)).absolute()
        own = f"{source.parent.name}_{_hash(str(source.parent))}"
        if _config.CACHE_DIR:
            return [Path(_config.CACHE_DIR, own)]
        beside = [source.parent / "__pycache__"] if source.is_file() else []
        user = Path(AppDirs("numba", appauthor=False).user_cache_dir, own)
        return [*beside, user] if user.is_absolute() else beside  # it is not without a home

    def _prefix(self, signature: Any) -> str:
        """Return how a file's name begins: what stays the same when the kernel is edited."""
        arguments, _ = normalize_signature(signature)
        machine = self._kernel.targetctx.codegen().magic_tuple()
        flags = [getattr(_config, flag) for flag in _FLAGS]
        circumstances = (machine, flags, _LIBRARIES, sys.implementation.cache_tag)
        kind = _hash(f"{[_spelling(argument) for argument in arguments]} {circumstances}")
        name = f"{Path(inspect.getfile(self._kernel.py_func)).stem}.{self._kernel.__qualname__}"
        return f"{name.replace('<', '').replace('>', '')}-{kind}"

    def _name(self, signature: Any) -> str:
        return f"{self._prefix(signature)}-{self.recipe}.nbc"

    def holds(self, sig: Any) -> bool:
        """Return whether there is a file of the compiled code for these types of arguments."""
        return any((folder / self._name(sig)).is_file() for folder in self._folders)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for these types of arguments, or None."""
        target_context.refresh()
        for folder in self._folders:
            with suppress(Exception):  # a file that is missing or damaged, in whatever way
                payload = pickle.loads((folder / self._name(sig)).read_bytes())
                return CompileResult._rebuild(target_context, *payload)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code; where that cannot be, say so once."""
        if data.library.has_dynamic_globals:  # addresses of this process
            return
        content = dumps(data._reduce())
        problems = []
        for folder in self._folders:
            try:
                return _write(folder, self._prefix(sig), self._name(sig), content)
            except OSError as error:
                problems.append(str(error))
        if not DiskCache.has_warned:
            DiskCache.has_warned = True
            warnings.warn(
                f"compiled code cannot be kept, so every start compiles anew "
                f"({', '.join(problems) or 'there is no home'}): set NUMBA_CACHE_DIR to a folder "
                "that can be written",
                RuntimeWarning,
                stacklevel=2,
            )


def _write(folder: Path, prefix: str, name: str, content: bytes) -> None:
    """Write a file at one stroke in place of those with the same prefix."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{name}.{uuid4().hex}"
    try:
        unfinished.write_bytes(content)
        unfinished.replace(folder / name)
    finally:
        unfinished.unlink(missing_ok=True)
    for old in folder.glob(f"{prefix}-*.nbc"):
        if old.name != name:
            with suppress(OSError):  # somebody reads it or has been faster
                old.unlink()
