"""Tables as pictures of pixels, and the render modes of the environments.

They are drawn by pygame, which the extra `render` installs and which is imported when the first
one is asked for. They need no display; only a `Screen` of mode `human` opens a window.
"""

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt

from nap_env.drawing import HEIGHT, TEXT, WIDTH, Canvas, Colour, Point, paint
from nap_env.render import table_text
from nap_env.svg import svg
from nap_env.table import Table
from nap_env.words import did_you_mean

if TYPE_CHECKING:
    import pygame

Picture = npt.NDArray[np.uint8]
"""A picture, uint8 (HEIGHT, WIDTH, 3): red, green, blue."""

PICTURE_MODES = ("rgb_array", "human")
RENDER_MODES = ("ansi", "svg", *PICTURE_MODES)
RENDER_FPS = 1

_SUPERSAMPLING = 2
_UNSEEN = ("offscreen", "dummy")  # drivers that pygame falls back on where there is no display


def picture(table: Table) -> Picture:
    """Return a table as a picture, with its viewer at the bottom, or seat 0 if there is none.

    Raises:
        ModuleNotFoundError: pygame is not installed; says what to install.
    """
    pixels: Picture = _pygame().surfarray.array3d(_painted(table))
    return np.ascontiguousarray(pixels.transpose(1, 0, 2))


def warn_of_no_mode() -> None:
    """Warn that an environment without a render mode shows nothing."""
    gymnasium.logger.warn("render() does nothing without a render_mode, such as ansi")


class Screen:
    """Where an environment's tables are shown, as its render mode says, or nowhere.

    A copy of a screen has no window until it shows something.
    """

    def __init__(self, render_mode: str | None, modes: Sequence[str] = RENDER_MODES) -> None:
        """Prepare to show tables; a window opens with the first of them.

        Raises:
            ValueError: there is no such mode.
            ModuleNotFoundError: the mode needs pygame, and that is not installed.
            RuntimeError: there is no display for a window.
        """
        known = isinstance(render_mode, str) and render_mode in modes
        if not known and render_mode is not None:
            raise ValueError(
                f"render_mode={render_mode!r}: allowed are None, {', '.join(modes)}"
                f"{did_you_mean(render_mode, modes)}"
            )
        if render_mode in PICTURE_MODES:
            _pygame()
        if render_mode == "human":
            _find_display()
        self.__setstate__((render_mode,))

    def __getstate__(self) -> tuple[str | None]:
        return (self._mode,)

    def __setstate__(self, state: tuple[str | None]) -> None:
        (self._mode,) = state
        self._window: pygame.Surface | None = None
        self._clock: pygame.time.Clock | None = None

    def show(self, table: Table) -> Any:
        """Show a table.

        Returns:
            Text (`ansi`, `svg`), a Picture (`rgb_array`), or None (`human`, or no mode: it warns).
        """
        if self._mode is None:
            warn_of_no_mode()
            return None
        if self._mode == "ansi":
            return table_text(table)
        if self._mode == "svg":
            return svg(table)
        if self._mode == "rgb_array":
            return picture(table)
        self._put(_painted(table))
        return None

    def _put(self, surface: "pygame.Surface") -> None:
        """Show a picture in the window, for at least the time that one is due."""
        pg = _pygame()
        if self._window is None:
            pg.display.init()
            self._window = pg.display.set_mode((WIDTH, HEIGHT))
            self._clock = pg.time.Clock()
            pg.display.set_caption("Nap")
        assert self._clock is not None
        self._clock.tick(RENDER_FPS)
        self._window.blit(surface, (0, 0))
        pg.event.pump()
        pg.display.flip()

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window = self._clock = None
            _pygame().display.quit()


