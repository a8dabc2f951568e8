"""Deals as a page for a browser: one HTML file that replays them step by step.

Every step is worked out here, by the engine, so that the page knows no rules. It is a replay and
no secret: it has all cards, and hides those of other seats only from the eye.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from nap_env.cards import CARDS
from nap_env.game import Game
from nap_env.presets import describe

UNUSED = ("events", "stock")
"""Fields of a table that the page does not show; they would be a quarter of its size."""


def replayed(game: Game, events: Iterable[Any], title: str) -> dict[str, Any]:
    """Return a deal as the page wants it, and play it to its end.

    Args:
        game: a game in which the deal is set up and nothing has happened yet.
        events: [seat, action name] pairs, as in a record; each of them legal.
        title: what the page calls the deal.

    Returns:
        `title`, `rules` (text) and `steps`: the table after each event, the first one as it is
        dealt. A step has the fields of `nap_env.table.Table` with all cards shown but not UNUSED,
        `event` ([seat, action name, whether a card was marked and not played], None at first) and
        `legal`, the actions of the seat to move; of these only what the step before it has
        otherwise.
    """
    now = _state(game)
    steps = [now]
    for seat, name in events:
        game.replay([[seat, name]])
        before, now = now, _state(game)
        marked = name in CARDS and now["calls"] != before["calls"]
        now["event"] = [seat, name, marked]
        steps.append({key: value for key, value in now.items() if before[key] != value})
    return {"title": title, "rules": describe(game.rules), "steps": steps}


def _state(game: Game) -> dict[str, Any]:
    shown = {key: value for key, value in asdict(game.table()).items() if key not in UNUSED}
    return {**shown, "event": None, "legal": game.legal()}


def page(deals: Sequence[Mapping[str, Any]]) -> str:
    """Return a self-contained HTML page.

    Args:
        deals: one or more, each as `replayed` returns it.

    Raises:
        ValueError: there are no deals.
    """
    if not deals:
        raise ValueError("a page needs at least one deal")
    template = files("nap_env").joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps(deals, separators=(",", ":"))
    # No tag of the page may be seen inside its data.
    return template.replace("@DEALS@", data.replace("<", "\\u003c"))
