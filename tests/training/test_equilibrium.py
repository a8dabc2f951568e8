"""Small games as a whole: what is walked, what best answers gain, equilibria."""

import json
import math

import numpy as np
import pytest
from whole_game import WholeGame, name_of

from nap_env.actions import ACTIONS, action_id
from nap_env.agents import from_policy
from nap_env.agents.network import NetworkAgent, Training, widths_of
from nap_env.cards import CARDS, hand_cards
from nap_env.game import Game
from nap_env.games import Games
from nap_env.observation import LAYOUT_VERSION, layout
from nap_env.presets import PRESETS, resolve
from training import equilibrium, evaluate
from training.checkpoint import save_weights
from training.exploitability import Yardstick
from training.network import new_weights
from training.plan import (
    Solver,
    action_sequences,
    exploitability,
    gain_in_turns,
    gains,
    plan_of,
    policy_of,
    reach,
    uniform,
    worth,
)
from training.tree import SmallGame, estimate, every_deal, is_small, num_deals

TINY = {"deck": 6, "hand_size": 2, "bids": ["one", "nap"]}
TINY_GAMES = {
    "plain": {},
    "three suits": {"suits": 3},
    "misère without trumps": {"bids": ["one", "misere", "nap"], "hold": True},
    "joker, must trump, who is last must bid": {
        "deck": 4, "joker": True, "must_trump": True, "all_pass": "dealer_one",
    },
    "a card on the table": {"widow": "peep", "look_cost": 1, "deck": 4, "hand_size": 1},
    "a spare hand": {"widow": "garnet", "hand_size": 1, "deck": 4},
    "a card from the stock": {"draw": "maker_one", "hand_size": 1, "deck": 4, "pool_each": 1},
    "cards from the stock": {"draw": "maker_then_opponents", "hand_size": 1, "deck": 4},
    "buying": {"buy": True, "hand_size": 1, "deck": 4},
    "a card is put away": {"discard_to": 1, "deck": 4},
    "revokes": {"allow_revoke": True, "deck": 4, "first_bidder": "dealer", "pool_revoke": 1},
}  # fmt: skip


def tiny(**options):
    return resolve("mini_2x4", {**TINY, **options})


@pytest.fixture(scope="module", params=TINY_GAMES)
def rules(request):
    return tiny(**TINY_GAMES[request.param])


@pytest.fixture(scope="module")
def whole(rules):
    return WholeGame(rules, 2)


@pytest.fixture(scope="module")
def unfolded(rules):
    return SmallGame(rules, 2, fold=False)


@pytest.fixture(scope="module")
def folded(rules):
    return SmallGame(rules, 2)


def node_of(whole, game, number):
    """Return the node of the plain game at which an information set is met."""
    met = Games(game.rules, game.num_players, game.games(np.array([number])))
    return whole.nodes[name_of(met.record(0), whole._draws)]


def as_policy(whole, game, policy):
    """Return a policy of an unfolded game as one of the plain game."""
    tree, actions = game.tree, game.places.actions
    found = {}
    for number, (first, count) in enumerate(zip(tree.firsts, tree.counts, strict=True)):
        node = node_of(whole, game, number)
        chances = policy[first : first + count]
        found[node.seen] = dict(zip(actions[first : first + count].tolist(), chances, strict=True))
        assert found[node.seen].keys() == node.actions.keys()
    return found


def drawn_policy(game, seed=0):
    """Return a policy in which nothing is alike."""
    policy = np.random.default_rng(seed).exponential(size=game.tree.side_sequences[-1])
    policy[game.tree.side_sequences[:-1]] = 1
    for first, count in zip(game.tree.firsts, game.tree.counts, strict=True):
        policy[first : first + count] /= policy[first : first + count].sum()
    return policy


def test_every_deal_and_every_information_set_is_found_once(whole, unfolded, folded):
    assert unfolded.size.deals == folded.size.deals == len(whole.deals)
    assert unfolded.size.information_sets == len(whole.information_sets)
    assert folded.size.information_sets == len(whole.information_sets)
    assert len(unfolded.tree.parents) == len(whole.information_sets)
    seen = {node_of(whole, unfolded, number).seen for number in range(len(unfolded.tree.parents))}
    assert seen == whole.information_sets


def test_each_end_is_reached_by_one_sequence_of_each_side(unfolded, folded):
    for game in (unfolded, folded):
        tree = game.tree
        reached = reach(tree, plan_of(tree, drawn_policy(game)))
        np.testing.assert_allclose(reached[tree.side_sequences[:-1]], 1)
        assert (tree.side_sequences[:-1] <= tree.ends).all()
        assert (tree.ends < tree.side_sequences[1:]).all()


