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
from deals import act, deal, shuffle_hidden_cards

from nap_env import nap_v0
from nap_env.envs.single import NapEnv
from nap_env.envs.vector import NapVectorEnv
from nap_env.game import Game
from nap_env.picture import HEIGHT, WIDTH, picture
from nap_env.presets import PRESETS, resolve
from nap_env.records import replay

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
    pictures = [picture(game.table(players - 1))]
    while not game.over and game.games["num_played"][0] < players:
        game.step(game.random_action())
    pictures.append(picture(game.table()))
    for shown in pictures:
        assert shown.shape == SIZE and shown.dtype == np.uint8 and shown.flags.c_contiguous
    assert not np.array_equal(*pictures)


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
        assert np.array_equal(picture(game.table(viewer)), picture(other.table(viewer)))
        assert viewer or not np.array_equal(picture(game.table()), picture(other.table()))


def test_nobody_takes_the_trick_that_a_wrong_card_ends() -> None:
    hands = {0: "AS KS", 1: "2S 3S", 2: "4S 5S", 3: "7S 6H"}
    game = act(deal("thirty", hands, allow_revoke=True), "three pass pass pass  AS 2S 4S 6H")
    assert game.over and picture(game.table()).shape == SIZE


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
        "print(picture(Game(resolve('pub'), 4, seed=0).table(0)).shape)\n"
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


@pytest.mark.parametrize("make", ["nap_v0.env", "NapEnv"])
def test_without_a_display_human_mode_names_the_variables(make: str) -> None:
    done = run(
        "from nap_env import nap_v0; from nap_env.envs.single import NapEnv\n"
        f"try: {make}(render_mode='human')\n"
        "except RuntimeError as error: print(error)\n"
        "import pygame; print(pygame.display.get_init())"
    )
    assert "set DISPLAY (or WAYLAND_DISPLAY) to one, SDL_VIDEODRIVER=dummy to go" in done.stdout
    assert done.stdout.endswith("\nFalse\n")


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
        assert np.array_equal(env.render(), picture(game.table(game.seat)))
        env.step(int(np.flatnonzero(mask(env))[-1]))
    game = replay(env.record())
    assert game.over and np.array_equal(env.render(), picture(game.table()))


def test_the_learner_sees_its_own_cards_unless_all_are_revealed() -> None:
    for reveal in (False, True):
        env = NapEnv(render_mode="rgb_array", seat=2, reveal=reveal)
        env.reset(seed=4)
        game = replay(env.record())
        assert np.array_equal(env.render(), picture(game.table(None if reveal else 2)))


def test_a_vector_environment_gives_a_picture_of_each_table() -> None:
    envs = NapVectorEnv(3, render_mode="rgb_array", seat=1)
    envs.reset(seed=0)
    pictures = envs.render()
    assert pictures is not None and [shown.shape for shown in pictures] == [SIZE] * 3
    assert np.array_equal(pictures[1], picture(replay(envs.record(1)).table(1)))


def test_pictures_can_be_collected_as_a_film() -> None:
    env = gymnasium.make("nap_env:nap/Nap-v0", render_mode="rgb_array", opponents="passer")
    film = gymnasium.wrappers.RenderCollection(env)
    film.reset(seed=0)
    film.step(int(np.flatnonzero(env.unwrapped.action_masks())[0]))  # type: ignore[attr-defined]
    frames = film.render()
    assert isinstance(frames, list) and [frame.shape for frame in frames] == [SIZE] * 2
    film.close()
