"""How kernels are compiled, and what happens until they are.

Numba compiles each function as if Python called it: it adds two wrappers, optimises it for itself,
and does so once more in each function that inlines it. Most of ours are only called by others, so
what others call is compiled as a part: up to the code for LLVM and no further. What Python calls is
a whole: its parts are joined, and optimised once.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from threading import Timer
from time import perf_counter, process_time
from types import FunctionType
from typing import Any, ClassVar, cast

import numpy as np
from llvmlite import ir
from llvmlite.binding import parse_assembly
from numba.core import registry
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.dispatcher import OmittedArg
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NativeLowering

from nap_env.engine.cache import DiskCache


@cache
def vector_bits() -> int:
    """Return how wide the vectors are that kernels compute with, in bits: 128, 256 or 512.

    That depends on the processor and on Numba's options (NUMBA_CPU_NAME for example), so LLVM is
    asked what it makes of a sum of wide vectors.
    """
    wide = ir.VectorType(ir.FloatType(), 16)
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(wide, [wide, wide]), "sum")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(builder.fadd(*function.args))
    machine = registry.cpu_target.target_context.codegen()._tm
    code = machine.emit_assembly(parse_assembly(str(module)))
    return 512 if "zmm" in code else 256 if "ymm" in code else 128


_OPTIONS: Any = {
    "nopython": True,
    "nogil": True,
    "no_cfunc_wrapper": True,
    "boundscheck": None,  # as the environment says
}


class _Library(JITCodeLibrary):
    """The code of a whole, and of the parts that it is made of."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._parts: dict[_PartLibrary, None] = {}  # each once, callers first

    def add_linking_library(self, library: Any) -> None:
        """Take the code of a function that is called, and of what that calls in its turn."""
        if isinstance(library, _PartLibrary):
            self._parts |= {library: None} | library._parts
            self._linking_libraries += library._linking_libraries  # of Numba itself
        else:
            super().add_linking_library(library)

    def finalize(self) -> None:
        """Join the parts, and optimise them together.

        Optimised, a part may be called in a way of its own: no other whole can have it. Even the
        name of one that is "internal" would be found by others that look for a part of this name.
        """
        self._join(self._final_module, "private")
        super().finalize()

    def _join(self, module: Any, linkage: str) -> None:
        """Add the code of all parts to a module.

        Their functions get a linkage by which LLVM leaves out what is not used. Not before all are
        there: what the last one uses would be missing.
        """
        for part in self._parts:
            module.link_in(part._final_module, preserve=True)
        for part in self._parts:
            for function in part.get_defined_functions():
                module.get_function(function.name).linkage = linkage


class _PartLibrary(_Library):
    """The code of a part: not optimised, not loaded."""

    def finalize(self) -> None:
        """Leave it as it is."""
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return all that it is made of, for functions that Numba compiles in its own way."""
        if self._shared_module is None:
            module = self._final_module.clone()
            self._join(module, "linkonce_odr")
            for function in self.get_defined_functions():
                module.get_function(function.name).linkage = "linkonce_odr"
            for library in self._linking_libraries:
                module.link_in(library._get_module_for_linking(), preserve=True)
            self._shared_module = module
        return self._shared_module


@register_pass(mutates_CFG=True, analysis_only=False)
class _WholeLowering(NativeLowering):
    _name = "whole_lowering"
    _library_class: type[_Library] = _Library

    def run_pass(self, state: Any) -> bool:
        codegen = state.targetctx.codegen()
        state.library = self._library_class(codegen, state.func_id.func_qualname)
        state.library.enable_object_caching()
        return cast(bool, super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(_WholeLowering):
    _name = "part_lowering"
    _library_class = _PartLibrary

    def run_pass(self, state: Any) -> bool:
        has_changed = super().run_pass(state)
        variables = [variable.name for variable in state.library._final_module.global_variables]
        if any(name.startswith(RuntimeLinker.PREFIX) for name in variables):  # to be linked later
            raise NotImplementedError(
                f"{state.func_id.func_qualname}: calls itself by way of another, or with other "
                "types of arguments; a constant has a type of its own: give np.int64(3), not 3"
            )
        name = object()  # by which those that call it know it: there is nothing to be run
        state.targetctx.insert_user_function(name, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=name)
        return has_changed


class _WholeCompiler(CompilerBase):
    lowering: ClassVar[type[NativeLowering]] = _WholeLowering

    def define_pipelines(self) -> list[PassManager]:
        """Return Numba's steps, the last but one in our way."""
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes = [
            (self.lowering if step is NativeLowering else step, name) for step, name in steps.passes
        ]
        steps.finalize()
        return [steps]


