"""Agents that users write, and what holds for agents wherever they sit: copies, tables, rows."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nap_env
from nap_env import Batch, Games
from nap_env.actions import PASS
from nap_env.agents import AGENTS, from_policy, make
from nap_env.envs.aec import NapEnv as AecEnv
from nap_env.envs.single import NapEnv
from nap_env.envs.vector import NapVectorEnv
from nap_env.play import main as play
from training.evaluate import evaluate

NAMES = [name.replace("-K", "-2") for name in AGENTS]

FILE = """
import numpy as np

from nap_env.agents import from_policy

def lowest(games, rows):
    observations, masks = games.observe(rows)
    return masks.argmax(1)

def highest_mask(observations, masks):
    return masks.shape[1] - 1 - masks[:, ::-1].argmax(1)

highest = from_policy(highest_mask)
number = 3
"""


def lowest(observations: Any, masks: Any) -> Any:
    return masks.argmax(1)


@pytest.fixture
def my_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of agents, in which one stands."""
    (tmp_path / "my_nap_agents.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "my_nap_agents.py"


def table_of(name: str) -> tuple[str, int]:
    """Return a table at which an agent plays."""
    _, rules, players = name.split("-") if name.startswith("ppo-") else ("", "standard", "4")
    return rules, int(players)


@pytest.mark.parametrize("spelling", ["my_nap_agents:{}", "{file}:{}"])
@pytest.mark.parametrize("name", ["lowest", "highest"])
def test_an_agent_is_found_by_its_module_or_file(my_agents: Path, spelling: str, name: str) -> None:
    agent = make(spelling.format(name, file=my_agents), "standard", 4)
    games = Batch("standard", 4, 20, seed=0)
    masks = games.action_mask
    wanted = masks.argmax(1) if name == "lowest" else 77 - masks[:, ::-1].argmax(1)
    assert agent(games, np.arange(20)).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("my_nap_agents:nobody", r"no attribute 'nobody'.*; write MODULE:NAME or FILE.py:NAME"),
        ("my_nap_agents.py:nobody", r"KeyError\('nobody'\); write MODULE:NAME or FILE.py:NAME"),
        ("my_nap_agents:number", r"'my_nap_agents:number' is 3: an agent is called with"),
        ("no_such_module:lowest", r"No module named 'no_such_module'.*; write MODULE:NAME or FILE"),
        ("none.py:lowest", r"FileNotFoundError.*; write MODULE"),
        ("lowest", r"'lowest': allowed are random, passer, .* FILE.npz, MODULE:NAME and FILE.py"),
    ],
)
@pytest.mark.usefixtures("my_agents")
def test_an_agent_that_is_not_there_is_named(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make(name)


def test_a_users_agent_is_measured_sits_down_and_plays(
    my_agents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = evaluate("my_nap_agents:lowest", ["passer"], sets=20)
    assert [result["agent"] for result in results] == ["my_nap_agents:lowest"] * 2
    env = NapEnv(opponents=f"{my_agents}:highest")
    env.reset(seed=0)
    assert env.action_masks().any()
    assert play(["--watch", "--opponents", "my_nap_agents:highest", "--seed", "1"]) == 0
    assert "bids" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_agents_pickle_and_deep_copy(name: str) -> None:
    rules, players = table_of(name)
    agent = make(name, rules, players)
    games = Batch(rules, players, 8, seed=1)
    answers = agent(games.clone(), np.arange(8)).tolist()
    for other in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
        assert other(games.clone(), np.arange(8)).tolist() == answers


@pytest.mark.parametrize("name", [*NAMES, "my_nap_agents:highest", "policy"])
@pytest.mark.usefixtures("my_agents")
def test_environments_with_any_agent_pickle_and_deep_copy(name: str) -> None:
    rules, players = table_of(name)
    opponents: Any = from_policy(lowest) if name == "policy" else name
    single = NapEnv(rules, players, opponents=opponents)
    single.reset(seed=3)
    vector = NapVectorEnv(3, rules, players, opponents=opponents)
    vector.reset(seed=3)
    for env in (single, vector):
        copies = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env), env.clone()]
        for _ in range(6):
            action = env.action_masks().argmax(-1)
            ours = env.step(action)
            for other in copies:
                theirs = other.step(action)
                np.testing.assert_equal(theirs, ours)
            if np.any(ours[2]) or np.any(ours[3]):
                break


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_refuses_games_of_another_table_and_rows_that_are_none(name: str) -> None:
    rules, players = table_of(name)
    agent = make(name, rules, players)
    games = Batch(rules, players, 16, seed=0)
    for rows in ([16], [-1], [10**9], [0.0, 1.0], [[1]], [True, False], "01", [None]):
        with pytest.raises(ValueError, match="rows"):
            agent(games, np.array(rows))
    mask = games.seat == games.seat[0]
    assert agent(games.clone(), mask).tolist() == agent(games, np.flatnonzero(mask)).tolist()
    if name in ("random", "passer"):  # play everything
        return
    other = Batch("pub", 5, 4, seed=0)
    with pytest.raises(ValueError, match=rf"{rules}.*, {players} players .* of pub, 5 players"):
        agent(other, np.arange(4))


