"""Nap for OpenSpiel: a Python game, and small rules as an EFG text for its compiled solvers.

    open_spiel.register()
    game = pyspiel.load_game("python_nap", {"rules": "mini_2x4", "players": 2})
    small = pyspiel.load_efg_game(open_spiel.to_efg("mini_2x4", 2))

Seat 0 speaks first. The cards are dealt by chance, one at a time, each hand from the lowest card
up, so that a deal is one path. What a seat is told is its observation, which forgets nothing.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from nap_env.actions import ACTIONS, NUM_ACTIONS, action_id
from nap_env.adapters.extra import needs
from nap_env.cards import CARDS, NUM_CARDS, card_id
from nap_env.game import Game
from nap_env.presets import resolve
from nap_env.rules import MAX_SEATS, Rules, rules_table

with needs("open_spiel"):
    import pyspiel

MOST_DEALS = 100_000
"""Most deals of a game that can be written as EFG."""

_TYPE = pyspiel.GameType(
    short_name="python_nap",
    long_name="Python Nap",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MAX_SEATS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={"rules": "standard", "players": 4},
)


@functools.cache  # a name can be registered once
def register() -> None:
    """Let `pyspiel.load_game` know `python_nap`, with the parameters `rules` and `players`."""
    pyspiel.register_game(_TYPE, NapGame)


def to_efg(rules: str | Rules, num_players: int) -> str:
    """Return a small game in Gambit's extensive form, for `pyspiel.load_efg_game`.

    Chance deals whole hands. A seat that has one legal action has no decision.

    Args:
        rules: a preset's name, or rules.
        num_players: players at the table.

    Raises:
        ValueError: rules that are more than one deal of cards, or too many deals for a text.
    """
    table = _Table(resolve(rules), num_players)
    free, deals = len(table.pack), 1
    for _ in range(table.hands):
        deals *= comb(free, table.hand_size)
        free -= table.hand_size
    if deals > MOST_DEALS:
        raise ValueError(f"rules={table.game.rules.name!r}: {deals:.2g} deals, {MOST_DEALS} fit")
    return "\n".join(_efg(table)) + "\n"


class _Table:
    """A table at which any deal of given rules can be put, and what is known before it."""

    def __init__(self, rules: Rules, num_players: int) -> None:
        """Set the table; the last seat deals.

        Raises:
            ValueError: rules that are more than one deal of cards.
        """
        reasons = {
            "cards are exchanged": rules.exchanges,
            "it has a pool": rules.has_pool,
            "stakes can double": rules.has_multiplier,
            "a match is not one deal": rules.deals != 1,
        }
        for reason, holds in reasons.items():
            if holds:
                raise ValueError(f"rules={rules.name!r}: {reason}, which python_nap cannot carry")
        self.game = Game(rules, num_players, seed=0)
        self._bytes = self.game.games.view(np.uint8)  # copied at once, a record field by field
        row = rules_table(rules, num_players)[0]
        self.num_players = self.game.num_players
        self.hands, self.hand_size = int(row["hands"]), int(row["hand_size"])
        self.pack = sorted(row["pack"][: row["pack_size"]].tolist())
        tricks = int(row["num_tricks"])
        prices = row["win"] + row["overtrick"] * tricks, row["lose"] + row["undertrick"] * tricks
        self.most_chips = int(np.max(prices) * row["stake"]) * (self.num_players - 1)
        # Each seat speaks once, the dealer may hold, and trumps may be named.
        self.most_decisions = self.num_players + 2 + self.hands * tricks

    def deal(self, cards: list[int]) -> bytes:
        """Deal cards, hand by hand; return what stands on the table then."""
        names, size = [CARDS[card] for card in cards], self.hand_size
        hands = [names[seat * size : (seat + 1) * size] for seat in range(self.num_players)]
        self.game.set_up(dealer=self.num_players - 1, hands=hands)
        return self.standing()

    def standing(self) -> bytes:
        """Return what stands on the table, the engine's record."""
        return self._bytes.tobytes()

    def at(self, record: bytes) -> Game:
        """Put on the table what once stood there: the game is there until the next call."""
        self._bytes[:] = np.frombuffer(record, np.uint8)
        return self.game


