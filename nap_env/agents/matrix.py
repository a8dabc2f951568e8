"""Matrix products of float32 inside compiled code, fast without any library.

Matrices are flat arrays, given by where they start and by the distance between neighbours. A tile
of the product stays in vector registers from the first summand to the last; LLVM makes of the
vectors of 16 whatever the processor has, and the shape of the tile suits how many of them it can
hold. Every shape adds the same summands in the same order, so gives the same bits. Widths are
multiples of LANES.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types

from nap_env.engine.compiler import vector_bits
from nap_env.engine.kernel import compiled_as, kernel

LANES = 16
"""Numbers in a vector."""

_WIDE_ROWS, _WIDE_VECTORS = 8, 2  # divide the usual widths; 19 of the 32 registers of AVX-512
_TALL_ROWS = 6  # x 1 vector: 15 of the 16 registers of AVX2, two to a vector; 29 of NEON's 32
_FLAT_VECTORS = 4  # of a single row: enough sums to wait for none
_FEWEST_ROWS = 4 * _TALL_ROWS  # from which on copying a panel pays

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_I64 = ir.IntType(64)
_I32 = ir.IntType(32)


def aligned(*shape: int) -> npt.NDArray[np.float32]:
    """Return float32 zeros whose vectors lie each within one line of the cache, so are fast."""
    room = np.zeros(math.prod(shape) + LANES, np.float32)
    start = -room.ctypes.data % (4 * LANES) // 4
    return room[start : start + math.prod(shape)].reshape(shape)


def _fused(builder: Any) -> Any:
    """Return LLVM's multiply-add of vectors."""
    signature = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    return cgutils.get_or_insert_function(builder.module, signature, f"llvm.fma.v{LANES}f32")


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _place(builder: Any, data: Any, at: Any) -> Any:
    """Return a pointer to the vector that starts at element `at`."""
    return builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer())


def _load(builder: Any, data: Any, at: Any) -> Any:
    value = builder.load(_place(builder, data, at))
    value.align = 4
    return value


def _store(builder: Any, value: Any, data: Any, at: Any) -> None:
    builder.store(value, _place(builder, data, at)).align = 4