def test_games_without_a_batch_are_enough_for_every_agent() -> None:
    batch = Batch("standard", 4, 12, seed=5)
    light = Games("standard", 4, batch.games)
    for name in NAMES:
        if table_of(name) == ("standard", 4):
            agent = make(name, "standard", 4)
            before = batch.games.copy()
            answers = agent(light, np.arange(12)).tolist()
            batch.games[:] = before
            assert agent(batch, np.arange(12)).tolist() == answers


def test_what_the_seats_to_move_see_is_what_a_batch_shows() -> None:
    batch = Batch("peep", 5, 30, seed=5)
    for _ in range(20):
        observations, masks = batch.observe([3, 7, 29])
        assert (observations == batch.observation[[3, 7, 29]]).all()
        assert (masks == batch.action_mask[[3, 7, 29]]).all()
        assert batch.observe(batch.seat == 2)[0].shape == (
            (batch.seat == 2).sum(),
            batch.layout.size,
        )
        batch.step(batch.sample())


def test_a_policy_is_no_agent_and_says_so() -> None:
    with pytest.raises(ValueError, match="a function"):
        from_policy(3)  # type: ignore[arg-type]
    games = Batch("standard", 4, 3, seed=0)
    agent = from_policy(lambda observations, masks: [PASS] * 2)
    with pytest.raises(ValueError, match=r"answered: int64 \(2,\), integers \(3,\) are needed"):
        agent(games, np.arange(3))


@pytest.mark.parametrize(
    "make_copyable",
    [
        lambda: nap_env.Game("peep", 4, seed=2, options={"deals": 3}),
        lambda: Batch("peep", 4, 5, seed=2, options={"deals": 3}),
        lambda: AecEnv("peep", 4, options={"deals": 3}),
        lambda: NapVectorEnv(3, "peep", 4, options={"deals": 3}),
    ],
    ids=["Game", "Batch", "AEC", "vector"],
)
def test_a_clone_goes_on_alike_and_with_a_seed_differently(make_copyable: Any) -> None:
    """One meaning of copying everywhere: the same future, or that of a seed."""

    def futures(game: Any) -> Any:
        """Return the records of the deal after this one, played by the lowest legal actions."""
        if isinstance(game, nap_env.Game):
            while not game.over:
                game.step(game.legal_actions()[0])
            game.next_deal()
            return [game.record()["hands"]]
        if isinstance(game, Batch):
            while not game.done.all():
                game.step(game.action_mask.argmax(1))
            return [game.record(row)["hands"] for row in range(5)]
        if isinstance(game, AecEnv):
            first = game.record()["hands"]
            while game.record()["hands"] == first:
                game.step(int(game.last()[0]["action_mask"].argmax()))
            return [game.record()["hands"]]
        for _ in range(40):
            game.step(game.action_masks().argmax(-1))
        return [game.record(row) for row in range(3)]

    game = make_copyable()
    if hasattr(game, "possible_agents") or hasattr(game, "action_masks"):
        game.reset(seed=2)
    same, one, again, other = game.clone(), game.clone(1), game.clone(seed=1), game.clone(2)
    ours = futures(game)
    assert futures(same) == ours
    assert futures(one) == futures(again) != ours
    assert futures(other) != ours  # though it is the seed that the game began with