def test_worth_and_best_answers_are_those_of_the_plain_game(whole, unfolded):
    for policy in (uniform(unfolded.tree), drawn_policy(unfolded)):
        plan, plain = plan_of(unfolded.tree, policy), as_policy(whole, unfolded, policy)
        worths = worth(unfolded.tree, plan)
        np.testing.assert_allclose(worths, whole.worth(plain), atol=1e-12)
        best = [whole.best(seat, plain) for seat in range(2)]
        np.testing.assert_allclose(worths + gains(unfolded.tree, plan), best, atol=1e-12)
        np.testing.assert_allclose(policy_of(unfolded.tree, plan), policy)


def test_suits_are_folded_without_loss(unfolded, folded):
    if len(folded.tree.parents) == len(unfolded.tree.parents):
        pytest.skip("these rules know suits")
    answers = []
    even = [
        exploitability(game.tree, plan_of(game.tree, uniform(game.tree)))
        for game in (unfolded, folded)
    ]
    assert even[0] == pytest.approx(even[1])
    for game in (unfolded, folded):
        solver = Solver(game.tree)
        solver.improve(1000)
        answers.append(worth(game.tree, solver.plan))
        assert exploitability(game.tree, solver.plan) < 1e-5
    np.testing.assert_allclose(*answers, atol=2e-5)


def test_an_equilibrium_is_one_in_the_plain_game(whole, unfolded):
    solver = Solver(unfolded.tree)
    solver.improve(1000)
    plain = as_policy(whole, unfolded, policy_of(unfolded.tree, solver.plan))
    assert 0 <= whole.exploitability(plain) + 1e-12 < 1e-5
    assert sum(whole.worth(plain)) == pytest.approx(0, abs=1e-12)


def test_plain_regret_matching_comes_to_the_same_worth():
    rules = tiny()
    whole, game = WholeGame(rules, 2), SmallGame(rules, 2)
    slow = whole.solve(60)
    solver = Solver(game.tree)
    solver.improve(500)
    off = whole.exploitability(slow)
    assert off < 0.1
    assert whole.worth(slow) == pytest.approx(worth(game.tree, solver.plan), abs=2 * off + 1e-6)


def test_the_worth_lies_between_what_each_can_hold_and_the_other_can_hold_it_to():
    game = SmallGame(resolve("mini_2x4"), 2)
    solver = Solver(game.tree)
    bounds = []
    for _ in range(3):
        solver.improve(10)
        plan = solver.plan
        gained, worths = gains(game.tree, plan), worth(game.tree, plan)
        assert (gained >= -1e-12).all()
        bounds.append((worths[0] - gained[1], worths[0] + gained[0]))
    solver.improve(400)
    value = worth(game.tree, solver.plan)[0]
    assert all(low < value < high for low, high in bounds)


def test_the_published_figures_of_mini_2x4():
    solution = equilibrium.equilibrium(resolve("mini_2x4"), 2, until=1e-6)
    told = solution.told
    assert (told["deals"], told["information_sets"]) == (560, 13_520)
    assert told["uniform_exploitability"] == pytest.approx(1.869, abs=5e-4)
    assert told["exploitability"] <= 1e-6
    assert told["values"] == pytest.approx([500 / 560, -500 / 560], abs=2e-6)
    assert "mini_2x4, 2 players: 560 deals, 13,520 information sets" in equilibrium.described(
        solution
    )


def test_three_players_gain_more_together_than_alone_and_most_with_open_cards():
    rules = resolve("mini_3p", {"deck": 6, "hand_size": 1, "bids": ["one"], "suits": 3})
    game = SmallGame(rules, 3)
    plan = plan_of(game.tree, uniform(game.tree))
    whole = WholeGame(rules, 3)
    best = [whole.best(seat, {}) for seat in range(3)]
    np.testing.assert_allclose(worth(game.tree, plan) + gains(game.tree, plan), best)
    together = equilibrium.gains_together(game, plan, equilibrium.NowAndThen())
    for seat, (least, most) in enumerate(together):
        assert least == gain_in_turns(game.tree, plan, seat)
        assert 0 < least <= most + 1e-12


def test_deals_are_all_different_and_as_many_as_counted(rules):
    packs = every_deal(rules, 2)
    hands = 2 * rules.hand_size + rules.widow_cards
    assert len(packs) == num_deals(rules, 2) == len(np.unique(packs, axis=0))
    assert (np.sort(packs, 1) == np.sort(packs[0])).all()
    dealt = math.comb(packs.shape[1], rules.hand_size)
    assert len(packs) % dealt == 0 and hands <= packs.shape[1]


