"""Matrix products, ours and NumPy's, in turn: some rows of `benchmarks.training_speed`.

They run in a process of their own, as NumPy's library of linear algebra takes its number of threads
from the environment when it is loaded.
"""

import json
import os
import statistics
import subprocess
import sys
from time import thread_time
from typing import Any

import numpy as np

from nap_env.agents.matrix import add_product, aligned
from nap_env.engine.kernel import kernel
from training.provenance import ROOT

SHAPES = ((256, 128, 128), (256, 256, 256))  # rows, depth, width: a block of rows, a hidden layer
ROUNDS = 100
CALLS = 20
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


@kernel
def _multiply(out, a, b, rows, depth, width):
    add_product(out, 0, a, 0, depth, 1, b, 0, rows, depth, width)


def compared(rows: int, depth: int, width: int) -> dict[str, Any]:
    """Multiply in turn; give both rates, in GFLOP/s, and the median of the ratios of the rounds."""
    shape = (rows, depth, width)
    random = np.random.default_rng(0)
    a, b, out = aligned(rows, depth), aligned(depth, width), aligned(rows, width)
    a[:], b[:] = random.normal(size=a.shape), random.normal(size=b.shape)
    flat = (out.ravel(), a.ravel(), b.ravel())
    products = {
        "ours": lambda: _multiply(*flat, *shape),
        "numpy": lambda: np.matmul(a, b, out=out),
    }
    rates: dict[str, list[float]] = {name: [] for name in products}
    for _ in range(1 + ROUNDS):  # the first one compiles
        for name, product in products.items():
            start = thread_time()
            for _ in range(CALLS):
                product()
            rates[name].append(2e-9 * rows * depth * width * CALLS / (thread_time() - start))
    ratios = [ours / theirs for ours, theirs in zip(*rates.values(), strict=True)][1:]
    medians = {name: statistics.median(of_name[1:]) for name, of_name in rates.items()}
    return {"shape": shape, **medians, "ratio": statistics.median(ratios)}


def measured() -> list[dict[str, Any]]:
    """Compare the products of all SHAPES on one thread."""
    program = f"import json; from {__name__} import *; "
    program += "print(json.dumps([compared(*shape) for shape in SHAPES]))"
    child = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, **ONE_THREAD},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    products: list[dict[str, Any]] = json.loads(child.stdout)
    return products