@pytest.mark.parametrize("rules", ["standard", "peep", "sir_garnet", "draw", "seven_card"])
def test_a_determinized_table_looks_the_same_to_its_seat_and_has_other_cards(rules: str) -> None:
    """The same in everything that holds games."""
    batch = Batch(rules, 4, 6, seed=1)
    aec = AecEnv(rules, 4)
    single, vector = NapEnv(rules, 4, seat=0), NapVectorEnv(3, rules, 4, seat=0)
    for env in (aec, single, vector):
        env.reset(seed=1)
    other = batch.clone()
    other.determinize(batch.seat, seed=9)
    assert (other.observation == batch.observation).all()
    assert (other.action_mask == batch.action_mask).all()
    assert (other.games["hand"] != batch.games["hand"]).any()
    game, world = batch.game(0), batch.game(0)
    world.determinize(2, seed=9)
    assert (world.observe(2)[0] == game.observe(2)[0]).all()
    assert world.hand(2) == game.hand(2)
    assert any(world.hand(seat) != game.hand(seat) for seat in range(4))
    for env in (aec, single, vector):
        twin = env.clone()
        twin.determinize(0, seed=9)
        mine, theirs = env.clone(), twin.clone()
        if env is aec:
            views = [copied.observe("player_0")["observation"] for copied in (mine, theirs)]
            assert (views[0] == views[1]).all()
        else:
            assert (mine.action_masks() == theirs.action_masks()).all()
        where = (0,) if env is vector else ()
        assert mine.record(*where)["hands"][0] == theirs.record(*where)["hands"][0]
        assert mine.record(*where) != theirs.record(*where)
    before = game.games.tobytes(), batch.games.tobytes()
    for holder in (game, batch, aec, single, vector):
        for seat in (4, -1, 1.5):
            with pytest.raises(ValueError, match=r"^seat"):
                holder.determinize(seat, 3)  # type: ignore[attr-defined]
    assert (game.games.tobytes(), batch.games.tobytes()) == before


def test_an_agent_plays_matches_of_any_length_unless_it_has_learnt_from_their_length() -> None:
    long = Batch("standard", 4, 6, seed=1, options={"deals": 3})
    for name in ("heuristic", "pimc-2", "ppo-standard-4"):
        agent = make(name, "standard", 4)
        assert len(agent(long, np.arange(6))) == 6
        env = NapVectorEnv(3, opponents=agent, options={"deals": 3})
        env.reset(seed=0)
    with pytest.raises(
        ValueError, match=r"standard, 4 players .* of standard with .*'joker': True"
    ):
        make("heuristic", "standard", 4)(
            Batch("standard", 4, 2, seed=0, options={"joker": True}), np.arange(2)
        )


def test_an_episode_that_an_illegal_action_has_ended_stays_ended_in_another_world() -> None:
    aec, single = AecEnv("standard", 4), NapEnv("standard", 4, seat=0)
    aec.reset(seed=1)
    single.reset(seed=1)
    aec.step(5 if aec.record()["events"] else 52)
    single.step(52)
    for env in (aec, single):
        env.determinize(0, seed=5)
    assert not any(aec.observe(agent)["action_mask"].any() for agent in aec.possible_agents)
    assert not single.action_masks().any()
