"""Nap in the terminal: a person at the table, or agents to watch.

python -m nap_env.play --rules pub --players 4 --opponents passer
python -m nap_env.play --watch --opponents random passer random passer
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nap_env.actions import ACTIONS, BIDS, CALLS, action_id
from nap_env.agents import AGENTS, make
from nap_env.cards import CARDS, SUIT_NAMES
from nap_env.engine.compiler import at_once
from nap_env.game import Game
from nap_env.games import Games
from nap_env.presets import PRESETS, describe, resolve
from nap_env.rules import Rules
from nap_env.table import HIDDEN, Table
from nap_env.terminal import Parser, run

MANY_DEALS = 1_000_000

HELP = "? shows what you may do and the rules, u the last trick; Ctrl-D leaves the table"

# What a seat does, in words: theirs, yours.
DONE_IN_WORDS = {
    "pass": ("passes", "pass"),
    "done": ("is done", "are done"),
    "look": ("looks at the card on the table", "look at the card on the table"),
    "take": ("takes the spare hand", "take the spare hand"),
    "hold": ("holds the bid", "hold the bid"),
    "decline": ("declines", "decline"),
}

# What a call means to the one who may make it.
MEANINGS = {
    "pass": "make no bid",
    "done": "put no more cards away",
    "look": "look at the card on the table, then call",
    "take": "take the spare hand and stand for nap",
    "hold": "take the contract over at the same bid, or keep it",
    "decline": "leave it as it is",
}


class Agents:
    """Players by name, one a seat, who play in a game.

    Attributes:
        names: by seat; None for a seat that is never asked.
    """

    def __init__(self, game: Game, names: Sequence[str | None]) -> None:
        self.names = names
        self._game = game
        self._agents = [
            None if name is None else make(name, game.rules, game.num_players) for name in names
        ]
        self._games = Games(game.rules, game.num_players, game.games)
        self._rows = np.zeros(1, np.intp)

    def answer(self) -> int:
        """Return the action of the seat to move, which sees what its seat may see."""
        seat = self._game.seat
        assert seat is not None
        agent = self._agents[seat]
        assert agent is not None
        return int(agent(self._games, self._rows)[0])


class Sitting:
    """Some deals at one table, and the chips that change hands in them.

    A match that has a target or ends when somebody is broke is followed by the next one. Otherwise
    the sitting is one match, however long it lasts.

    Attributes:
        game: the game.
        you: the person's seat, None if there is none.
        chips: what each seat has won in the deals that are over.
        deals: how many deals are over.
    """

    def __init__(
        self,
        rules: Rules,
        num_players: int,
        opponents: Sequence[str],
        *,
        person: bool,
        seat: int | None,
        seed: int | None,
    ) -> None:
        """Deal the first deal.

        Args:
            rules: the rules.
            num_players: players at the table.
            opponents: names of agents: one for all, or one for each seat that the person does not
                have, clockwise from the person's left (without a person from seat 0 on).
            person: whether there is a person.
            seat: the person's seat; None draws one.
            seed: None takes fresh entropy.

        Raises:
            ValueError: players, opponents, a seat or a seed that are not possible.
        """
        self.rules = rules
        if rules.target is None and rules.chips is None:
            rules = replace(rules, deals=MANY_DEALS, max_deals=MANY_DEALS)
        self.game = Game(rules, num_players, seed)
        self.you = _your_seat(num_players, seat, seed) if person else None
        self.chips = [0] * num_players
        self.deals = 0
        others = num_players - person
        if len(opponents) not in (1, others):
            raise ValueError(f"opponents: {len(opponents)} names; one is allowed, or {others}")
        names: list[str | None] = [*opponents] * (others if len(opponents) == 1 else 1)
        if self.you is not None:
            names.insert(0, None)
            names = [names[(seat - self.you) % num_players] for seat in range(num_players)]
        self._agents = Agents(self.game, names)

    def play(self) -> None:
        """Play a deal to its end, and count it.

        Raises:
            EOFError: the person leaves.
        """
        self._show_start()
        before = self._table()
        while not self.game.over:
            your_turn = self.game.seat == self.you
            self.game.step(self._ask() if your_turn else self._agents.answer())
            now = self._table()
            print(self._last_event(now))
            for taker, count in enumerate(now.won):
                if count > before.won[taker]:
                    print(f"  {self._who(taker)} {self._verb(taker, 'takes', 'take')} the trick")
            before = now
        self.deals += 1
        for seat, reward in enumerate(self.game.rewards()):
            self.chips[seat] += reward
        self._show_end()

    def next_deal(self) -> None:
        """Deal again."""
        self.game.next_deal()

    def standing(self) -> str:
        """Return the chips of all seats in words, and those in the pool."""
        count = f"{self.deals} deal{'s' * (self.deals != 1)}"
        chips = ", ".join(f"{self._who(seat)} {won:+d}" for seat, won in enumerate(self.chips))
        # A deal that is going on does not count, nor what it has brought to the pool.
        pool = int(self.game.games["pool" if self.game.over else "first_pool"][0])
        in_pool = f"; {pool} in the pool" if pool and self.deals else ""
        return f"chips after {count}: {chips}{in_pool}"

    def _table(self) -> Table:
        return self.game.table(self.you)

    def _show_start(self) -> None:
        print(f"\n-- deal {self.deals + 1} --")
        if self.you is None:
            print("\n".join(self.game.text().splitlines()[: 1 + self.game.num_players]))

    def _show_end(self) -> None:
        lines = self.game.text().splitlines()
        print("\n" + "\n".join(lines if self.you is not None else lines[1 + len(self.chips) :]))
        print(self.standing())
        if self.game.match_over and self.rules.target:
            print(f"the match to {self.rules.target} is over")
        elif self.game.match_over and self.rules.chips:
            print("the match is over: somebody has no chips left")

    def _who(self, seat: int) -> str:
        return "you" if seat == self.you else f"seat {seat}"

    def _verb(self, seat: int, theirs: str, yours: str) -> str:
        return yours if seat == self.you else theirs

    def _last_event(self, now: Table) -> str:
        """Return what a seat has done last, in words."""
        seat, name = now.events[-1]
        if name in DONE_IN_WORDS:
            done = self._verb(seat, *DONE_IN_WORDS[name])
        elif name in SUIT_NAMES:
            done = f"{self._verb(seat, 'names', 'name')} {name}"
        elif name in BIDS:
            done = f"{self._verb(seat, 'bids', 'bid')} {name}"
        elif now.tricks:
            done = f"{self._verb(seat, 'plays', 'play')} {name}"
        else:
            card = "a card" if name == HIDDEN else name
            done = f"{self._verb(seat, 'puts', 'put')} {card} away"
        return f"  {self._who(seat)} {done}"

    def _ask(self) -> int:
        """Ask the person for an action until it is a legal one.

        Raises:
            EOFError: the person leaves.
        """
        print("\n" + self.game.text(self.you))
        allowed = " ".join(self._legal())
        while True:
            text = input(f"Seat {self.you}, {_QUESTIONS[self.game.phase]} [{allowed}]: ").strip()
            if text == "?":
                print(self._help())
            elif text in ("u", "U"):
                print(self._last_trick())
            elif not text:
                print(f"Write one of {allowed}; {HELP}.")
            else:
                action = self._understood(text)
                if action is not None:
                    return action

    def _legal(self) -> list[str]:
        """Return what the person may do: cards as in the hand, then calls from low to high."""
        names = sorted(self.game.legal(), key=lambda name: (name not in CARDS, ACTIONS.index(name)))
        cards = [name for name in names if name in CARDS]
        bids = [bid.name for bid in self.game.rules.all_bids if bid.name in names]
        rest = [name for name in names if name not in CARDS and name not in bids]
        return cards[::-1] + rest + bids

    def _understood(self, text: str) -> int | None:
        """Return the legal action that the person has written, or say why there is none."""
        allowed = " ".join(self._legal())
        try:
            action = action_id(_action_name(text))
        except ValueError:
            print(
                f"{text!r} is neither a card nor a call. Write a card as its rank and suit, such "
                f"as QH or 10s; you may choose {allowed}."
            )
            return None
        name = ACTIONS[action]
        if name in self.game.legal():
            return action
        assert self.you is not None
        if name in CARDS and name not in self.game.hand(self.you):
            reason = f"{name} is not in your hand"
        else:
            reason = f"You chose {name} but {self.game.duty()}"
        print(f"{reason}. You may choose {allowed}.")
        return None

    def _help(self) -> str:
        rows = [f"  {name:12s}{self._meaning(name)}" for name in self._legal()]
        return "\n".join(["You may choose:", *rows, "", describe(self.rules), "", HELP])

    def _meaning(self, name: str) -> str:
        """Return what an action means here."""
        if name in CALLS:
            return MEANINGS[name]
        if name in SUIT_NAMES:
            return "make it trumps" if self.game.phase == "name" else "name the suit"
        if name in CARDS:
            return "play it" if self.game.phase == "play" else "put it away"
        bid = next((bid for bid in self.game.rules.all_bids if bid.name == name), None)
        if bid is None:
            return "bid it"
        goal = f"take {bid.tricks} trick{'s' * (bid.tricks != 1)}" if bid.tricks else "take none"
        return f"{goal}: {bid.win} from each if made, {bid.lose} to each if not"

    def _last_trick(self) -> str:
        now = self._table()
        done = len(now.tricks) - (not now.complete)
        if done < 1:
            return "No trick has been taken yet."
        cards = ", ".join(f"{self._who(seat)} {card}" for seat, card in now.tricks[done - 1])
        winner = now.winners[done - 1]
        assert winner is not None
        return f"Trick {done}: {cards}; {self._who(winner)} took it."


_QUESTIONS = {
    "buy": "your card to put away",
    "auction": "your call",
    "hold": "your answer",
    "exchange": "your card to put away",
    "name": "your suit",
    "play": "your card",
}
"""By phase, what the person is asked for."""


def _action_name(text: str) -> str:
    """Return the name of the action that a person means: `10h` is `TH`, `Misère` is `misere`."""
    lower = text.lower().replace("è", "e")
    card = lower.upper().replace("10", "T")
    if lower == "joker":
        return "JK"
    return card if card in CARDS else lower


def _your_seat(num_players: int, seat: int | None, seed: int | None) -> int:
    if seat is None:
        return int(np.random.default_rng(seed).integers(num_players))
    if not 0 <= seat < num_players:
        raise ValueError(f"seat={seat}: seats are 0 to {num_players - 1}")
    return seat


def _parser(prog: str) -> Parser:
    parser = Parser(
        prog=prog,
        description="Play Nap in the terminal against agents, or watch agents play.",
    )
    parser.add_argument("--rules", default="standard", metavar="PRESET",
                        help=f"one of {', '.join(PRESETS)}")  # fmt: skip
    parser.add_argument("--players", "--num-players", "--num_players", type=int, default=4,
                        help="players at the table")  # fmt: skip
    parser.add_argument("--opponents", nargs="+", default=["random"],
                        metavar="AGENT", help="one for all other seats, or one for each clockwise "
                        f"from your left (--watch: from seat 0): {', '.join(AGENTS)}")  # fmt: skip
    parser.add_argument("--seat", type=int, default=None, help="your seat, else drawn")
    parser.add_argument("--seed", type=int, default=None, help="of the deals, else a new one")
    parser.add_argument("--deals", type=int, default=None,
                        help="how many; else until you leave, or 1 to watch")  # fmt: skip
    parser.add_argument("--watch", action="store_true", help="agents at all seats, open cards")
    return parser


def _welcome(sitting: Sitting) -> None:
    print(describe(sitting.rules))
    if sitting.you is not None:
        print(f"\nYou have seat {sitting.you}. {HELP}.")


@at_once()
def main(arguments: Sequence[str] | None = None, prog: str = "python -m nap_env.play") -> int:
    """Run the command line; return the exit status."""
    parser = _parser(prog)
    parsed: Any = parser.parse_args(arguments)
    if parsed.deals is not None and parsed.deals < 1:
        parser.error(f"--deals {parsed.deals}: at least 1")
    if parsed.watch and parsed.seat is not None:
        parser.error("--seat is for a person, --watch for none")
    deals = parsed.deals or (1 if parsed.watch else MANY_DEALS)
    try:
        sitting = Sitting(
            resolve(parsed.rules), parsed.players, parsed.opponents,
            person=not parsed.watch, seat=parsed.seat, seed=parsed.seed,
        )  # fmt: skip
    except ValueError as error:
        parser.refuse(error)
    try:
        _welcome(sitting)
        sitting.play()
        while sitting.deals < deals:
            sitting.next_deal()
            sitting.play()
    except (EOFError, KeyboardInterrupt):
        print(f"\n\nThe deal that you leave does not count.\n{sitting.standing()}")
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