class _PartCompiler(_WholeCompiler):
    lowering = _PartLowering

    def define_pipelines(self) -> list[PassManager]:
        """Return Numba's steps without what makes a function run."""
        self.state.flags.no_compile = True
        return super().define_pipelines()


class _Part(CPUDispatcher):
    """A function as others call it."""

    def compile(self, sig: Any) -> None:  # type: ignore[override]  # Numba's has no types
        """Compile it for these types of arguments, once."""
        arguments, kind = normalize_signature(sig)
        with global_compiler_lock, self._compiling_counter:
            if arguments not in self.overloads:
                compiler: Any = self._compiler  # type: ignore[attr-defined]
                self.overloads[arguments] = compiler.compile(arguments, kind)


class Kernel(CPUDispatcher):
    """A function as Python calls it. Others that call it see the part."""

    def __init__(self, function: Any, **options: Any) -> None:
        """Compile nothing yet.

        Args:
            function: in Python.
            options: of Numba.
        """
        options |= _OPTIONS
        super().__init__(function, targetoptions=options, pipeline_class=_WholeCompiler)
        self._part = _Part(
            function,
            targetoptions=options | {"no_cpython_wrapper": True},
            pipeline_class=_PartCompiler,
        )
        self._cache = DiskCache(self)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how its call is typed."""
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return what stands for its code."""
        return self._part.get_overload(sig)

    @property
    def is_compiling(self) -> bool:  # type: ignore[override]
        """Whether it is being compiled: if it is called then, it calls itself."""
        return bool(self._part.is_compiling or self._compiling_counter)

    def compile(self, sig: Any) -> Any:
        """Compile it for these types of arguments, once, or load it; tell of a long wait."""
        start = perf_counter()
        notice = Timer(max(0.0, _Start.patience), _Start.tell)
        notice.daemon = True
        notice.start()
        try:
            return super().compile(sig)
        finally:
            notice.cancel()
            _Start.patience -= perf_counter() - start

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Return what is called: once compiled, that comes first and without this."""
        if process_time() < _Start.compiles_from and not self._is_ready(args):
            return self._run_plain
        return super()._compile_for_args(*args, **kws)  # type: ignore[misc]

    def _run_plain(self, *args: Any) -> Any:
        values = [given.value if isinstance(given, OmittedArg) else given for given in args]
        with np.errstate(over="ignore"):
            return self.plain(*values)

    @cached_property
    def plain(self) -> Any:
        """The function in Python, calling others in Python: a dispatch takes longer than most."""
        python = self.py_func
        name, defaults, closure = python.__name__, python.__defaults__, python.__closure__
        return FunctionType(python.__code__, _plain(python.__globals__), name, defaults, closure)

    def _is_ready(self, args: tuple[Any, ...]) -> bool:
        return self._cache.holds(tuple(map(self.typeof_pyval, args)))


_plain_spaces: dict[str, dict[str, Any]] = {}


def _plain(space: dict[str, Any]) -> dict[str, Any]:
    """Return what a module holds, with functions of Python in place of kernels."""
    name = space["__name__"]
    if name not in _plain_spaces:
        plain = _plain_spaces[name] = dict(space)  # kept first: its kernels call each other
        plain |= {key: value.plain for key, value in space.items() if isinstance(value, Kernel)}
    return _plain_spaces[name]


class _Start:
    """How this process starts: what it does while there is no compiled code."""

    compiles_from = 0.0  # CPU seconds of the process; before, what is not on disk runs as Python
    patience = 2.0  # seconds of compiling that are left until somebody is told
    has_told = False

    @classmethod
    def tell(cls) -> None:
        if not cls.has_told:
            cls.has_told = True
            print(
                "nap_env: kernels are compiled for this machine, once: about 5 s on a fast one, "
                "20 s on a slow one",
                file=sys.stderr,
                flush=True,
            )


@contextmanager
def at_once(seconds: float = 8.0) -> Iterator[None]:
    """Run kernels that have not been compiled yet as plain Python, for a while.

    So a few decisions need not wait until all is compiled. For programs, not for the library: a
    kernel that goes through many games would take long.

    Args:
        seconds: of CPU time of this process, from now on. By default about what compiling takes:
            so no program takes more than twice as long as it would have with the better choice.
    """
    before = _Start.compiles_from
    _Start.compiles_from = process_time() + seconds
    try:
        yield
    finally:
        _Start.compiles_from = before
