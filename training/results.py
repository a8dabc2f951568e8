"""How results of `training.evaluate` are told: tables for people, a line of JSON, a picture."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from training.arena import CHECKPOINT


def report(results: Sequence[dict[str, Any]], **more: Any) -> None:
    """Print tables for people, if there is anything in them, then one line of JSON."""
    for table in (_strengths, _contracts, _calibrations) if results else ():
        print("\n".join(table(results)), end="\n\n")
    print(json.dumps({"results": results, **more}))


def label(name: str) -> str:
    """Return a name as it fits in a table: of weights, the folder's and the file's."""
    path = Path(name)
    return f"{path.parent.name}/{path.stem}" if path.suffix == CHECKPOINT else name


def _pair(result: dict[str, Any]) -> str:
    return f"{label(result['agent'])} against {label(result['against'])}"


def _rows(results: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Go through results with what stands above their lines: what is new since the one before."""
    pair = ""
    for result in results:
        heads = [f"  {result['format']}, {result['policy']}"]
        if pair != (pair := _pair(result)):
            heads = [pair, *heads]
        yield result, "\n".join(heads)


def _interval(ends: Sequence[float]) -> str:
    return f"{ends[0]:+.1f} to {ends[1]:+.1f}"


def _strengths(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    title = f"{results[0]['rules']}, {results[0]['num_players']} players"
    yield f"{title:<43}{'chips per 100':>14}  95 % interval"
    pair = ""
    for result in results:
        if pair != (pair := _pair(result)):
            yield pair
        how = f"  {result['format']:<11}{result['policy']:<9}{result['sets']:,} sets"
        yield f"{how:<43}{result['chips_per_100']:>+14.1f}  {_interval(result['ci95'])}"
        yield f"{'':13}{'bootstrap':<46}{_interval(result['bootstrap95'])}"
        variate = result["control_variate"]
        if "none" not in variate:
            how = f"{'':13}variate, worth {variate['sets_ratio'] or 1:.1f} x the sets"
            yield f"{how:<43}{variate['chips_per_100']:>+14.1f}  {_interval(variate['ci95'])}"
    for reason in sorted({result["control_variate"].get("none", "") for result in results} - {""}):
        yield fill(f"no control variate: {reason}", 80)
    for result in results:
        low, high = result.get("control", {}).get("ci999", (0, 0))
        if not low <= 0 <= high:
            yield fill(
                f"WARNING: {label(result['agent'])} against itself, {result['format']} "
                f"{result['policy']}, is not 0 but {_interval((low, high))}: trust none of this",
                80,
            )


def _contracts(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    columns = f"{'a hundred':>10}{'made':>6}{'chips':>8}"
    yield f"{'':<18}{'deals it declares in':<26}deals the other declares in"
    yield f"{'contracts':<16}{columns}  {columns}"
    for result, head in _rows(results):
        yield head
        for contract in result["contracts"]:
            cells = [
                f"{told['per_100_deals']:>10.2f}{told['made']:>6.0%}{told['chips']:>+8.2f}"
                if (told := contract.get(role))
                else f"{'-':>10}{'':14}"
                for role in ("declares", "defends")
            ]
            yield f"    {contract['bid']:<12}{'  '.join(cells)}".rstrip()


def _calibrations(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    if all(result["calibration"] is None for result in results):
        yield "calibration: none, the agent states no expectation"
        return
    yield f"{'chips where it bids':<24}{'bids':>8}{'expected':>10}{'got':>8}"
    for result, head in _rows(results):
        if result["calibration"]:
            yield head
        for told in result["calibration"] or []:
            yield f"{'':24}{told['bids']:>8}{told['expected']:>+10.2f}{told['got']:>+8.2f}"
    yield "expected: by weights, which learn it from play against themselves"


def draw_matrix(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Save a heat map of what each agent, a row, wins on its own from the others, the columns."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(result["agent"] for result in results))
    size = len(names)
    chips = np.array([result["chips_per_100"] for result in results]).reshape(size, size)
    reach = np.array([np.ptp(result["ci95"]) / 2 for result in results]).reshape(size, size)
    figure = Figure(figsize=(4 + 1.2 * size, 2 + 0.8 * size), layout="constrained")
    axes = figure.add_subplot()
    most = max(float(np.abs(chips).max()), 1.0)
    image = axes.imshow(chips, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    for row, column in np.ndindex(size, size):
        axes.text(
            column,
            row,
            f"{chips[row, column]:+.1f}\n± {reach[row, column]:.1f}",
            ha="center",
            va="center",
            color="white" if abs(chips[row, column]) > 0.6 * most else "black",
        )
    axes.set_xticks(range(size), [label(name) for name in names], rotation=30, ha="right")
    axes.set_yticks(range(size), [label(name) for name in names])
    axes.set_xlabel("in all other seats")
    axes.set_ylabel("in one seat")
    axes.set_title(
        f"{results[0]['rules']}, {results[0]['num_players']} players\n"
        "chips per 100 deals ± half of the 95 % interval",
        fontsize="medium",
    )
    figure.colorbar(image)
    figure.savefig(path, dpi=150)
