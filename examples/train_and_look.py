"""Train for a minute, measure what came of it, and look at the report.

    python examples/train_and_look.py
    python examples/train_and_look.py --minutes 10 --run-dir runs/ten-minutes

The same by hand: `nap train --time-limit 1`, `nap report RUN`, `nap evaluate RUN/last.safetensors`.
"""

import argparse
from pathlib import Path

from training import evaluate, ppo, report

# About as many as a minute is worth: the learning rate falls to 0 with them.
DECISIONS_A_MINUTE = 15_000_000


def main():
    """Train, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="to train")
    parser.add_argument("--run-dir", type=Path, default=Path("runs/example"), help="a new folder")
    told = parser.parse_args()
    decisions = int(told.minutes * DECISIONS_A_MINUTE)
    options = [f"--total-decisions={decisions}", f"--time-limit={told.minutes}"]
    options += [f"--run-dir={told.run_dir}", "--eval-sets=1000", "--eval-times=10"]
    ppo.main(options)
    weights = f"{told.run_dir}/last.safetensors"
    evaluate.main([weights, "--against", "random", "heuristic", "--sets", "1000"])
    report.main([f"{told.run_dir}"])  # prints where the page is: open it in a browser


if __name__ == "__main__":
    main()
