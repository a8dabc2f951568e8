"""The table as a picture: it shows the game, to a viewer only what that may see, on any machine."""

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from deals import act, deal

from nap_env import nap_v0
from nap_env.cards import CARDS
from nap_env.envs.single import NapEnv
from nap_env.envs.vector import NapVectorEnv
from nap_env.game import Game
from nap_env.picture import HEIGHT, HIDDEN, WIDTH, picture, table
from nap_env.presets import PRESETS, resolve
from nap_env.records import replay, sample

SIZE = (HEIGHT, WIDTH, 3)
RANGES = [
    pytest.param(name, players, id=f"{name}-{players}")
    for name, rules in PRESETS.items()
    for players in sorted(set(rules.player_range))
]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nap_env.picture.RENDER_FPS", 0)


@pytest.mark.parametrize(("name", "players"), RANGES)
def test_any_table_can_be_drawn(name: str, players: int) -> None:
    game = Game(resolve(name), players, seed=1)
    pictures = [picture(game, players - 1)]
    while not game.over and game.games["num_played"][0] < players:
        game.step(game.random_action())
    pictures.append(picture(game))
    for shown in pictures:
        assert shown.shape == SIZE and shown.dtype == np.uint8 and shown.flags.c_contiguous
    assert not np.array_equal(*pictures)


def test_a_table_in_words_of_the_rules() -> None:
    game = deal("standard", {0: "AS KS 9S QH 8D", 1: "QS TS AH 9D KC", 2: "JS 8S KH AD QC"})
    act(game, "three pass pass pass  AS TS 8S 9C  KS")
    seen = table(game, 1)
    assert seen.hands[1] == ["QS", "AH", "9D", "KC"]
    assert seen.hands[0] == [HIDDEN] * 3
    assert seen.calls == [(0, "three"), (1, "pass"), (2, "pass"), (3, "pass")]
    assert seen.tricks == [[(0, "AS"), (1, "TS"), (2, "8S"), (3, "9C")], [(0, "KS")]]
    assert (seen.winners, seen.won, seen.complete) == ([0, 0], [1, 0, 0, 0], False)
    assert (seen.contract, seen.declarer, seen.trump, seen.no_trumps) == ("three", 0, "S", False)
    assert (seen.dealer, seen.to_move, seen.phase) == (3, 1, "play")
    assert (seen.pool, seen.payments, seen.outcome) == (None, None, None)
    assert table(game, playing=False).to_move is None


def test_the_end_of_a_deal_tells_who_paid() -> None:
    game = deal("standard", {0: "AS KS 9S QH 8D"})
    act(game, "misere pass pass pass")
    while not game.over:
        game.step(game.random_action())
    seen = table(game)
    assert seen.outcome in ("seat 0 makes misere", "seat 0 fails misere")
    assert seen.payments is not None and sum(seen.payments) == 0
    assert seen.no_trumps and seen.to_move is None
    assert list(seen.scores) == list(seen.payments)


@pytest.mark.parametrize("name", PRESETS)
def test_winners_are_those_of_the_text(name: str) -> None:
    players = PRESETS[name].player_range[1]
    for record in sample(PRESETS[name], players, 5, seed=3):
        game = replay(record)
        lines = [line for line in game.text().splitlines() if line.startswith("trick ")]
        arrows = [line.split("-> ")[1] for line in lines if "-> " in line]
        assert [str(seat) for seat in table(game).winners[: len(arrows)]] == arrows


def test_the_widow_is_shown_to_who_has_looked() -> None:
    game = deal("peep", widow="AS")
    act(game, "pass look")
    assert [list(table(game, seat).widow) for seat in (None, 0, 1)] == [["AS"], [HIDDEN], ["AS"]]
    assert list(table(game, 0).looked) == [False, True, False, False]


def test_the_number_of_cards_changed_is_shown() -> None:
    game = deal("draw", {0: "AS KS QS JS 2C"})
    act(game, "nap pass pass pass  2C done")
    assert table(game, 1).exchanged == [1, 0, 0, 0]
    game = deal("ecarte", {0: "AS KS QS 3C 2C"})
    act(game, "2C 3C done")
    assert table(game, 1).exchanged == [2, 0, 0, 0]


def test_cards_put_away_are_shown_to_their_seat_only() -> None:
    game = deal("draw", {0: "AS KS QS JS 2C"})
    act(game, "nap pass pass pass  2C")
    assert table(game, 0).calls[-1] == table(game, None).calls[-1] == (0, "2C")
    assert table(game, 1).calls[-1] == (0, HIDDEN)


def test_a_joker_that_is_led_lies_open_while_its_suit_is_named() -> None:
    game = deal("pub", {0: "JK KS QS JS TC"})
    act(game, "nap pass pass pass  JK")
    seen = table(game, 1)
    assert (seen.phase, seen.to_move) == ("name", 0)
    assert (seen.tricks, seen.winners) == ([[(0, "JK")]], [0])
    assert seen.calls[-1] == (3, "pass")
    act(game, "spades")
    assert table(game, 1).tricks == [[(0, "JK")]] and table(game, 1).trump == "S"
    assert table(game, 1).calls[-1] == (0, "spades")


def exchanged(record: dict[str, Any], num_played: int, viewer: int, a: str, b: str) -> Any:
    """Return a record in which two cards have changed places, also among those put away."""
    other = {a: b, b: a}
    cards = [index for index, (_, name) in enumerate(record["events"]) if name in CARDS]
    marks = set(cards[: len(cards) - num_played])
    return record | {
        "hands": [[other.get(card, card) for card in hand] for hand in record["hands"]],
        "widow": [other.get(card, card) for card in record["widow"]],
        "stock": [other.get(card, card) for card in record["stock"]],
        "events": [
            [seat, other.get(name, name) if index in marks and seat != viewer else name]
            for index, (seat, name) in enumerate(record["events"])
        ],
    }


