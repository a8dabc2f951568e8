"""The decorators of every compiled function of the package."""

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
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

    A function that calls itself cannot be inlined, and large ones would be compiled many times. It
    may call itself directly, with arguments of the same types.
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


def prefetch(rows, row, byte):
    """Have the processor load a cache line that is needed soon; a row beyond the end does no harm.

    Args:
        rows: an array.
        row: number along its first axis.
        byte: of the row, within the line.
    """


@compiled_as(prefetch)
def _prefetch_line(_context: Any, rows: Any, row: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, _call: Any, arguments: Any) -> Any:
        array = context.make_array(rows)(context, builder, arguments[0])
        stride = builder.extract_value(array.strides, 0)
        start = builder.ptrtoint(array.data, stride.type)
        offset = builder.add(builder.mul(arguments[1], stride), arguments[2])
        line = builder.inttoptr(builder.add(start, offset), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [line.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [line.type], kind)
        builder.call(function, [line, number(1), number(3), number(1)])  # written, to stay, data
        return context.get_dummy_value()

    return types.void(rows, types.int64, types.int64), generate
