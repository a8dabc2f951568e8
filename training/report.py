"""A run as one HTML page: `python -m training.report RUN` writes RUN/report.html.

The page holds the curves of metrics.jsonl as pictures, the results of the measurement at the end,
and what the run was told and ran on. It needs nothing but itself.
"""

import base64
import html
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
import yaml

from nap_env.terminal import counted, run
from training.checkpoint import existing, load_log

POINTS = 400  # of a curve, at most: means of neighbouring updates

PLOTS = (  # title, unit, prefixes of the tags; a tag's rest is its label
    ("Strength on held-out deals", "chips per 100 deals", ("eval/",)),
    ("What a best answer gains", "chips a deal", ("eval/exploitability",)),
    ("Against its opponents", "chips per 100 deals", ("opponents/",)),
    ("Contracts", "share of the deals", ("nap/bid_", "nap/passed_out")),
    ("Contracts made", "share of the contracts", ("nap/made_",)),
    ("What declarers win", "chips per contract", ("nap/chips_",)),
    ("What they expected where they bid", "chips per contract", ("nap/expected_",)),
    ("Entropy", "nats per decision", ("nap/entropy_",)),
    ("How well returns are foretold", "explained variance", ("losses/explained_variance",)),
    ("Spread of advantages", "reward", ("losses/advantage_",)),
    ("How far an update moves the policy", "nats per decision", ("losses/approx_kl",)),
    ("Speed", "decisions trained per second", ("charts/decisions_per_second",)),
)

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; padding: 0 1rem;
  color: #1c1c1c; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(30rem, 1fr)); gap: 1rem }
