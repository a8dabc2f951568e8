"""`nap_env.nap_v0`: its page, PettingZoo's registry, and many deals of every preset."""

import functools
import inspect
import itertools
import pydoc
import random
import re
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pettingzoo
import pytest

import nap_env
from nap_env import nap_v0
from nap_env.actions import ACTIONS, NUM_ACTIONS
from nap_env.envs.single import NapEnv
from nap_env.game import Game
from nap_env.observation import FIELDS, layout
from nap_env.presets import overview
from nap_env.rules import PHASES, PRESETS, Rules

with warnings.catch_warnings():
    # It imports a game of its own in a way that it has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import seed_test

ROOT = Path(nap_env.__file__).parent.parent
PAGE = nap_v0.__doc__
has_registry = pytest.mark.skipif(
    not hasattr(pettingzoo, "register"), reason="PettingZoo has a registry from 1.27 on"
)


def section(title):
    """The text under a heading of the page."""
    after = PAGE.split(f"\n{title}\n{'=' * len(title)}\n")[1]
    return re.split(r"\n\n.+\n=+\n", after)[0]


def output_of(*arguments):
    """What a fresh interpreter prints, in which warnings are errors."""
    run = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


# The page.


def test_help_prints_the_page():
    text = pydoc.plain(pydoc.render_doc(nap_v0))
    for line in PAGE.splitlines():
        assert line.strip() in text


def test_page_has_every_section_of_a_page():
    titles = re.findall(r"^(.+)\n=+$", PAGE, re.M)
    assert titles == [
        "Creation", "Course of the game", "Observation", "Actions", "Masks", "Rewards", "Reset",
        "Rules", "Version history",
    ]  # fmt: skip
    assert "$" not in PAGE
    assert "v0: first version." in section("Version history")


def test_help_fits_a_terminal_of_80_columns():
    """All that is ours: the page and the docstrings of the classes; signatures are pydoc's."""
    shown = pydoc.plain(pydoc.render_doc(nap_v0)).splitlines()
    page, classes = shown[: shown.index("CLASSES")], shown[shown.index("CLASSES") :]
    ours = {*inspect.getsource(nap_env.envs.aec).split("\n")}
    ours |= {*inspect.getsource(nap_env.envs.parallel).split("\n")}
    told = {line.strip(' "') for line in ours}
    assert [line for line in page if len(line) > 80] == []
    assert [line for line in classes if len(line) > 80 and line.strip(" |") in told] == []


@pytest.mark.parametrize("made", [nap_v0.env, nap_v0.raw_env, nap_v0.parallel_env, NapEnv])
def test_reset_names_every_key_that_it_takes(made):
    told = inspect.getdoc(made.reset)
    for key in (*Game.DEAL_KEYS, "record"):
        assert f"`{key}`" in told


def test_page_has_every_argument_with_its_default():
    text = section("Creation")
    for name, parameter in inspect.signature(nap_v0.raw_env).parameters.items():
        assert f"{name}={parameter.default!r}" in text
        assert re.search(rf"^    {name}: \S", text, re.M)


def test_page_has_every_field_of_the_observation():
    text = section("Observation")
    rows = [
        (field.name, str(field.size), field.meaning)
        for field in FIELDS
        if f" {field.name} {field.size} {field.meaning} " in f"{' '.join(text.split())} "
    ]
    assert rows == [(field.name, str(field.size), field.meaning) for field in FIELDS]
    assert f"{layout(PRESETS['standard'], 4).size} for `standard` at four" in " ".join(text.split())
    assert f"int8 ({NUM_ACTIONS},)" in text


def test_page_says_which_fields_are_numbers_and_which_belong_to_a_seat():
    """The names that its text gives as ends of ranges are those of FIELDS and their order."""
    groups = [field.group for field in FIELDS]
    names = [field.name for field in FIELDS]
    assert groups.index("scores") == names.index("scores")
    assert {"mine", "trick", "discards", "widow", "seat", "calls"} == set(
        groups[: names.index("scores")]
    )
    of_seats = names[names.index("played") : names.index("passed") + 1]
    assert of_seats == [field.name for field in FIELDS if field.group in ("seat", "calls")]


