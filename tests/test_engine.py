"""What holds for every deal of every preset, and how the compiled engine behaves."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nap_env.actions import ACTIONS
from nap_env.batch import Batch
from nap_env.cards import CARDS
from nap_env.game import Game, hash_seed
from nap_env.presets import PRESETS, resolve

TABLES = [
    (name, players)
    for name, rules in PRESETS.items()
    for players in range(rules.player_range[0], rules.player_range[1] + 1)
]
ROOT = Path(__file__).parent.parent


def cards_of(game: Game) -> Counter[str]:
    """Return how often each card stands somewhere: in hands, played, put away, on the table."""
    g = game.games[0]
    places = [*g["hand"][: game.num_players], *g["discards"][: game.num_players]]
    places += [int(seen) & ((1 << len(CARDS)) - 1) for seen in g["seen"][: game.num_players]]
    places.append(g["widow_left"])
    found = Counter(
        card for place in places for number, card in enumerate(CARDS) if int(place) >> number & 1
    )
    size = int(game._table["pack_size"][0])
    found.update(CARDS[card] for card in g["pack"][int(g["stock_next"]) : size])
    return found


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_every_card_is_in_one_place_and_chips_balance(name: str, players: int) -> None:
    game = Game(resolve(name), players, seed=players)
    pack = Counter(CARDS[card] for card in game._table["pack"][0][: game._table["pack_size"][0]])
    for _ in range(15):
        while not game.over:
            assert game.legal(), "the mask is never empty before the end"
            assert cards_of(game) == pack
            game.step(game.random_action())
        assert game.legal() == []
        result = game.record()["result"]
        before = game.record()["pool"]
        assert sum(result["payments"]) == before - result["pool"]
        assert sum(result["tricks"]) <= game.rules.num_tricks
        game.next_deal()


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_rewards_of_a_match_sum_to_zero(name: str, players: int) -> None:
    game = Game(resolve(name), players, seed=7)
    for _ in range(3):
        total = 0
        while True:
            while not game.over:
                game.step(game.random_action())
            total += sum(game.rewards())
            if game.match_over:
                break
            game.next_deal()
        assert total == 0
        game.next_deal()


def test_deal_depends_only_on_seed_game_and_deal_number() -> None:
    small = Batch("standard", 4, num_games=3, seed=11)
    large = Batch("standard", 4, num_games=50, seed=11, observe="none")
    for _ in range(40):
        small.step(small.sample())
    for _ in range(80):
        large.step(first_legal(large))
    for index in range(3):
        deals: list[list[Any]] = []
        for batch in (small, large):
            batch.games["deal_number"][index] = 5
            game = Game.of(batch.rules, 4, batch.games[index : index + 1])
            game.reset()
            deals.append([game.record()["hands"], game.record()["dealer"]])
        assert deals[0] == deals[1]


def first_legal(batch: Batch) -> np.ndarray[Any, Any]:
    words = batch.mask[:, 0]
    low = np.array([(int(w) & -int(w)).bit_length() - 1 for w in words])
    high = np.array([(int(w) & -int(w)).bit_length() + 63 for w in batch.mask[:, 1]])
    return np.where(words != 0, low, high)


def test_game_is_number_0_of_its_seed() -> None:
    batch = Batch("standard", 4, num_games=4, seed=3)
    game = Game(resolve("standard"), 4, seed=3)
    assert game.record() == batch.record(0)
    game.step(game.random_action())
    assert Batch("standard", 4, num_games=1, seed=3).record(0) == batch.record(0)


def test_other_seeds_deal_other_cards() -> None:
    hands = {str(Game(resolve("standard"), 4, seed=seed).record()["hands"]) for seed in range(50)}
    assert len(hands) == 50


def test_each_card_is_dealt_to_each_place_equally_often() -> None:
    batch = Batch("standard", 4, num_games=20_000, seed=0, observe="none")
    at_eldest = np.zeros(52)
    for game in batch.games:
        at_eldest[game["pack"][:5]] += 1
    in_pack = at_eldest[at_eldest > 0]
    expected = 20_000 * 5 / 28
    assert len(in_pack) == 28
    chi_square = float(((in_pack - expected) ** 2 / expected).sum())
    # 27 degrees of freedom: 1 in 10,000 lies above 62.
    assert chi_square < 62


def test_random_actions_are_uniform() -> None:
    game = Game(resolve("standard"), 4, seed=1)
    counts = Counter(ACTIONS[game.random_action()] for _ in range(10_000))
    assert sorted(counts) == game.legal()
    assert max(counts.values()) - min(counts.values()) < 350


def test_seed_must_be_a_whole_number() -> None:
    for seed in (-1, 1.5, "1", True):
        with pytest.raises(ValueError, match=r"seed=.*whole number from 0 on"):
            hash_seed(seed)  # type: ignore[arg-type]


TRAJECTORIES = """
import zlib
import numpy as np
from nap_env.batch import Batch
from nap_env.presets import PRESETS
total = 0
with np.errstate(over="ignore"):  # plain numpy integers warn where compiled ones wrap
    for name, rules in PRESETS.items():
        for players in sorted(set(rules.player_range)):
            batch = Batch(name, players, num_games=2, seed=5)
            for _ in range(40):
                actions = batch.sample()
                batch.step(actions)
                for part in (actions, batch.observation, batch.action_mask, batch.payments):
                    total = zlib.crc32(part.tobytes(), total)
