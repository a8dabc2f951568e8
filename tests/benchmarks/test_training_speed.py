"""The benchmark of training: what it counts, and its table."""

import pytest

from benchmarks import matrix_product, training_speed
from benchmarks.training_speed import Options
from nap_env.engine.compiler import vector_bits

PRODUCT = {"shape": [256, 128, 128], "ours": 210.0, "numpy": 200.0, "ratio": 1.0512}


def test_a_row_counts_decisions_and_says_where_the_time_goes(monkeypatch):
    small = {"hidden": (16,), "epochs": 1, "num_games": 64}
    monkeypatch.setattr(training_speed, "ROWS", {"small": ("1 x 16", small, 1.0)})
    monkeypatch.setattr(matrix_product, "measured", lambda: [PRODUCT])
    report = training_speed.measured(Options(seconds=0.2, rules="parlett", players=3))
    (row,) = report["results"]
    assert row["seconds"] >= 0.2
    assert row["rate"] == row["decisions"] / row["seconds"]
    # Three hands of five cards: at most 3 calls and 12 cards are decisions, the last trick is not.
    assert 0 < row["decisions"] < (3 + 12) * 64 * row["updates"]
    assert 0.1 < row["forced"] < 0.9
    assert row["play"] > 0 and row["learn"] > 0 and row["play"] + row["learn"] < 1
    _, line, product, *where = training_speed.table(report).splitlines()
    assert line.startswith("1 x 16") and f"{row['forced']:.0%}" in line
    assert product.split() == "matrix product 256x128x128, ours / NumPy 1.05 x 1.0 x".split()
    assert f"vectors of {vector_bits()} bits" in " ".join(where)


def test_a_length_that_measures_nothing_is_refused():
    with pytest.raises(ValueError, match="seconds=0: more than 0"):
        Options(seconds=0)


def test_products_of_matrices_are_compared():
    row = matrix_product.compared(24, 16, 32)
    assert row["ours"] > 0 and row["numpy"] > 0 and row["ratio"] > 0