def test_page_has_every_action_with_its_number():
    found = re.findall(r"(?<!\S)(\d+) (\S+)", section("Actions"))
    assert found == [(str(number), name) for number, name in enumerate(ACTIONS)]


def test_page_has_every_phase_in_order():
    found = re.findall(r"^    (\w+) +\w", section("Course of the game"), re.M)
    assert tuple(found) == PHASES


def test_page_has_every_preset_and_every_option_of_the_rules():
    text = section("Rules")
    assert " ".join(overview().split()) in " ".join(text.split())
    options = {field.name for field in fields(Rules)} - {"name"} | {"pay", "lead"}
    assert options == set(text.split("`nap_env.rules.Rules`:")[1].split())
    for name in options - {"pay", "lead", "bids"}:
        value = getattr(PRESETS["standard"], name)
        PRESETS["standard"].with_options({name: value})  # it is an option


def test_page_has_every_key_of_reset():
    text = section("Reset")
    for key in (*Game.DEAL_KEYS, "record"):
        assert re.search(rf"(?<!\S){key}(?!\S)", text)


def test_module_can_be_imported_where_docstrings_are_left_out():
    assert output_of("-OO", "-c", "from nap_env import nap_v0; print(nap_v0.__doc__)") == "None\n"


# PettingZoo's registry.


MADE = """
import nap_env, pettingzoo
env = pettingzoo.make("aec", "nap/nap-v0", rules="modern", num_players=5)
same = pettingzoo.make("aec", "nap/nap_v0", flat_obs=True)
parallel = pettingzoo.make("parallel", "nap/nap", rules="peep", num_players=3)
env.reset(seed=3)
parallel.reset(seed=3)
print(type(env) is nap_env.nap_v0.env, type(parallel) is nap_env.nap_v0.parallel_env)
print(len(env.agents), len(parallel.agents), same.observation_space("player_0").shape)
"""


@has_registry
def test_ids_work_in_a_fresh_interpreter():
    size = layout(PRESETS["standard"], 4).size
    assert output_of("-c", MADE) == f"True True\n5 3 ({size},)\n"


@has_registry
def test_specs_name_what_nap_v0_offers():
    for kind, name in (("aec", "env"), ("parallel", "parallel_env")):
        spec = pettingzoo.spec(kind, "nap/nap-v0")
        assert (spec.id, spec.entry_point) == ("nap/nap-v0", f"nap_env.nap_v0:{name}")


def test_import_of_the_package_imports_no_environment():
    code = "import sys, nap_env; print([name for name in sys.modules if 'nap_env.' in name])"
    assert output_of("-c", code) == "[]\n"


# Every preset.


@pytest.mark.parametrize("rules", PRESETS)
def test_seed_test_of_every_preset(rules):
    for num_players in PRESETS[rules].player_range:
        for factory in (nap_v0.env, nap_v0.raw_env):
            seed_test(functools.partial(factory, rules, num_players))


@pytest.mark.parametrize("rules", PRESETS)
def test_agents_end_when_the_engine_says_so_and_get_what_it_pays(rules):
    low, high = PRESETS[rules].player_range
    players = itertools.cycle(range(low, high + 1))
    rng = random.Random(1)
    deals = 0
    while deals < 10_000 / len(PRESETS):
        seed, num_players = deals, next(players)
        env, game = nap_v0.env(rules, num_players), Game(PRESETS[rules], num_players, seed)
        env.reset(seed=seed)
        got, paid = Counter(), Counter()
        for agent in env.agent_iter():
            observation, reward, terminated, _, _ = env.last()
            got[agent] += reward
            if terminated:
                env.step(None)
                continue
            action = int(rng.choice(np.flatnonzero(observation["action_mask"])))
            env.step(action)
            over = game.step(action)
            deals += over
            rewards = game.rewards() if over else [0] * num_players
            assert list(env.rewards.values()) == rewards
            paid.update(env.rewards)
            assert set(env.terminations.values()) == {game.match_over}
            assert set(env.truncations.values()) == {False}
            if over and not game.match_over:
                game.next_deal()
        assert got == paid
        assert sum(paid.values()) == 0
        assert env.agents == [] and game.match_over
