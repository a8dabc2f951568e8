"""The decorators of every compiled function of the package."""

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.extending import lower_builtin, type_callable

from nap_env.engine.compiler import Kernel

_Function = TypeVar("_Function", bound=Callable[..., object])
_config: Any = numba.config


def _compiled(function: _Function, **options: bool) -> _Function:
    return function if _config.DISABLE_JIT else cast(_Function, Kernel(function, **options))


def kernel(function: _Function) -> _Function:
    """Compile a function and inline it into each kernel that calls it.

    A call costs more than most kernels do. They run without the GIL, are cached on disk, and are
    plain Python if the JIT is off.
    """
    return _compiled(function, forceinline=True)


def subroutine(function: _Function) -> _Function:
    """Compile like `kernel`, but as a function that is called.

    A function that calls itself cannot be inlined, and large ones would be compiled many times.
    """
    return _compiled(function)


def wrapping(function: _Function) -> _Function:
    """Let integers of a kernel wrap round without the JIT, too, where NumPy would warn."""
    return np.errstate(over="ignore")(function) if _config.DISABLE_JIT else function


def compiled_as(python: Callable[..., object]) -> Callable[[_Function], _Function]:
    """Say what kernels do instead of calling a function of Python.

    Args:
        python: the function, which does the same without the JIT.

    Returns:
        A decorator of what `numba.extending.intrinsic` decorates.
    """

    def decorate(define: _Function) -> _Function:
        intrinsic: Any = define

        @type_callable(python)
        def kind_of(context: Any) -> Any:
            def kind_of_call(*kinds: Any) -> Any:
                return intrinsic(context, *kinds)[0]

            kind_of_call.__signature__ = signature(python)  # type: ignore[attr-defined]
            return kind_of_call

        @lower_builtin(python, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
        def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
            _, write = intrinsic(context, *call.args)
            return write(context, builder, call, arguments)

        python.compiled_as = define  # type: ignore[attr-defined]  # for the cache to look into
        return define

    return decorate