@pytest.mark.parametrize("name", PRESETS)
def test_unseen_cards_change_nothing(name: str) -> None:
    """Where a seat's observations of two deals agree, so do its tables, and their pictures."""
    rules = PRESETS[name]
    players = min(4, rules.player_range[1])
    draw = np.random.default_rng(5)
    alike = 0
    for number, record in enumerate(sample(rules, players, 40, seed=2)):
        viewer = int(draw.integers(players))
        stop = int(draw.integers(len(record["events"])))
        record = record | {"events": record["events"][:stop]}
        game = replay(record)
        pack = [card for hand in record["hands"] for card in hand]
        pack += record["widow"] + record["stock"]
        a, b = draw.choice(pack, 2, replace=False)
        num_played = int(game.games["num_played"][0])
        try:
            twin = replay(exchanged(record, num_played, viewer, str(a), str(b)))
        except ValueError:
            continue
        if all(
            np.array_equal(*pair)
            for pair in zip(game.observe(viewer), twin.observe(viewer), strict=True)
        ):
            alike += 1
            assert table(game, viewer) == table(twin, viewer)
            if number < 4:
                assert np.array_equal(picture(game, viewer), picture(twin, viewer))
    assert alike > 3


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python without a display, and without what would tell SDL to do without one."""
    hidden = ("SDL", "PYGAME", "DISPLAY", "WAYLAND_DISPLAY")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=kept)


def test_a_picture_needs_no_display_and_says_nothing() -> None:
    done = run(
        "from nap_env.game import Game; from nap_env.presets import resolve\n"
        "from nap_env.picture import picture\n"
        "print(picture(Game(resolve('pub'), 4, seed=0), 0).shape)\n"
        "import pygame; print(pygame.display.get_init())"
    )
    assert (done.stdout, done.stderr) == (f"{SIZE}\nFalse\n", "")


def test_pygame_is_not_imported_before_it_is_needed() -> None:
    done = run(
        "import sys; from nap_env import nap_v0; from nap_env.envs import single, vector\n"
        "env = nap_v0.env(render_mode='ansi'); env.reset(seed=1); env.render(); env.close()\n"
        "print('pygame' in sys.modules)"
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize("make", [nap_v0.env, NapEnv, NapVectorEnv])
def test_without_pygame_the_error_names_the_extra(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    make(render_mode="ansi")
    with pytest.raises(ModuleNotFoundError, match=r'pip install "nap_env\[render\]"'):
        make(render_mode="rgb_array")


@pytest.mark.parametrize("make", [nap_v0.env, NapEnv])
def test_human_mode_opens_a_window_and_shows_each_step(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    import pygame

    env = make(render_mode="human")
    env.reset(seed=0)
    assert pygame.display.get_init()
    window = pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)
    assert window.shape == SIZE and window.any()
    env.step(int(np.flatnonzero(mask(env))[0]))
    after = pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)
    assert not np.array_equal(window, after)
    assert env.render() is None
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        twin.close()  # it has no window yet
        assert pygame.display.get_init()
    env.close()
    env.close()
    assert not pygame.display.get_init()


@pytest.mark.parametrize("mode", [None, "ansi", "rgb_array"])
def test_closing_is_safe_in_every_mode_also_twice_and_in_copies(mode: str | None) -> None:
    env = nap_v0.env(render_mode=mode)
    for one in (env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        one.close()
        one.reset(seed=0)
        if mode is not None:
            assert one.render() is not None
        one.close()
        one.close()


def mask(env: Any) -> Any:
    """Return what the seat to move may do."""
    return env.action_masks() if isinstance(env, NapEnv) else env.last()[0]["action_mask"]


def test_the_viewer_is_the_seat_to_move_and_at_the_end_nobody() -> None:
    env = nap_v0.env(render_mode="rgb_array")
    env.reset(seed=4)
    while env.agents and not any(env.terminations.values()):
        game = replay(env.record())
        assert np.array_equal(env.render(), picture(game, game.seat))
        env.step(int(np.flatnonzero(mask(env))[-1]))
    game = replay(env.record())
    assert game.over and np.array_equal(env.render(), picture(game))


def test_the_learner_sees_its_own_cards_unless_all_are_revealed() -> None:
    for reveal in (False, True):
        env = NapEnv(render_mode="rgb_array", seat=2, reveal=reveal)
        env.reset(seed=4)
        game = replay(env.record())
        assert np.array_equal(env.render(), picture(game, None if reveal else 2))


def test_a_vector_environment_gives_a_picture_of_each_table() -> None:
    envs = NapVectorEnv(3, render_mode="rgb_array", seat=1)
    envs.reset(seed=0)
    pictures = envs.render()
    assert pictures is not None and [shown.shape for shown in pictures] == [SIZE] * 3
    assert np.array_equal(pictures[1], picture(replay(envs.record(1)), 1))


def test_pictures_can_be_collected_as_a_film() -> None:
    env = gymnasium.make("nap_env:nap/Nap-v0", render_mode="rgb_array", opponents="passer")
    film = gymnasium.wrappers.RenderCollection(env)
    film.reset(seed=0)
    film.step(int(np.flatnonzero(env.unwrapped.action_masks())[0]))  # type: ignore[attr-defined]
    frames = film.render()
    assert isinstance(frames, list) and [frame.shape for frame in frames] == [SIZE] * 2
    film.close()