class NapGame(pyspiel.Game):
    """One deal of Nap."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        """Load the game.

        Args:
            params: `rules`, a preset's name, and `players`.

        Raises:
            ValueError: rules that cannot be carried, or do not seat so many players.
        """
        given = {**_TYPE.parameter_specification, **(params or {})}
        self.table = table = _Table(resolve(given["rules"]), given["players"])
        info = pyspiel.GameInfo(
            num_distinct_actions=NUM_ACTIONS,
            max_chance_outcomes=NUM_CARDS,
            num_players=table.num_players,
            min_utility=-float(table.most_chips),
            max_utility=float(table.most_chips),
            utility_sum=0.0,
            max_game_length=table.most_decisions,
        )
        super().__init__(_TYPE, info, given)

    def new_initial_state(self) -> "NapState":
        """Return the state before the deal."""
        return NapState(self)

    def information_state_tensor_shape(self) -> list[int]:
        """Return the shape of what a seat is told: (K,)."""
        return [self.table.game.layout.size]

    observation_tensor_shape = information_state_tensor_shape

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "NapObserver":
        """Return an observer, the same of every kind: a seat remembers all that it has seen."""
        return NapObserver(self.table)


class NapState(pyspiel.State):
    """A deal of Nap: the cards that are dealt, then a record of the engine."""

    def __init__(self, game: NapGame) -> None:
        """Begin before the deal."""
        super().__init__(game)
        self._dealt: list[int] = []
        self._record: bytes | None = None

    def on_table(self) -> Game | None:
        """Return the deal as a game, which is there until another state needs the table."""
        return None if self._record is None else self.get_game().table.at(self._record)

    def current_player(self) -> int:
        """Return the seat to move, or that chance deals, or that the deal is over."""
        game = self.on_table()
        if game is None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if game.seat is None else game.seat

    def is_terminal(self) -> bool:
        """Return whether the deal is over."""
        game = self.on_table()
        return game is not None and game.over

    def returns(self) -> list[float]:
        """Return the chips that each seat has won, zero until the deal is over."""
        game = self.on_table()
        paid = game is not None and game.over
        return [*map(float, game.rewards())] if game and paid else [0.0] * self.num_players()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the next cards of the hand that is dealt, with their probabilities."""
        table = self.get_game().table
        done = len(self._dealt) % table.hand_size
        left = table.hand_size - done
        lowest = self._dealt[-1] + 1 if done else 0
        free = [card for card in table.pack if card >= lowest and card not in self._dealt]
        hands = comb(len(free), left)
        higher = [len(free) - place - 1 for place in range(len(free))]
        return [
            (card, comb(more, left - 1) / hands)
            for card, more in zip(free, higher, strict=True)
            if more >= left - 1
        ]

    def _legal_actions(self, player: int) -> list[int]:
        game = self.on_table()
        return game.legal_actions() if game and game.seat == player else []

    def _apply_action(self, action: int) -> None:
        table = self.get_game().table
        if self._record is not None:
            table.at(self._record).step(action)
            self._record = table.standing()
            return
        self._dealt.append(action)
        if len(self._dealt) == table.hands * table.hand_size:
            self._record = table.deal(self._dealt)

    def _action_to_string(self, player: int, action: int) -> str:
        return f"deal {CARDS[action]}" if player == pyspiel.PlayerId.CHANCE else ACTIONS[action]

    def __str__(self) -> str:
        game = self.on_table()
        if game is None:
            return "dealt " + " ".join(CARDS[card] for card in self._dealt)
        return game.text()

    def resample_from_infostate(
        self, player_id: int, probability_sampler: Callable[[], float]
    ) -> "NapState":
        """Return a state that looks the same to a seat, the others' cards dealt anew.

        All deals that agree with what the seat knows have the same chance.
        """
        game = self.on_table()
        state: NapState = self.get_game().new_initial_state()
        if game is None:
            return state
        game.determinize(player_id, int(probability_sampler() * 2**53))
        record = game.record()
        for hand in record["hands"]:
            for card in sorted(card_id(name) for name in hand):
                state.apply_action(card)
        for _, name in record["events"]:
            state.apply_action(action_id(name))
        return state


class NapObserver:
    """What a seat is told: `tensor`, float32 (K,), and a text that says the same."""

    def __init__(self, table: _Table) -> None:
        """Make room for it."""
        self.tensor = np.zeros(table.game.layout.size, np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: NapState, player: int) -> None:
        """Write what a seat is told into `tensor`: nothing before the deal."""
        game = state.on_table()
        self.tensor[:] = 0 if game is None else game.observe(player)[0]

    def string_from(self, state: NapState, player: int) -> str:
        """Return the seat's hand as dealt, and all that has been called and played."""
        game = state.on_table()
        if game is None:
            return f"seat {player}"
        record = game.record()
        events = ", ".join(f"{seat} {name}" for seat, name in record["events"])
        return f"seat {player}: {' '.join(sorted(record['hands'][player]))}; {events}"


def _efg(table: _Table) -> Iterator[str]:
    """Yield the lines of a game in extensive form."""
    names = " ".join(f'"seat {seat}"' for seat in range(table.num_players))
    yield f'EFG 2 R "nap" {{ {names} }}'
    information_sets: list[dict[bytes, int]] = [{} for _ in range(table.num_players)]
    numbers = {"chance": 0, "end": 0}

    def count(kind: str) -> int:
        numbers[kind] += 1
        return numbers[kind]

    def deal(cards: list[int]) -> Iterator[str]:
        if len(cards) == table.hands * table.hand_size:
            yield from play(table.deal(cards))
            return
        free = [card for card in table.pack if card not in cards]
        hands = [*combinations(free, table.hand_size)]
        texts = " ".join(
            f'"{" ".join(CARDS[card] for card in hand)}" 1/{len(hands)}' for hand in hands
        )
        yield f'c "" {count("chance")} "" {{ {texts} }} 0'
        for hand in hands:
            yield from deal([*cards, *hand])

    def play(record: bytes) -> Iterator[str]:
        game = table.at(record)
        while len(legal := game.legal_actions()) == 1:
            game.step(legal[0])
        seat = game.seat
        if seat is None:
            chips = ", ".join(f"{reward}.0" for reward in game.rewards())
            yield f't "" {count("end")} "" {{ {chips} }}'
            return
        told = information_sets[seat]
        number = told.setdefault(game.observe(seat)[0].tobytes(), len(told) + 1)
        actions = " ".join(f'"{ACTIONS[action]}"' for action in legal)
        yield f'p "" {seat + 1} {number} "" {{ {actions} }} 0'
        here = table.standing()
        for action in legal:
            table.at(here).step(action)
            yield from play(table.standing())

    yield from deal([])