def test_the_size_of_a_game_is_estimated():
    game = SmallGame(resolve("mini_2x4"), 2)
    told = estimate(resolve("mini_2x4"), 2)
    assert told.deals == 560
    assert told.information_sets == pytest.approx(game.size.information_sets, rel=0.3)
    assert is_small(game.rules, 2, 100_000) and not is_small(game.rules, 2, 10_000)
    assert not is_small(resolve("mini_2x4", {"deals": 2}), 2, 100_000)
    assert not is_small(resolve("standard"), 4, 10**30)


def network(rules, seed=0):
    """Return a network with large weights, so that it plays nothing uniformly."""
    training = Training(
        (rules.name,), rules.options, (2,), (16,), LAYOUT_VERSION, suits_in_order=False
    )
    weights = 5 * new_weights(widths_of(layout(rules, 2).size, (16,)), seed)
    return weights, training


def test_the_exploitability_of_a_network_is_that_of_the_plain_game():
    rules = tiny()
    weights, training = network(rules)
    found = Yardstick(rules, 2).exploitability(NetworkAgent(weights, training))
    whole = WholeGame(rules, 2)
    agents = {policy: NetworkAgent(weights, training, policy) for policy in ("sampled", "argmax")}
    sampled, argmax = {}, {}
    for deal in every_deal(rules, 2):
        stack = [whole_start(rules, deal)]
        for game in stack:
            if game.over:
                continue
            games = Games(rules, 2, game.games)
            node = whole.nodes[name_of(game.record())]
            if len(node.actions) > 1:
                chances = agents["sampled"].policies(games, np.array([0]))[0]
                assert np.flatnonzero(chances).tolist() == list(node.actions)
                sampled[node.seen] = {a: float(chances[a]) for a in node.actions}
                chosen = int(agents["argmax"](games, np.array([0]))[0])
                argmax[node.seen] = {a: float(a == chosen) for a in node.actions}
            for action in node.actions:
                child = game.clone()
                child.step(action)
                stack.append(child)
    assert found["sampled"] == pytest.approx(whole.exploitability(sampled), abs=1e-5)
    assert found["argmax"] == pytest.approx(whole.exploitability(argmax), abs=1e-9)
    assert found["argmax"] != pytest.approx(found["sampled"], abs=1e-3)


def whole_start(rules, pack):
    """Return a game with the cards of a pack."""
    game = Game(rules, 2, seed=0)
    cards = [CARDS[card] for card in pack]
    size = rules.hand_size
    game.set_up(dealer=1, hands=[cards[:size], cards[size : 2 * size]], stock=cards[2 * size :])
    return game


def test_an_agent_that_does_not_tell_its_chances_is_asked():
    rules = tiny()
    lowest = from_policy(lambda observations, masks: masks.argmax(1))
    found = Yardstick(rules, 2).exploitability(lowest)
    whole = WholeGame(rules, 2)
    policy = {
        node.seen: {a: float(a == min(node.actions)) for a in node.actions}
        for node in whole.nodes.values()
    }
    expected = whole.exploitability(policy)
    assert found == pytest.approx({"sampled": expected, "argmax": expected})


def run(capsys, command, *arguments):
    command.main([*map(str, arguments)])
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_command_solves_a_game(capsys, tmp_path):
    out = tmp_path / "plans.npz"
    options = json.dumps(TINY)
    told = run(capsys, equilibrium, "mini_2x4", "--options", options, "--until", 1e-4, "--out", out)
    assert list(told) == [
        *("rules", "players", "deals", "information_sets", "iterations", "exploitability"),
        *("uniform_exploitability", "values", "seconds"),
    ]
    assert told["exploitability"] <= 1e-4 < told["uniform_exploitability"]
    with np.load(out) as file:
        plans = dict(file)
    assert json.loads(str(plans["told"])) == told
    first, probability = plans["first"], plans["probability"]
    np.testing.assert_allclose(np.add.reduceat(probability, first[:-1]), 1)
    opening = (plans["moves"] == -1).all(1)
    assert plans["reached"][opening].sum() == pytest.approx(1)
    assert (plans["seat"][opening] == 0).all()
    names = {ACTIONS[action] for number in np.flatnonzero(opening)
             for action in plans["action"][first[number] : first[number + 1]]}  # fmt: skip
    assert names == {"pass", "one", "nap"}