def _spread(builder: Any, number: Any) -> Any:
    """Return a vector of one number."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    single = builder.insert_element(undefined, number, _I32(0))
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    return builder.shuffle_vector(single, undefined, zeros)


@contextmanager
def _each_vector(builder: Any, width: Any) -> Iterator[Any]:
    """Write a loop over the vectors of a row; it is given where one starts within the row."""
    with cgutils.for_range(builder, builder.udiv(width, _I64(LANES))) as loop:
        yield builder.mul(loop.index, _I64(LANES))


def _tile_of(rows: int, vectors: int) -> Any:
    """Return the product of a tile of `rows` rows and `vectors` vectors."""

    def tile(out, out_at, out_row, a, a_at, a_row, a_next, b, b_at, b_next, depth):
        """Add to a tile of `out` the product of rows of `a` and columns of `b`."""
        for row in range(rows):
            at = out_at + row * out_row
            for k in range(depth):
                number = a[a_at + row * a_row + k * a_next]
                part = b[b_at + k * b_next :][: vectors * LANES]
                out[at : at + vectors * LANES] += number * part

    @compiled_as(tile)
    def tile_in_registers(
        _context, out, out_at, out_row, a, a_at, a_row, a_next, b, b_at, b_next, depth
    ):  # fmt: skip
        def generate(context, builder, signature, arguments):
            kinds = signature.args
            out_data, a_data, b_data = (
                _data(context, builder, kinds[k], arguments[k]) for k in (0, 3, 7)
            )
            _, at, row_step, _, a_start, a_step, a_next, _, b_start, b_next, depth = arguments
            fused = _fused(builder)

            def place(row, vector):
                start = builder.add(at, builder.mul(row_step, _I64(row)))
                return builder.add(start, _I64(vector * LANES))

            tiles = [(row, vector) for row in range(rows) for vector in range(vectors)]
            sums = {each: cgutils.alloca_once(builder, _VECTOR) for each in tiles}
            for each in tiles:
                builder.store(_load(builder, out_data, place(*each)), sums[each])
            with cgutils.for_range(builder, depth) as loop:
                start = builder.add(b_start, builder.mul(b_next, loop.index))
                factors = [
                    _load(builder, b_data, builder.add(start, _I64(vector * LANES)))
                    for vector in range(vectors)
                ]
                start = builder.add(a_start, builder.mul(a_next, loop.index))
                for row in range(rows):
                    where = builder.add(start, builder.mul(a_step, _I64(row)))
                    number = _spread(builder, builder.load(builder.gep(a_data, [where])))
                    for vector in range(vectors):
                        held = sums[row, vector]
                        new = builder.call(fused, [number, factors[vector], builder.load(held)])
                        builder.store(new, held)
            for each in tiles:
                _store(builder, builder.load(sums[each]), out_data, place(*each))
            return context.get_dummy_value()

        whole = types.int64
        return types.void(
            out, whole, whole, a, whole, whole, whole, b, whole, whole, whole
        ), generate  # fmt: skip

    return tile


def dot(a, a_at, b, b_at, width):
    """Return the sum of the products of two rows."""
    return np.float32(a[a_at : a_at + width] @ b[b_at : b_at + width])


@compiled_as(dot)
def _dot_in_lanes(_context, a, a_at, b, b_at, width):
    def generate(context, builder, signature, arguments):
        a_data = _data(context, builder, signature.args[0], arguments[0])
        b_data = _data(context, builder, signature.args[2], arguments[2])
        _, a_at, _, b_at, width = arguments
        held = cgutils.alloca_once(builder, _VECTOR)
        builder.store(ir.Constant(_VECTOR, [0.0] * LANES), held)
        with _each_vector(builder, width) as step:
            x = _load(builder, a_data, builder.add(a_at, step))
            y = _load(builder, b_data, builder.add(b_at, step))
            builder.store(builder.call(_fused(builder), [x, y, builder.load(held)]), held)
        # Halves are added until one number is left.
        value, lanes = builder.load(held), LANES
        while lanes > 1:
            lanes //= 2
            undefined = ir.Constant(value.type, ir.Undefined)
            low, high = (
                builder.shuffle_vector(
                    value, undefined, ir.Constant(ir.VectorType(_I32, lanes), list(part))
                )
                for part in (range(lanes), range(lanes, 2 * lanes))
            )
            value = builder.fadd(low, high)
        return builder.extract_element(value, _I32(0))

    whole = types.int64
    return types.float32(a, whole, b, whole, whole), generate


def add_scaled(out, out_at, factor, row, row_at, width):
    """Add a multiple of a row to another one."""
    out[out_at : out_at + width] += factor * row[row_at : row_at + width]


@compiled_as(add_scaled)
def _add_scaled_in_lanes(_context, out, out_at, factor, row, row_at, width):
    def generate(context, builder, signature, arguments):
        out_data = _data(context, builder, signature.args[0], arguments[0])
        row_data = _data(context, builder, signature.args[3], arguments[3])
        _, out_at, factor, _, row_at, width = arguments
        factor = _spread(builder, factor)
        with _each_vector(builder, width) as step:
            at = builder.add(out_at, step)
            x = _load(builder, row_data, builder.add(row_at, step))
            new = builder.call(_fused(builder), [factor, x, _load(builder, out_data, at)])
            _store(builder, new, out_data, at)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(out, whole, types.float32, row, whole, whole), generate


def copy(out, out_at, row, row_at, width):
    """Copy a row."""
    out[out_at : out_at + width] = row[row_at : row_at + width]


@compiled_as(copy)
def _copy_in_lanes(_context, out, out_at, row, row_at, width):
    def generate(context, builder, signature, arguments):
        out_data = _data(context, builder, signature.args[0], arguments[0])
        row_data = _data(context, builder, signature.args[2], arguments[2])
        _, out_at, _, row_at, width = arguments
        with _each_vector(builder, width) as step:
            part = _load(builder, row_data, builder.add(row_at, step))
            _store(builder, part, out_data, builder.add(out_at, step))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(out, whole, row, whole, whole), generate


_wide_tile = _tile_of(_WIDE_ROWS, _WIDE_VECTORS)
_wide_rest = _tile_of(_WIDE_ROWS, 1)
_tall_tile = _tile_of(_TALL_ROWS, 1)
_flat_tile = _tile_of(1, _FLAT_VECTORS)
_flat_rest = _tile_of(1, 1)


def has_wide_vectors():
    """Return whether LANES numbers are one register of the processor."""
    return vector_bits() >= 32 * LANES


@compiled_as(has_wide_vectors)
def _has_wide_vectors(_context):
    def generate(context, *_):
        return context.get_constant(types.boolean, has_wide_vectors())

    return types.boolean(), generate


@kernel
def add_product(out, out_at, a, a_at, a_row, a_next, b, b_at, rows, depth, width):
    """Add the product of two matrices: `out` (rows, width) += `a` (rows, depth) @ `b`.

    Args:
        out: float32, flat; the rows stand one after the other from `out_at` on.
        out_at: where it starts.
        a: float32, flat.
        a_at: where it starts.
        a_row: from a row to the next one,
        a_next: and from one entry of a row to the next; swapped, they transpose `a`.
        b: float32, flat; (depth, width), rows one after the other from `b_at` on.
        b_at: where it starts.
        rows: of `out` and `a`.
        depth: columns of `a`, rows of `b`.
        width: columns of `b` and `out`, a multiple of LANES.
    """
    if has_wide_vectors():
        done = _add_wide_tiles(out, out_at, a, a_at, a_row, a_next, b, b_at, rows, depth, width)
    else:
        done = _add_tall_tiles(out, out_at, a, a_at, a_row, a_next, b, b_at, rows, depth, width)
    _add_rows(out, out_at, a, a_at, a_row, a_next, b, b_at, done, rows, depth, width)


@kernel
def _add_wide_tiles(out, out_at, a, a_at, a_row, a_next, b, b_at, rows, depth, width):
    """Do as `add_product` with as many rows as fill tiles; return how many."""
    done = rows - rows % _WIDE_ROWS
    column = np.int64(0)
    while column < width:
        wide = width - column >= _WIDE_VECTORS * LANES
        for row in range(0, done, _WIDE_ROWS):
            at = out_at + row * width + column
            start = a_at + row * a_row
            if wide:
                _wide_tile(out, at, width, a, start, a_row, a_next, b, b_at + column, width, depth)
            else:
                _wide_rest(out, at, width, a, start, a_row, a_next, b, b_at + column, width, depth)
        column += _WIDE_VECTORS * LANES if wide else LANES
    return done


@kernel
def _add_tall_tiles(out, out_at, a, a_at, a_row, a_next, b, b_at, rows, depth, width):
    """Do as `add_product` with as many rows as fill tiles, if they are many; return how many.

    A panel, a vector of each row of `b`, is copied to where they are neighbours: at a distance from
    each other that is a power of 2 they share few lines of a small cache.
    """
    if rows < _FEWEST_ROWS:
        return np.int64(0)
    done = rows - rows % _TALL_ROWS
    panel = np.empty(depth * LANES, np.float32)
    for column in range(0, width, LANES):
        for k in range(depth):
            copy(panel, k * LANES, b, b_at + k * width + column, LANES)
        for row in range(0, done, _TALL_ROWS):
            at = out_at + row * width + column
            start = a_at + row * a_row
            _tall_tile(out, at, width, a, start, a_row, a_next, panel, 0, LANES, depth)
    return done


@kernel
def _add_rows(out, out_at, a, a_at, a_row, a_next, b, b_at, first, rows, depth, width):
    """Do as `add_product` from row `first` on, one row after the other."""
    for row in range(first, rows):
        start = a_at + row * a_row
        column = np.int64(0)
        while column < width:
            at = out_at + row * width + column
            flat = width - column >= _FLAT_VECTORS * LANES
            if flat:
                _flat_tile(out, at, width, a, start, a_row, a_next, b, b_at + column, width, depth)
            else:
                _flat_rest(out, at, width, a, start, a_row, a_next, b, b_at + column, width, depth)
            column += _FLAT_VECTORS * LANES if flat else LANES
