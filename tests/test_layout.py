"""The layout follows its one table: fields may change places within their groups."""

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nap_env.observation import FIELDS, SIZES

ROOT = Path(__file__).parent.parent
ROW = re.compile(r'^    Field\("(\w+)", .*\),\n', re.MULTILINE)

TRAIN = """
import sys
from training.config import parse
from training.trainer import Trainer

trainer = Trainer(parse("--rules standard peep --players 4 --num-games 64 --threads 1".split()))
for _ in range(2):
    print(trainer.update())
"""


def with_fields_swapped(folder: Path, seed: int) -> Path:
    """Copy the code to a folder, rows of each group of FIELDS in another order there."""
    for part in ("nap_env", "training", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = folder / "nap_env" / "observation.py"
    source = path.read_text()
    rows = [match.group() for match in ROW.finditer(source)]
    assert len(rows) == len(FIELDS)
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(ROW.match(row)[1], []).append(place)
    assert set(places) == set(SIZES)
    order = random.Random(seed)
    swapped = rows.copy()
    for old in places.values():
        new = old.copy()
        while len(old) > 1 and new == old:
            order.shuffle(new)
        for here, there in zip(old, new, strict=True):
            swapped[here] = rows[there]
    assert swapped != rows
    rest = iter(swapped)
    path.write_text(ROW.sub(lambda _: next(rest), source))
    return folder


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
def test_fields_may_change_places_within_their_groups(tmp_path: Path, seed: int) -> None:
    """The exact observation, the features and training stand on the table alone."""
    folder = with_fields_swapped(tmp_path, seed)

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout

    where = "import nap_env.observation as o; print(o.__file__, *[f.name for f in o.FIELDS])"
    file, *names = run("-c", where).split()
    assert file.startswith(str(folder))
    assert sorted(names) == sorted(field.name for field in FIELDS)
    assert names != [field.name for field in FIELDS]
    known = "tells_what_the_seat_knows and not any_options or dense_form or special_games_show"
    assert " passed" in run("-m", "pytest", "-q", "tests/test_observation.py", "-k", known)
    assert " passed" in run("-m", "pytest", "-q", "tests/agents/test_features.py")
    assert run("-c", TRAIN).count("losses/value") == 2


def test_a_group_that_does_not_fit_is_refused_at_import(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "nap_env", tmp_path / "nap_env")
    rules = tmp_path / "nap_env" / "rules.py"
    rules.write_text(rules.read_text().replace("MAX_HAND = 7", "MAX_HAND = 8"))
    done = subprocess.run(
        [sys.executable, "-c", "import nap_env.observation"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": "."}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "the fields of group 'trick' have 65 bits, a plane holds 64" in done.stderr