img { width: 100%; height: auto }
table { border-collapse: collapse } td, th { padding: .2rem .8rem .2rem 0; text-align: left }
td.number { text-align: right; font-variant-numeric: tabular-nums }
tr { border-bottom: 1px solid #ddd }
"""


@dataclass(frozen=True)
class Config:
    """Draw a run as one HTML page."""

    run: tyro.conf.Positional[Path]
    """Folder of the run."""
    out: Annotated[Path | None, tyro.conf.arg(name="out")] = None
    """File to write; by default report.html in the folder."""


def thinned(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Return at most POINTS points of a curve, means of neighbours."""
    parts = min(POINTS, len(x))
    return (
        [part.mean() for part in np.array_split(x, parts)],
        [part.mean() for part in np.array_split(y, parts)],
    )


def curves(lines: Sequence[dict[str, float]], prefixes: Sequence[str]) -> dict[str, Any]:
    """Return the curves whose tags start so, by label: decisions and values.

    A tag that starts as those of another plot, too, is of the plot that says more of it.
    """
    mine = tuple(prefixes)
    others = tuple(
        prefix
        for _, _, of_plot in PLOTS
        for prefix in of_plot
        if prefix not in mine and prefix.startswith(mine)
    )
    tags = sorted({tag for line in lines for tag in line if tag.startswith(mine)})
    found = {}
    for tag in tags:
        if tag.endswith("_ci95") or tag.startswith(others):
            continue
        rows = [line for line in lines if tag in line]
        x, y = (np.array([row[name] for row in rows]) for name in ("decisions", tag))
        prefix = max((each for each in prefixes if tag.startswith(each)), key=len)
        label = tag.removeprefix(prefix).strip("_") or tag.partition("/")[2].replace("_", " ")
        half = [row[f"{tag}_ci95"] for row in rows if f"{tag}_ci95" in row]
        found[label] = (x, y, np.array(half))
    return found


def draw(title: str, unit: str, found: dict[str, Any], colours: dict[str, str]) -> str:
    """Return a plot as the source of an HTML image; a label has the same colour everywhere."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for label, (x, y, half) in found.items():
        if len(half) == len(y) > 0:
            axes.errorbar(
                x / 1e6, y, half, capsize=3, label=label, marker="o", ms=3, color=colours[label]
            )
        else:
            x, y = thinned(x / 1e6, y)
            axes.plot(x, y, label=label, linewidth=1.4, color=colours[label])
    axes.set_title(title, loc="left")
    axes.set_xlabel("million decisions trained")
    axes.set_ylabel(unit)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if len(found) > 1:
        axes.legend(fontsize=8, ncols=1 + len(found) // 7)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def rows_of(table: dict[str, Any]) -> str:
    """Return a mapping as the rows of a table."""
    return "".join(
        f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(str(value))}</td></tr>"
        for name, value in table.items()
    )


def results_of(results: Sequence[dict[str, Any]]) -> str:
    """Return the measurement at the end as a table."""
    rows = "".join(
        f"<tr><td>{html.escape(row['against'])}</td><td>{row['format']}</td>"
        f"<td>{row['policy']}</td><td class=number>{row['chips_per_100']:+.1f}</td>"
        f"<td class=number>{row['ci95'][0]:+.1f} to {row['ci95'][1]:+.1f}</td>"
        f"<td class=number>{row['sets']}</td></tr>"
        for row in results
    )
    heads = ("against", "format", "policy", "chips per 100 deals", "95 % interval", "sets")
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{rows}</table>"


def _mapping(path: Path) -> dict[str, Any]:
    """Read a file of YAML or JSON."""
    try:
        told = (yaml.safe_load if path.suffix == ".yaml" else json.loads)(path.read_bytes())
    except (yaml.YAMLError, ValueError):
        told = None
    if not isinstance(told, dict):
        raise ValueError(f"{path}: not what a run writes")
    return told


def page(folder: Path) -> str:
    """Return the page of a run.

    Raises:
        OSError: a file is missing.
        ValueError: a file is not what a run writes, or nothing has been logged yet.
    """
    lines = load_log(existing(folder / "metrics.jsonl"))
    if not lines:
        raise ValueError(f"{folder}: nothing has been logged yet")
    told, where = _mapping(folder / "config.yaml"), _mapping(folder / "versions.json")
    rules, players = (told.get(name) for name in ("rules", "num_players"))
    if not isinstance(rules, list) or not isinstance(players, list):
        raise ValueError(f"{folder / 'config.yaml'}: not what a run writes")
    end = folder / "results.json"
    try:
        results = _mapping(end)["results"] if end.exists() else []
        at_the_end = results_of(results) if results else ""
    except (LookupError, TypeError, ValueError):
        raise ValueError(f"{end}: not what a run writes") from None
    found = {title: curves(lines, prefixes) for title, _, prefixes in PLOTS}
    labels = dict.fromkeys(label for lines_of in found.values() for label in lines_of)
    colours = {label: f"C{number % 10}" for number, label in enumerate(labels)}
    plots = [
        f'<img alt="{title}" src="{draw(title, unit, found[title], colours)}">'
        for title, unit, _ in counted(PLOTS, "drawing", "plots")
        if found[title]
    ]
    decisions, deals = int(lines[-1]["decisions"]), int(lines[-1]["charts/deals"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(folder.name)}</title><style>{STYLE}</style>"
        f"<h1>{html.escape(folder.name)}</h1>"
        f"<p>{html.escape(' '.join(map(str, rules)))}, "
        f"{html.escape(' '.join(map(str, players)))} players; "
        f"{decisions:,} decisions in {deals:,} deals, {len(lines):,} updates.</p>"
        + (f"<h2>At the end</h2>{at_the_end}" if at_the_end else "")
        + f"<h2>On the way</h2><div class=plots>{''.join(plots)}</div>"
        f"<h2>Told</h2><table>{rows_of(told)}</table>"
        f"<h2>Ran on</h2><table>{rows_of(where)}</table></html>\n"
    )


def main(argv: Sequence[str] | None = None, prog: str = "python -m training.report") -> None:
    """Run the command.

    Raises:
        SystemExit: with status 1 for a folder that is not a run.
    """
    config = tyro.cli(Config, args=argv, prog=prog)
    out = config.out or config.run / "report.html"
    try:
        out.write_text(page(config.run), encoding="utf-8")
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    print(out)


if __name__ == "__main__":
    sys.exit(run(main))
