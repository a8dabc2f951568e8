"""Tables as SVG: the same picture as that of pixels, without pygame, and nothing hidden in it."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import gymnasium
import numpy as np
import pytest
from deals import shuffle_hidden_cards

from nap_env import nap_v0
from nap_env.cards import SUITS
from nap_env.game import Game
from nap_env.presets import PRESETS, resolve
from nap_env.records import main, replay
from nap_env.svg import svg
from nap_env.table import HIDDEN

SVG = "{http://www.w3.org/2000/svg}"
RANGES = [
    pytest.param(name, players, id=f"{name}-{players}")
    for name, rules in PRESETS.items()
    for players in sorted(set(rules.player_range))
]


def drawn(picture: str) -> tuple[list[str], list[str]]:
    """Return the texts of a picture and the suits drawn in it, those that it defines left out."""
    root = ElementTree.fromstring(picture)
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    suits = [element.attrib["href"][-1] for element in root.iter(f"{SVG}use")]
    return texts, suits


@pytest.mark.parametrize(("name", "players"), RANGES)
def test_any_table_can_be_drawn(name: str, players: int) -> None:
    game = Game(resolve(name), players, seed=1)
    pictures = [game.svg(players - 1)]
    while not game.over and game.games["num_played"][0] < players:
        game.step(game.random_action())
    pictures.append(game.svg())
    for picture in pictures:
        texts, _ = drawn(picture)
        assert {name, f"{players} players", *(f"seat {seat}" for seat in range(players))} <= {
            *texts
        }
    assert pictures[0] != pictures[1]


@pytest.mark.parametrize("name", PRESETS)
def test_unseen_cards_change_no_picture(name: str) -> None:
    rules = PRESETS[name]
    players = min(4, rules.player_range[1])
    chance = np.random.default_rng(5)
    for viewer in range(players):
        game = Game(rules, players, seed=viewer)
        for _ in range(5 * viewer):
            if not game.over:
                game.step(game.random_action())
        other = game.clone()
        shuffle_hidden_cards(other, viewer, chance)
        assert game.svg(viewer) == other.svg(viewer)
        assert viewer or game.svg() != other.svg()


def test_only_the_viewers_cards_are_drawn() -> None:
    game = Game("standard", 4, seed=3)
    hand = game.hand(2)
    texts, suits = drawn(game.svg(2))
    ranks = [rank for rank in texts if re.fullmatch("[2-9JQKA]|10", rank)]
    assert sorted(ranks) == sorted(card[0].replace("T", "10") for card in hand)
    corners_and_middles = {suit: suits.count(suit) for suit in SUITS if suit in suits}
    assert corners_and_middles == {
        s: 2 * sum(card[1] == s for card in hand) for s in suits if s in SUITS
    }
    assert HIDDEN not in game.svg(2)


def test_names_of_rules_are_text_and_no_elements() -> None:
    game = Game("standard", 4, seed=0)
    table = replace(game.table(0), rules="<script>&")
    assert "<script>" not in svg(table)
    assert "<script>&" in drawn(svg(table))[0]


def test_a_notebook_shows_what_the_seat_to_move_sees() -> None:
    game = Game("standard", 4, seed=0)
    assert game._repr_svg_() == game.svg(game.seat) != game.svg()
    while not game.over:
        game.step(game.random_action())
    assert game._repr_svg_() == game.svg()


@pytest.mark.parametrize("pygame", [True, False])
def test_environments_render_it_without_pygame(
    pygame: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pygame:
        monkeypatch.setitem(sys.modules, "pygame", None)
    env = nap_v0.env(render_mode="svg")
    env.reset(seed=4)
    assert env.render() == Game("standard", 4, seed=4)._repr_svg_()
    single = gymnasium.make("nap_env:nap/Nap-v0", seat=0, render_mode="svg")
    single.reset(seed=4)
    assert drawn(single.render())
    tables = gymnasium.make_vec("nap_env:nap/Nap-v0", num_envs=2, render_mode="svg")
    tables.reset(seed=4)
    assert len({*tables.render()}) == 2


# The command.

EXAMPLES = Path(__file__).parent / "examples.jsonl"
FIRST, SECOND = (json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()[:2])


def test_the_command_draws_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "deals.jsonl"
    file.write_text(f"{json.dumps(FIRST)}\n\n{json.dumps(SECOND)}\n", encoding="utf-8")
    out, count = tmp_path / "deals.svg", len(FIRST["events"])
    assert main(["svg", str(file)]) == 0
    assert capsys.readouterr().out == f"{out}: after {count} of {count} events\n"
    assert out.read_text(encoding="utf-8") == replay(FIRST).svg()
    other = tmp_path / "other.svg"
    told = ["--line", "3", "--events", "0", "--seat", "2", "--out", str(other)]
    assert main(["svg", str(file), *told]) == 0
    dealt = replay(SECOND | {"events": [], "legal": []})
    assert other.read_text(encoding="utf-8") == dealt.svg(2) != dealt.svg(1)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (["--line", "99"], "examples.jsonl: line 99 is no deal"),
        (["--events", "17"], "events=17: "),
        (["--seat", "4"], "viewer=4: "),
    ],
)
def test_the_command_refuses_what_is_not_there(
    told: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["svg", str(EXAMPLES), *told, "--out", str(tmp_path / "no.svg")])
    assert end.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "no.svg").exists()