print(total)
"""


def trajectories(cache: Path | None = None, **environment: str) -> str:
    """Return a checksum over random play of all presets, from a fresh process."""
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    run = subprocess.run(
        [sys.executable, "-c", TRAJECTORIES],
        env=os.environ | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_engine_plays_the_same_without_the_jit() -> None:
    assert trajectories(NUMBA_DISABLE_JIT="1") == trajectories()


def test_engine_stays_within_bounds(tmp_path: Path) -> None:
    assert trajectories(tmp_path, NUMBA_BOUNDSCHECK="1") == trajectories()


@pytest.mark.parametrize("name", ["nap_env", "training"])
def test_compiled_code_is_stale_after_an_edit_of_what_it_is_made_of(
    tmp_path: Path, name: str
) -> None:
    """Numba alone would go on answering 1: the caller's own file has not changed."""
    source = (ROOT / "nap_env/engine/kernel.py").read_text()
    for package in ("nap_env", "nap_env/engine", "training"):
        (tmp_path / package).mkdir(exist_ok=True)
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "nap_env/engine/kernel.py").write_text(source)
    package = tmp_path / name
    (package / "caller.py").write_text(
        "from nap_env.engine.kernel import kernel\n"
        f"from {name}.helper import answer\n\n\n"
        "@kernel\n"
        "def ask(asked):\n    return answer(asked)\n"
    )
    helper = (
        "from typing import NamedTuple\n\n"
        "from nap_env.engine.kernel import kernel\n\n\n"
        "NAME = '{asked}'\n\n\n"
        "class {asked}(NamedTuple):\n    number: int\n\n\n"
        "@kernel\n"
        "def answer(asked):\n    return {answer} * asked.number\n"
    )
    program = (
        f"from {name} import caller, helper, unrelated\n"
        "value = caller.ask(vars(helper)[helper.NAME](1))\n"
        "print(value, sum(caller.ask.stats.cache_hits.values()))\n"
    )

    def run() -> str:
        return subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "c")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    (package / "unrelated.py").write_text("")
    (package / "helper.py").write_text(helper.format(asked="Asked", answer=1))
    assert run() == "1 0"
    assert run() == "1 1", "a second process loads the compiled code"
    (package / "unrelated.py").write_text("EDITED = 1\n")
    assert run() == "1 1", "what it is not made of does not matter"
    (package / "helper.py").write_text(helper.format(asked="Asked", answer=2))
    assert run() == "2 0"
    (package / "helper.py").write_text(helper.format(asked="Other", answer=2))
    assert run() == "2 0", "an argument's class has another name"
