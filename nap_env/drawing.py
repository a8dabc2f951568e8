"""A table seen from above, drawn on a canvas: the one layout of all pictures."""

import math
from collections.abc import Sequence

from nap_env.cards import CARDS, SUIT_NAMES, SUITS
from nap_env.table import HIDDEN, Table

Colour = tuple[int, int, int]
Point = tuple[float, float]

WIDTH, HEIGHT = 1200, 800
_FELT, _RIM, _BACKGROUND, _PANEL = (38, 104, 76), (96, 66, 44), (24, 30, 36), (34, 42, 50)
TEXT, _MUTED, _GOLD = (238, 240, 236), (150, 162, 168), (250, 204, 76)
_PLATE, _WHITE, _EDGE = (22, 48, 40), (252, 252, 248), (176, 180, 176)
_WON, _LOST = (126, 214, 132), (244, 136, 124)
_BACK, _BACK_LINE = (52, 84, 148), (144, 172, 224)
INK: dict[str, Colour] = {
    "C": (24, 26, 30),
    "D": (204, 34, 44),
    "H": (204, 34, 44),
    "S": (24, 26, 30),
    "K": (118, 50, 150),
}
"""By the last letter of a card; K is the joker's."""

_TABLE_WIDTH = 900
_CENTRE = (_TABLE_WIDTH / 2, HEIGHT / 2)
_SEATS_AT = (352, 318)  # half axes of the ellipse of the seats,
_TRICK_AT = (205, 140)  # and of that of the cards in the trick
_CARD = (66, 92)
_SMALL = 34.0  # width of a card in a line of text
_PLATE_SIZE = (178, 46)
_GAP = 6
_CALL_LINES = 9


class Canvas:
    """Something to draw on, WIDTH x HEIGHT, y downwards; sizes of text are those of pygame."""

    def fill(self, colour: Colour) -> None:
        """Paint all of it."""
        raise NotImplementedError

    def box(
        self, middle: Point, size: Point, colour: Colour, radius: float = 8, line: float = 0
    ) -> None:
        """Draw a rounded rectangle, filled unless the width of a line is given."""
        raise NotImplementedError

    def disc(self, middle: Point, radius: float, colour: Colour) -> None:
        """Draw a filled circle."""
        raise NotImplementedError

    def oval(self, middle: Point, half: Point, colour: Colour) -> None:
        """Draw a filled ellipse with these half axes."""
        raise NotImplementedError

    def shape(self, middle: Point, size: float, points: Sequence[Point], colour: Colour) -> None:
        """Draw a polygon whose points are given in units of half its size, y upwards."""
        raise NotImplementedError

    def text(
        self, at: Point, text: str, size: int, colour: Colour = TEXT, align: float = 0
    ) -> float:
        """Write a line and return its width; `align` 0 starts at x, 0.5 centres, 1 ends there."""
        raise NotImplementedError

    def width(self, text: str, size: int) -> float:
        """Return how wide a line is."""
        raise NotImplementedError

    def suit(self, middle: Point, size: float, suit: str, colour: Colour | None = None) -> None:
        """Draw the symbol of one of SUITS, or a star for the joker's K."""
        for points in SHAPES[suit]:
            self.shape(middle, size, points, colour or INK[suit])

    def card(self, middle: Point, card: str, *, covered: bool = False) -> None:
        """Draw a card, or the back of one; of a covered card no more is seen than its corner."""
        size = _CARD
        if card == HIDDEN:
            self.box(middle, size, _WHITE, 7)
            self.box(middle, (size[0] - 8, size[1] - 8), _BACK, 5)
            self.box(middle, (size[0] - 16, size[1] - 16), _BACK_LINE, 4, line=1.5)
            self.shape(middle, size[0] / 2, SHAPES["D"][0], _BACK_LINE)
        else:
            left, top = middle[0] - size[0] / 2, middle[1] - size[1] / 2
            self.box(middle, size, _WHITE, 7)
            index = (left + 13, top + 17)
            self.text(index, _rank(card), 28, INK[card[-1]], align=0.5)
            self.suit((index[0], top + 36), 15, card[-1])
            if not covered:
                self.suit((middle[0] + 9, middle[1] + 14), 35, card[-1])
        self.box(middle, size, _EDGE, 7, line=1)

    def small_card(self, at: Point, card: str, width: float = _SMALL) -> float:
        """Draw a card in a line of text, from x on; return its width."""
        self.box((at[0] + width / 2, at[1]), (width, 20), _WHITE, 4)
        if card == HIDDEN:
            self.box((at[0] + width / 2, at[1]), (width - 4, 16), _BACK, 3)
        else:
            rank = (at[0] + 0.32 * width, at[1] + 1)
            self.text(rank, _rank(card), 20, INK[card[-1]], align=0.5)
            self.suit((at[0] + 0.74 * width, at[1]), 12, card[-1])
        return width


