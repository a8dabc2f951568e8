"""The game of OpenSpiel and its EFG text: the library's own tests, solvers and searches."""

from math import comb

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.ismcts import ISMCTSBot
from open_spiel.python.algorithms.mcts import RandomRolloutEvaluator

from nap_env.adapters import open_spiel
from nap_env.rules import PRESETS
from training.exploitability import Yardstick

FITTING = (
    *("standard", "parlett", "alt_scoring", "seven_card", "modern", "britannica_1911"),
    *("dealer_must", "mini_2x4", "mini_2x5", "mini_3x4", "mini_3p", "mini_mix"),
)
SMALL = {"rules": "mini_2x4", "players": 2}


def load(**parameters):
    open_spiel.register()
    return pyspiel.load_game("python_nap", parameters)


def played(game, rng):
    """Yield the states of a random deal at which a seat is to move."""
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            cards, chances = zip(*state.chance_outcomes(), strict=True)
            assert sum(chances) == pytest.approx(1)
            state.apply_action(int(rng.choice(cards, p=chances)))
        else:
            yield state
            state.apply_action(int(rng.choice(state.legal_actions())))
    assert sum(state.returns()) == 0


@pytest.mark.parametrize("rules", FITTING)
def test_random_simulations(rules):
    for players in {*PRESETS[rules].player_range}:
        pyspiel.random_sim_test(load(rules=rules, players=players), 1, True, False)


def test_rules_that_cannot_be_carried_are_refused_by_name():
    open_spiel.register()
    for rules in PRESETS.keys() - {*FITTING}:
        with pytest.raises(ValueError, match=f"rules='{rules}': .*, which python_nap cannot carry"):
            open_spiel.NapGame({"rules": rules, "players": PRESETS[rules].player_range[0]})
    with pytest.raises(ValueError, match=r"rules='standard': .*e\+.* deals, 100000 fit"):
        open_spiel.to_efg("standard", 4)


def test_a_deal_can_be_dealt_in_one_way_only_and_all_are_as_likely():
    state, chance = load(**SMALL).new_initial_state(), 1.0
    hands = []
    while state.is_chance_node():
        card, share = state.chance_outcomes()[0]
        state.apply_action(card)
        hands.append(card)
        chance *= share
    assert hands[:3] == sorted(hands[:3]) and hands[3:] == sorted(hands[3:])
    assert 1 / chance == pytest.approx(comb(8, 3) * comb(5, 3))


def test_a_seat_forgets_nothing():
    """One information state has one past: what the seat saw and did before."""
    rng, pasts = np.random.default_rng(0), {}
    game = load(**SMALL)
    for _ in range(300):
        past = ["", ""]
        for state in played(game, rng):
            seat = state.current_player()
            told = state.information_state_string(seat)
            tensor = bytes(np.array(state.information_state_tensor(seat), np.int8))
            assert pasts.setdefault(told, (past[seat], tensor)) == (past[seat], tensor)
            past[seat] = told
    assert len({tensor for _, tensor in pasts.values()}) == len(pasts)


def test_a_resampled_state_looks_the_same_to_the_seat():
    rng = np.random.default_rng(0)
    game = load(rules="standard", players=4)
    others = 0
    for state in played(game, rng):
        seat = state.current_player()
        twin = state.resample_from_infostate(seat, rng.random)
        assert twin.information_state_string(seat) == state.information_state_string(seat)
        assert twin.information_state_tensor(seat) == state.information_state_tensor(seat)
        assert twin.current_player() == seat
        assert twin.legal_actions() == state.legal_actions()
        others += twin.history() != state.history()
    assert others > 5


def test_a_copy_goes_its_own_way():
    rng = np.random.default_rng(0)
    for state in played(load(rules="standard", players=3), rng):
        before = str(state), state.history()
        copy = state.clone()
        copy.apply_action(copy.legal_actions()[0])
        assert (str(state), state.history()) == before


def test_ismcts_and_sampled_cfr_play():
    game = load(**SMALL)
    bot = ISMCTSBot(game=game, uct_c=2.0, max_simulations=10, evaluator=RandomRolloutEvaluator(1))
    for state in played(game, np.random.default_rng(1)):
        assert bot.step(state) in state.legal_actions()
    solver = pyspiel.ExternalSamplingMCCFRSolver(game, 0)
    for _ in range(3):
        solver.run_iteration()
    for state in played(game, np.random.default_rng(1)):
        assert solver.average_policy().action_probabilities(state).keys() == {
            *state.legal_actions()
        }


def test_as_text_uniform_play_can_be_exploited_as_is_exact_and_cfr_comes_down():
    game = pyspiel.load_efg_game(open_spiel.to_efg("mini_2x4", 2))
    uniform = pyspiel.nash_conv(game, pyspiel.UniformRandomPolicy(game), True)
    # Ours is the mean over the two seats, theirs the sum.
    assert uniform == pytest.approx(2 * Yardstick(PRESETS["mini_2x4"], 2).uniform())
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(3):
        solver.evaluate_and_update_policy()
    assert pyspiel.nash_conv(game, solver.average_policy(), True) < 0.5 * uniform