def test_so_many_iterations_are_done_as_are_told(capsys):
    told = run(capsys, equilibrium, "mini_2x4", "--options", json.dumps(TINY), "--iterations", 7)
    assert told["iterations"] == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["standard", "--players", "4"], r"standard with 4 players is too large .* deals, about "),
        (["mini_2x4", "--options", '{"deals": 3}'], "deals=3: a match of 1 deal can be walked"),
        (["mini_3p", "--until", "0.1"], "until=0.1: 3 players may never come so close"),
        (["mini_2x4", "--players", "3"], "num_players=3: mini_2x4 seats 2"),
    ],
)
def test_what_cannot_be_solved_is_refused_at_once(arguments, message):
    with pytest.raises(SystemExit, match=message):
        equilibrium.main(arguments)


def test_evaluate_tells_exploitability(capsys, tmp_path):
    rules = tiny()
    path = tmp_path / "last.safetensors"
    save_weights(path, *network(rules))
    arguments = (path, "--against", "passer", "--sets", 4, "--rehearsals", 0, "--exploitability")
    told = run(capsys, evaluate, *arguments)["exploitability"]
    yardstick = Yardstick(rules, 2)
    expected = yardstick.exploitability(NetworkAgent(*network(rules)))
    assert told == {**expected, "uniform": yardstick.uniform()}
    with pytest.raises(SystemExit, match="standard with 4 players is too large"):
        evaluate.main(["passer", "--exploitability"])


def opening(game, hand):
    """Return the information set in which the first to speak holds these cards."""
    (number,) = (
        number
        for number in np.flatnonzero(game.places.lengths == 0)
        if hand_cards(int(game.hands()[number])) == hand.split()
    )
    return number


def bound_to(game, number, call):
    """Return the tree of a game in which another call than this one costs a fortune."""
    tree, actions = game.tree, game.places.actions
    seat, first, count = game.places.seats[number], tree.firsts[number], tree.counts[number]
    barred = np.zeros(tree.side_sequences[-1], np.bool_)
    barred[first : first + count] = actions[first : first + count] != action_id(call)
    for later in range(number + 1, tree.side_sets[seat + 1]):
        if barred[tree.parents[later]]:
            barred[tree.firsts[later] : tree.firsts[later] + tree.counts[later]] = True
    fine = 20 * tree.chances * barred[tree.ends[:, seat]]
    return tree._replace(chips=tree.chips - np.outer(fine, np.where(np.arange(2) == seat, 1, -1)))


@pytest.mark.slow
def test_in_mini_mix_a_hand_that_always_bids_the_same_loses():
    game = SmallGame(PRESETS["mini_mix"], 2)
    worths = []
    for tree in (game.tree, *(bound_to(game, opening(game, "JC AC JD"), call)
                              for call in ("pass", "one", "two", "nap"))):  # fmt: skip
        solver = Solver(tree)
        solver.improve(2000)
        assert exploitability(tree, solver.plan) < 2e-4
        worths.append(worth(tree, solver.plan)[0])
    assert min(worths[0] - bound for bound in worths[1:]) > 0.005  # in 2 of 56 deals


def test_in_mini_mix_bids_without_chance_are_exploited():
    solution = equilibrium.equilibrium(PRESETS["mini_mix"], 2, until=1e-3)
    game, policy = solution.game, policy_of(solution.game.tree, solution.plan)
    sure = policy.copy()
    numbers = range(len(game.tree.parents))
    for number, decision in zip(numbers, equilibrium.decisions(solution), strict=True):
        if decision.is_call:
            first, count = game.tree.firsts[number], game.tree.counts[number]
            likeliest = first + policy[first : first + count].argmax()
            sure[first : first + count] = 0
            sure[likeliest] = 1
    assert exploitability(game.tree, plan_of(game.tree, sure)) > 0.1
    mixed = sum(
        decision.reached * (1 - max(decision.chances.values()))
        for decision in equilibrium.decisions(solution)
        if decision.is_call
    )
    assert mixed > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("name", "until"), [("mini_2x5", 1e-6), ("mini_3x4", 1e-7)])
def test_larger_minis_are_solved(name, until):
    told = equilibrium.equilibrium(resolve(name), 2, until=until).told
    assert told["exploitability"] <= until


def test_sequences_of_actions_are_all_but_the_empty_ones():
    tree = SmallGame(tiny(), 2).tree
    found = action_sequences(tree)
    assert len(found) == tree.counts.sum() == tree.side_sequences[-1] - 2
