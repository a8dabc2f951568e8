"""Matrix products in compiled code against NumPy."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from nap_env.agents import matrix
from nap_env.engine.kernel import kernel


@kernel
def multiply(out, a, a_row, a_next, b, rows, depth, width):
    matrix.add_product(out, 0, a, 0, a_row, a_next, b, 0, rows, depth, width)


@kernel
def multiply_by_wide_tiles(out, a, b, rows, depth, width):
    return matrix._add_wide_tiles(out, 0, a, 0, depth, 1, b, 0, rows, depth, width)


@kernel
def multiply_by_tall_tiles(out, a, b, rows, depth, width):
    return matrix._add_tall_tiles(out, 0, a, 0, depth, 1, b, 0, rows, depth, width)


@kernel
def multiply_by_rows(out, a, b, rows, depth, width):
    matrix._add_rows(out, 0, a, 0, depth, 1, b, 0, 0, rows, depth, width)


@kernel
def dot(a, b, width):
    return matrix.dot(a, 0, b, 0, width)


@kernel
def add_scaled(out, factor, row, width):
    matrix.add_scaled(out, 0, np.float32(factor), row, 0, width)


@kernel
def copy(out, row, width):
    matrix.copy(out, 16, row, 0, width)


def normal(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("rows", [1, 5, 6, 7, 256])
@pytest.mark.parametrize(("depth", "width"), [(16, 16), (128, 64), (3, 80), (128, 128), (48, 208)])
def test_add_product_adds_the_product(rows, depth, width):
    a, b, before = normal(rows, depth), normal(depth, width), normal(rows, width)
    out = before.copy()
    multiply(out.ravel(), a.ravel(), depth, 1, b.ravel(), rows, depth, width)
    np.testing.assert_allclose(out, before + a @ b, atol=2e-4)


@pytest.mark.parametrize("tiled", [multiply_by_wide_tiles, multiply_by_tall_tiles])
@pytest.mark.parametrize(("depth", "width"), [(16, 16), (128, 64), (3, 80), (48, 208)])
def test_tiles_for_any_processor_give_the_same_bits(tiled, depth, width):
    rows = 101
    a, b, before = normal(rows, depth), normal(depth, width), normal(rows, width)
    by_rows, out = before.copy(), before.copy()
    multiply_by_rows(by_rows.ravel(), a.ravel(), b.ravel(), rows, depth, width)
    done = tiled(out.ravel(), a.ravel(), b.ravel(), rows, depth, width)
    assert rows - 8 < done < rows
    assert (out[:done] == by_rows[:done]).all()
    assert (out[done:] == before[done:]).all()


def test_swapped_steps_transpose_the_first_matrix():
    a, b = normal(100, 32), normal(100, 64)
    out = np.zeros((32, 64), np.float32)
    multiply(out.ravel(), a.ravel(), 1, 32, b.ravel(), 32, 100, 64)
    np.testing.assert_allclose(out, a.T @ b, atol=2e-4)


@pytest.mark.parametrize("width", [16, 48, 128])
def test_dot_add_scaled_and_copy(width):
    a, b = normal(width), normal(width, 1).ravel()
    assert dot(a, b, width) == pytest.approx(float(a @ b), abs=1e-4)
    out = a.copy()
    add_scaled(out, 2.5, b, width)
    np.testing.assert_allclose(out, a + 2.5 * b, rtol=1e-6)
    out = np.zeros(16 + width + 16, np.float32)
    copy(out, a, width)
    assert (out[16:-16] == a).all() and not out[:16].any() and not out[-16:].any()


def test_what_runs_without_the_jit_says_the_same():
    a, b, c = normal(7 * 20), normal(20 * 32, 1).ravel(), np.zeros(7 * 32, np.float32)
    matrix._tile_of(7, 2)(c, 0, 32, a, 0, 20, 1, b, 0, 32, 20)
    out = np.zeros(7 * 32, np.float32)
    multiply(out, a, 20, 1, b, 7, 20, 32)
    np.testing.assert_allclose(out, c, atol=1e-5)
    assert matrix.dot(a, 0, a, 0, 32) == pytest.approx(dot(a, a, 32), rel=1e-5)
    matrix.add_scaled(c, 16, np.float32(2), a, 0, 16)
    np.testing.assert_allclose(c[16:32], out[16:32] + 2 * a[:16], atol=1e-5)
    matrix.copy(c, 32, a, 16, 32)
    assert (c[32:64] == a[16:48]).all()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of its processors")
def test_the_tile_is_chosen_by_what_code_is_made_for():
    code = "from nap_env.engine.compiler import vector_bits; print(vector_bits())"
    for name, bits in ("x86-64-v4", 512), ("x86-64-v3", 256), ("x86-64", 128):
        chosen = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""}
        child = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **chosen}, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        assert int(child.stdout) == bits, name