def _pygame() -> Any:
    """Return pygame, imported without its greeting.

    Raises:
        ModuleNotFoundError: it is not installed; says what to install.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        return importlib.import_module("pygame")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            'pictures need pygame: pip install "nap_env[render]"', name="pygame"
        ) from None


def _find_display() -> None:
    """Refuse to open a window that nobody would see.

    Raises:
        RuntimeError: there is no display, and none was chosen by SDL_VIDEODRIVER.
    """
    pg = _pygame()
    before = pg.display.get_init()
    try:
        pg.display.init()
        is_seen = pg.display.get_driver() not in _UNSEEN or bool(os.environ.get("SDL_VIDEODRIVER"))
    except pg.error:
        is_seen = False
    if not before:
        pg.display.quit()
    if not is_seen:
        raise RuntimeError(
            "render_mode='human' opens a window, and there is no display: set DISPLAY (or "
            "WAYLAND_DISPLAY) to one, SDL_VIDEODRIVER=dummy to go without, or take another mode: "
            "ansi, svg, rgb_array"
        )


def _painted(table: Table) -> "pygame.Surface":
    surface = _Surface()
    paint(table, surface)
    return surface.finish()


class _Surface(Canvas):
    """A surface drawn larger than it is seen, so that edges come out smooth."""

    def __init__(self) -> None:
        self._pg = _pygame()
        self._pg.font.init()
        self._surface = self._pg.Surface((WIDTH * _SUPERSAMPLING, HEIGHT * _SUPERSAMPLING))
        self._fonts: dict[int, Any] = {}

    def finish(self) -> "pygame.Surface":
        """Return the picture in the size in which it is seen."""
        seen: pygame.Surface = self._pg.transform.smoothscale(self._surface, (WIDTH, HEIGHT))
        return seen

    def fill(self, colour: Colour) -> None:
        self._surface.fill(colour)

    def box(
        self, middle: Point, size: Point, colour: Colour, radius: float = 8, line: float = 0
    ) -> None:
        """Draw a rounded rectangle, filled unless the width of a line is given."""
        corner = (middle[0] - size[0] / 2, middle[1] - size[1] / 2)
        rect = [round(_SUPERSAMPLING * value) for value in (*corner, *size)]
        self._pg.draw.rect(
            self._surface, colour, rect, round(_SUPERSAMPLING * line),
            border_radius=round(_SUPERSAMPLING * radius),
        )  # fmt: skip

    def disc(self, middle: Point, radius: float, colour: Colour) -> None:
        x, y = (_SUPERSAMPLING * value for value in middle)
        self._pg.draw.circle(self._surface, colour, (x, y), _SUPERSAMPLING * radius)

    def oval(self, middle: Point, half: Point, colour: Colour) -> None:
        corner = (middle[0] - half[0], middle[1] - half[1])
        rect = [_SUPERSAMPLING * value for value in (*corner, 2 * half[0], 2 * half[1])]
        self._pg.draw.ellipse(self._surface, colour, rect)

    def shape(self, middle: Point, size: float, points: Sequence[Point], colour: Colour) -> None:
        """Draw a polygon whose points are given in units of half its size, y upwards."""
        half = size / 2
        corners = [(middle[0] + half * x, middle[1] - half * y) for x, y in points]
        scaled = [(_SUPERSAMPLING * x, _SUPERSAMPLING * y) for x, y in corners]
        self._pg.draw.polygon(self._surface, colour, scaled)

    def text(
        self, at: Point, text: str, size: int, colour: Colour = TEXT, align: float = 0
    ) -> float:
        """Write a line and return its width; `align` 0 starts at x, 0.5 centres, 1 ends there."""
        ink = self._font(size).render(text, True, colour)
        width: float = ink.get_width() / _SUPERSAMPLING
        corner = (at[0] - align * width, at[1] - ink.get_height() / 2 / _SUPERSAMPLING)
        self._surface.blit(ink, [round(_SUPERSAMPLING * value) for value in corner])
        return width

    def width(self, text: str, size: int) -> float:
        width: int = self._font(size).size(text)[0]
        return width / _SUPERSAMPLING

    def _font(self, size: int) -> Any:
        if size not in self._fonts:
            self._fonts[size] = self._pg.font.Font(None, _SUPERSAMPLING * size)
        return self._fonts[size]