def _rank(card: str) -> str:
    """Return what stands in the corner of a card."""
    return {"T": "10"}.get(card[0], card[0])


def _is_card(call: str) -> bool:
    return call in CARDS or call == HIDDEN


def _circle(x: float, y: float, radius: float) -> list[Point]:
    turns = [2 * math.pi * step / 32 for step in range(32)]
    return [(x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns]


def _heart(height: float) -> list[Point]:
    turns = [2 * math.pi * step / 48 for step in range(48)]
    return [
        (
            0.95 * math.sin(turn) ** 3,
            height
            * (13 * math.cos(turn) - 5 * math.cos(2 * turn) - 2 * math.cos(3 * turn)
               - math.cos(4 * turn) + 2.5) / 14.5,
        )
        for turn in turns
    ]  # fmt: skip


_STEM = [(-0.32, -1.0), (-0.08, -0.5), (-0.08, 0.0), (0.08, 0.0), (0.08, -0.5), (0.32, -1.0)]
_STAR = [
    (radius * math.sin(math.pi * step / 5), radius * math.cos(math.pi * step / 5))
    for step, radius in enumerate([1.0, 0.42] * 5)
]
SHAPES: dict[str, list[list[Point]]] = {
    "C": [_circle(0, 0.5, 0.46), _circle(-0.5, -0.22, 0.46), _circle(0.5, -0.22, 0.46), _STEM],
    "D": [[(0, 1), (0.74, 0), (0, -1), (-0.74, 0)]],
    "H": [_heart(1.0)],
    "S": [[(x, 0.12 - 0.88 * y) for x, y in _heart(1.0)], _STEM],
    "K": [_STAR],
}
"""Polygons of each suit, in units of half its size; K is the joker's."""


def paint(table: Table, canvas: Canvas) -> None:
    """Draw a table, with its viewer at the bottom, or seat 0 if there is none."""
    _Painter(table, canvas).paint()


class _Painter:
    """Draws one table, with the viewer at the bottom and the others clockwise from there."""

    def __init__(self, table: Table, canvas: Canvas) -> None:
        self._table = table
        self._bottom = table.viewer or 0
        self._canvas = canvas

    def paint(self) -> None:
        canvas = self._canvas
        canvas.fill(_BACKGROUND)
        canvas.oval(_CENTRE, (440, 376), _RIM)
        canvas.oval(_CENTRE, (426, 362), _FELT)
        for seat in range(self._table.num_players):
            self._seat(seat)
        self._trick_or_calls()
        self._centre()
        self._panel()

    def _place(self, seat: int, half: Point) -> Point:
        """Return where a seat's things lie on an ellipse round the centre."""
        turn = 2 * math.pi * (seat - self._bottom) / self._table.num_players
        return (_CENTRE[0] - half[0] * math.sin(turn), _CENTRE[1] + half[1] * math.cos(turn))

    def _seat(self, seat: int) -> None:
        """Draw a seat's hand, and under it the plate."""
        middle = self._place(seat, _SEATS_AT)
        block = _CARD[1] + _GAP + _PLATE_SIZE[1]
        hand_at = (middle[0], middle[1] - (block - _CARD[1]) / 2)
        room = min(206, 2 * (min(middle[0], _TABLE_WIDTH - middle[0]) - 4))
        if seat == self._bottom:
            room = {7: 356, 8: 304}.get(self._table.num_players, 400)  # between the neighbours
        self._row(hand_at, self._table.hands[seat], room)
        self._plate(seat, (middle[0], middle[1] + (block - _PLATE_SIZE[1]) / 2))

    def _row(self, middle: Point, cards: Sequence[str], room: float) -> None:
        """Draw cards side by side, overlapping if there is not the room."""
        step = _CARD[0] + 6.0 if HIDDEN not in cards else 16.0
        if len(cards) > 1:
            step = min(step, (room - _CARD[0]) / (len(cards) - 1))
        for index, card in enumerate(cards):
            x = middle[0] + step * (index - (len(cards) - 1) / 2)
            covered = step < _CARD[0] / 2 and index < len(cards) - 1
            self._canvas.card((x, middle[1]), card, covered=covered)

    def _plate(self, seat: int, middle: Point) -> None:
        table, canvas = self._table, self._canvas
        width, height = _PLATE_SIZE
        left, right = middle[0] - width / 2, middle[0] + width / 2
        note, note_colour = self._note(seat)
        progress = self._progress(seat)
        first, second = middle[1] - 10, middle[1] + 11
        if not note and not progress:
            first = middle[1]
        canvas.box(middle, _PLATE_SIZE, _PLATE, 10)
        if seat == table.to_move:
            canvas.box(middle, (width + 8, height + 8), _GOLD, 13, line=4)
        x = left + 12 + canvas.text((left + 12, first), f"seat {seat}", 24) + 8
        if seat == table.declarer:
            canvas.suit((x + 8, first - 1), 18, "K", _GOLD)
            x += 22
        if seat == table.dealer:
            canvas.disc((x + 9, first - 1), 9, _WHITE)
            canvas.text((x + 9, first), "D", 18, INK["S"], align=0.5)
        score = table.scores[seat]
        canvas.text((right - 12, first), f"{score:+d}" if score else "0", 24, _GOLD, align=1)
        canvas.text((left + 12, second), progress, 20, _MUTED)
        canvas.text((right - 12, second), note, 20, note_colour, align=1)

    def _note(self, seat: int) -> tuple[str, Colour]:
        """Return what is said at the right of a plate, and its colour."""
        table = self._table
        if table.payments is not None:
            paid = table.payments[seat]
            return f"{paid:+d} now", _WON if paid > 0 else _LOST if paid < 0 else _MUTED
        if table.exchanged[seat]:
            return f"changed {table.exchanged[seat]}", _MUTED
        return "has looked" if table.looked[seat] else "", _MUTED

    def _progress(self, seat: int) -> str:
        table = self._table
        if seat == table.sits_out:
            return "sits out"
        return f"tricks {table.won[seat]}" if table.tricks else ""

    def _trick_or_calls(self) -> None:
        """Draw before each seat its card in the last trick, or what it has called last."""
        table, canvas = self._table, self._canvas
        if table.tricks:
            for seat, card in table.tricks[-1]:
                middle = self._place(seat, _TRICK_AT)
                if seat == table.winners[-1]:
                    canvas.box(middle, (_CARD[0] + 8, _CARD[1] + 8), _GOLD, 10)
                canvas.card(middle, card)
            return
        for seat, call in dict(table.calls).items():
            middle = self._place(seat, _TRICK_AT)
            if _is_card(call):
                canvas.card(middle, call)
                continue
            best = seat == table.declarer and call == table.contract
            colour = _GOLD if best else _MUTED if call == "pass" else _WHITE
            canvas.box(middle, (canvas.width(call, 28) + 28, 40), _PLATE, 20)
            canvas.text(middle, call, 28, colour, align=0.5)

    def _centre(self) -> None:
        """Draw in the middle what the deal is about, and the widow."""
        table, canvas = self._table, self._canvas
        x, y = _CENTRE
        y -= 26 if table.widow else 0
        title = table.outcome or table.contract or table.phase
        colour = _GOLD if table.contract else TEXT
        canvas.text((x, y - 14), title, 32, colour, align=0.5)
        if table.trump is not None:
            name = SUIT_NAMES[SUITS.index(table.trump)]
            width = canvas.width(name, 24) + 34
            canvas.box((x - width / 2 + 13, y + 15), (26, 26), _WHITE, 6)
            canvas.suit((x - width / 2 + 13, y + 15), 19, table.trump)
            canvas.text((x - width / 2 + 34, y + 16), name, 24)
        else:
            canvas.text((x, y + 14), self._below(), 22, _MUTED, align=0.5)
        for index, card in enumerate(table.widow):
            place = (x + 40 * (index - (len(table.widow) - 1) / 2) - _SMALL / 2, y + 52)
            canvas.small_card(place, card)
        if table.widow:
            canvas.text((x, y + 76), "on the table", 20, _MUTED, align=0.5)

    def _below(self) -> str:
        """Return what is said under the contract while there are no trumps."""
        table = self._table
        if table.no_trumps and table.contract:
            return "no trumps"
        if table.outcome is None and table.contract:
            return "highest bid" if table.phase in ("auction", "hold") else "trumps not known yet"
        return ""

    def _panel(self) -> None:
        """Draw the panel on the right: the deal, its calls and its tricks."""
        table, canvas = self._table, self._canvas
        left, right = _TABLE_WIDTH + 20.0, WIDTH - 20.0
        middle = ((_TABLE_WIDTH + WIDTH) / 2, HEIGHT / 2)
        canvas.box(middle, (WIDTH - _TABLE_WIDTH, HEIGHT), _PANEL, radius=0)
        canvas.text((left, 32), table.rules, 34)
        canvas.text((right, 34), f"{table.num_players} players", 22, _MUTED, align=1)
        stakes = [f"pool {table.pool}"] * (table.pool is not None)
        stakes += [f"stakes times {table.multiplier}"] * (table.multiplier > 1)
        canvas.text((left, 66), ", ".join(stakes) or "no pool", 24, _GOLD if stakes else _MUTED)
        y = self._heading(104, "calls")
        y = self._calls(left, right, y)
        if table.tricks:
            y = self._heading(y + 14, "tricks")
            self._tricks(left, right, y)
        self._legend(left, HEIGHT - 76)

    def _heading(self, y: float, text: str) -> float:
        """Write a heading; return where the next line goes."""
        left, right = _TABLE_WIDTH + 20.0, WIDTH - 20.0
        self._canvas.text((left, y), text, 22, _MUTED)
        self._canvas.box(((left + right) / 2, y + 13), (right - left, 1), _MUTED, 0)
        return y + 32

    def _calls(self, left: float, right: float, y: float) -> float:
        """Write the calls in lines, the last ones if there are many; return where they end."""
        canvas, size, space = self._canvas, 22, 14
        lines: list[list[tuple[int, str]]] = [[]]
        x = left
        for seat, call in self._table.calls:
            width = canvas.width(f"{seat} ", size)
            width += _SMALL if _is_card(call) else canvas.width(call, size)
            if x + width > right:
                lines.append([])
                x = left
            lines[-1].append((seat, call))
            x += width + space
        if len(lines) > _CALL_LINES:
            canvas.text((right, y - 32), "the last ones", 20, _MUTED, align=1)
        if not lines[0]:
            canvas.text((left, y), "none yet", size, _MUTED)
        for line in lines[-_CALL_LINES:]:
            x = left
            for seat, call in line:
                x += canvas.text((x, y), f"{seat} ", size, _MUTED)
                if _is_card(call):
                    x += canvas.small_card((x, y - 1), call)
                else:
                    x += canvas.text((x, y), call, size, _MUTED if call == "pass" else TEXT)
                x += space
            y += 26
        return y

    def _tricks(self, left: float, right: float, y: float) -> None:
        """Draw a row a trick, a column a seat; the winner's card stands on gold."""
        table, canvas = self._table, self._canvas
        seats = [seat for seat in range(table.num_players) if seat != table.sits_out]
        column = min(_SMALL + 10, (right - left) / len(seats))
        width = min(_SMALL, column - 4)
        for place, seat in enumerate(seats):
            canvas.text((left + column * place + width / 2, y), f"{seat}", 20, _MUTED, align=0.5)
        for trick, winner in zip(table.tricks, table.winners, strict=True):
            y += 29
            for seat, card in trick:
                x = left + column * seats.index(seat)
                if seat == winner:
                    canvas.box((x + width / 2, y), (width + 6, 26), _GOLD, 6)
                canvas.small_card((x, y), card, width)

    def _legend(self, left: float, y: float) -> None:
        canvas = self._canvas
        canvas.disc((left + 10, y), 9, _WHITE)
        canvas.text((left + 10, y + 1), "D", 18, INK["S"], align=0.5)
        canvas.suit((left + 10, y + 26), 18, "K", _GOLD)
        canvas.box((left + 10, y + 52), (20, 16), _GOLD, 5, line=3)
        for line, text in enumerate(("dealer", "declarer, highest bidder", "to move; best card")):
            canvas.text((left + 30, y + 26 * line), text, 20, _MUTED)
