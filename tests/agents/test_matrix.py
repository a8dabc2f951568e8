"""Matrix products in compiled code against NumPy."""

import numpy as np
import pytest

from nap_env.agents import matrix
from nap_env.engine.kernel import kernel


@kernel
def multiply(out, a, a_row, a_next, b, rows, depth, width):
    matrix.add_product(out, 0, a, 0, a_row, a_next, b, 0, rows, depth, width)


@kernel
def dot(a, b, width):
    return matrix.dot(a, 0, b, 0, width)


@kernel
def add_scaled(out, factor, row, width):
    matrix.add_scaled(out, 0, np.float32(factor), row, 0, width)


def normal(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("rows", [1, 5, 6, 7, 256])
@pytest.mark.parametrize(("depth", "width"), [(16, 16), (128, 64), (3, 80), (128, 128), (48, 208)])
def test_add_product_adds_the_product(rows, depth, width):
    a, b, before = normal(rows, depth), normal(depth, width), normal(rows, width)
    out = before.copy()
    multiply(out.ravel(), a.ravel(), depth, 1, b.ravel(), rows, depth, width)
    np.testing.assert_allclose(out, before + a @ b, atol=2e-4)


def test_swapped_steps_transpose_the_first_matrix():
    a, b = normal(100, 32), normal(100, 64)
    out = np.zeros((32, 64), np.float32)
    multiply(out.ravel(), a.ravel(), 1, 32, b.ravel(), 32, 100, 64)
    np.testing.assert_allclose(out, a.T @ b, atol=2e-4)


@pytest.mark.parametrize("width", [16, 48, 128])
def test_dot_and_add_scaled(width):
    a, b = normal(width), normal(width, 1).ravel()
    assert dot(a, b, width) == pytest.approx(float(a @ b), abs=1e-4)
    out = a.copy()
    add_scaled(out, 2.5, b, width)
    np.testing.assert_allclose(out, a + 2.5 * b, rtol=1e-6)


def test_what_runs_without_the_jit_says_the_same():
    a, b, c = normal(7 * 20), normal(20 * 32, 1).ravel(), np.zeros(7 * 32, np.float32)
    matrix._tile_of(7, 2)(c, 0, 32, a, 0, 20, 1, b, 0, 32, 20)
    out = np.zeros(7 * 32, np.float32)
    multiply(out, a, 20, 1, b, 7, 20, 32)
    np.testing.assert_allclose(out, c, atol=1e-5)
    assert matrix.dot(a, 0, a, 0, 32) == pytest.approx(dot(a, a, 32), rel=1e-5)
    matrix.add_scaled(c, 16, np.float32(2), a, 0, 16)
    np.testing.assert_allclose(c[16:32], out[16:32] + 2 * a[:16], atol=1e-5)
