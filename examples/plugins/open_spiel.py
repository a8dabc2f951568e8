"""OpenSpiel: sampled CFR on a small game, then chips per 100 deals in its second seat.

    pip install "nap_env[open_spiel]"
    python -m examples.plugins.open_spiel    # five minutes

What to know: docs/plugins.md.
"""

import pickle
import time
from pathlib import Path

import numpy as np
import pyspiel

from examples.plugins.alike import parsed
from nap_env.adapters import open_spiel


def play(game, policies, rng):
    """Play a deal; return what each seat has won."""
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            chances = dict(state.chance_outcomes())
        else:
            chances = policies[state.current_player()].action_probabilities(state)
        odds = np.array([*chances.values()])
        state.apply_action(int(rng.choice([*chances], p=odds / odds.sum())))
    return state.returns()


def main():
    """Train, measure, save."""
    options = parsed(__doc__, "open_spiel.pkl")
    open_spiel.register()
    game = pyspiel.load_game("python_nap", {"rules": "mini_2x4", "players": 2})
    solver = pyspiel.ExternalSamplingMCCFRSolver(game, 0)
    while time.time() < options.end:
        solver.run_iteration()
    Path(options.save).write_bytes(pickle.dumps(solver))
    policies = [pyspiel.UniformRandomPolicy(game), solver.average_policy()]
    rng = np.random.default_rng(0)
    won = np.array([play(game, policies, rng)[1] for _ in range(2000)])
    half = 1.96 * won.std() / np.sqrt(len(won))
    print(f"against random {100 * won.mean():+.1f} ± {100 * half:.1f} chips per 100 deals")


if __name__ == "__main__":
    main()
