"""How results of `training.evaluate` are told: tables for people, a line of JSON, a picture."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
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


def _heads(results: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Go through results with what their lines in a table begin with."""
    names = [(label(result["agent"]), label(result["against"])) for result in results]
    widths = [max(map(len, column)) for column in zip(*names, strict=True)]
    for result, (agent, other) in zip(results, names, strict=True):
        yield (
            result,
            f"{agent:<{widths[0]}}  {other:<{widths[1]}}  {result['format']:<11}"
            f"{result['policy']:<9}",
        )


def _interval(ends: Sequence[float]) -> str:
    return f"{ends[0]:+.1f} to {ends[1]:+.1f}"


def _strengths(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    for number, (result, head) in enumerate(_heads(results)):
        if number == 0:
            title = f"{result['rules']}, {result['num_players']} players"
            yield (
                f"{title:<{len(head)}}{'chips per 100':>13}  {'95 % by t':<19}{'by bootstrap':<19}"
                f"{'sets':>6}{'by variate':>12}  {'95 % by t':<19}plain would need"
            )
        line = (
            f"{head}{result['chips_per_100']:>+13.1f}  {_interval(result['ci95']):<19}"
            f"{_interval(result['bootstrap95']):<19}{result['sets']:>6}"
        )
        variate = result["control_variate"]
        if "none" not in variate:
            line += f"{variate['chips_per_100']:>+12.1f}  {_interval(variate['ci95']):<19}"
            line += f"{variate['sets_ratio'] or 1:.1f} x the sets"
        yield line
    for reason in sorted({result["control_variate"].get("none", "") for result in results} - {""}):
        yield f"no control variate: {reason}"
    for result in results:
        low, high = result.get("control", {}).get("ci999", (0, 0))
        if not low <= 0 <= high:
            yield (
                f"WARNING: {label(result['agent'])} against itself, {result['format']} "
                f"{result['policy']}, is not 0 but {_interval((low, high))}: trust none of this"
            )


def _contracts(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    for number, (result, head) in enumerate(_heads(results)):
        if number == 0:
            columns = f"{'a hundred':>10}{'made':>6}{'chips':>8}"
            yield f"{'':<{len(head) + 12}}{'deals it declares in':<26}deals the other declares in"
            yield f"{'contracts':<{len(head)}}{'':<12}{columns}  {columns}"
        for contract in result["contracts"]:
            cells = [
                f"{told['per_100_deals']:>10.2f}{told['made']:>6.0%}{told['chips']:>+8.2f}"
                if (told := contract.get(role))
                else f"{'-':>10}{'':14}"
                for role in ("declares", "defends")
            ]
            yield f"{head}{contract['bid']:<12}{'  '.join(cells)}".rstrip()


def _calibrations(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    if all(result["calibration"] is None for result in results):
        yield "calibration: none, the agent states no expectation"
        return
    for number, (result, head) in enumerate(_heads(results)):
        if number == 0:
            yield f"{'chips where it bids':<{len(head)}}{'bids':>8}{'expected':>10}{'got':>8}"
        for told in result["calibration"] or []:
            yield f"{head}{told['bids']:>8}{told['expected']:>+10.2f}{told['got']:>+8.2f}"
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
