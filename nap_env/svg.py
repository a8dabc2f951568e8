"""Tables as pictures for notebooks and pages: SVG, without pygame."""

from collections.abc import Sequence
from html import escape

from nap_env.drawing import HEIGHT, INK, SHAPES, TEXT, WIDTH, Canvas, Colour, Point, paint
from nap_env.table import Table

_SHOWN = (900, 600)
"""Its size where it is shown, unless a page says otherwise."""

_POINTS = 0.69
"""Size of a font in units of pygame's size of text, which is a line's height."""

_WIDE = {"mwMW%": 0.88, "fijlrt .,:;'|!()-": 0.31}
"""Widths of characters, roughly, in units of the font's size."""
_CAPITAL, _OTHER = 0.7, 0.57


def svg(table: Table) -> str:
    """Return a table as an SVG picture, with its viewer at the bottom, or seat 0 if there is none.

    Cards that the viewer may not see are backs, and nothing of them is in the text.
    """
    canvas = _Svg()
    paint(table, canvas)
    width, height = _SHOWN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Arial, Helvetica, sans-serif" '
            f'font-weight="bold">',
            f"<title>{escape(table.rules)}, {table.num_players} players</title>",
            "<defs>",
            *(_symbol(suit) for suit in SHAPES),
            "</defs>",
            *canvas.elements,
            "</svg>\n",
        ]
    )


def _symbol(suit: str) -> str:
    """Return the shapes of a suit, in units of half its size."""
    shapes = "".join(f'<polygon points="{_points((0, 0), 1, shape)}"/>' for shape in SHAPES[suit])
    return f'<g id="nap-{suit}">{shapes}</g>'


def _points(middle: Point, scale: float, points: Sequence[Point]) -> str:
    return " ".join(
        f"{_short(middle[0] + scale * x)},{_short(middle[1] - scale * y)}" for x, y in points
    )


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _ink(colour: Colour) -> str:
    return "#" + bytes(colour).hex()


class _Svg(Canvas):
    """The elements of a picture, in the order in which they are drawn."""

    def __init__(self) -> None:
        self.elements: list[str] = []

    def _add(self, tag: str, content: str | None = None, **attributes: float | str) -> None:
        told = " ".join(
            f'{name.replace("_", "-")}="{_short(value) if isinstance(value, float) else value}"'
            for name, value in attributes.items()
        )
        end = "/>" if content is None else f">{content}</{tag}>"
        self.elements.append(f"<{tag} {told}{end}")

    def fill(self, colour: Colour) -> None:
        self._add("rect", width=WIDTH, height=HEIGHT, fill=_ink(colour))

    def box(
        self, middle: Point, size: Point, colour: Colour, radius: float = 8, line: float = 0
    ) -> None:
        width, height = size[0] - line, size[1] - line  # a line lies inside
        paint = {"fill": _ink(colour)}
        if line:
            paint = {"fill": "none", "stroke": _ink(colour), "stroke_width": _short(line)}
        self._add(
            "rect", x=float(middle[0] - width / 2), y=float(middle[1] - height / 2),
            width=float(width), height=float(height), rx=float(max(0, radius - line / 2)), **paint,
        )  # fmt: skip

    def disc(self, middle: Point, radius: float, colour: Colour) -> None:
        self._add(
            "circle", cx=float(middle[0]), cy=float(middle[1]), r=float(radius), fill=_ink(colour)
        )

    def oval(self, middle: Point, half: Point, colour: Colour) -> None:
        self._add(
            "ellipse", cx=float(middle[0]), cy=float(middle[1]), rx=float(half[0]),
            ry=float(half[1]), fill=_ink(colour),
        )  # fmt: skip

    def shape(self, middle: Point, size: float, points: Sequence[Point], colour: Colour) -> None:
        self._add("polygon", points=_points(middle, size / 2, points), fill=_ink(colour))

    def suit(self, middle: Point, size: float, suit: str, colour: Colour | None = None) -> None:
        place = f"translate({_short(middle[0])} {_short(middle[1])}) scale({_short(size / 2)})"
        self._add("use", href=f"#nap-{suit}", transform=place, fill=_ink(colour or INK[suit]))

    def text(
        self, at: Point, text: str, size: int, colour: Colour = TEXT, align: float = 0
    ) -> float:
        font = _POINTS * size
        anchor = {0: "start", 0.5: "middle", 1: "end"}[align]
        self._add(
            "text", escape(text), x=float(at[0]), y=float(at[1] + 0.36 * font), font_size=font,
            text_anchor=anchor, fill=_ink(colour),
        )  # fmt: skip
        return self.width(text, size)

    def width(self, text: str, size: int) -> float:
        return _POINTS * size * sum(map(_width, text))


def _width(character: str) -> float:
    for characters, width in _WIDE.items():
        if character in characters:
            return width
    return _CAPITAL if character.isupper() else _OTHER
