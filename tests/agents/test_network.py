"""Networks as players: what they say, what they choose, and what they refuse."""

import copy
import io
import json
import pickle
from dataclasses import asdict

import numpy as np
import pytest
import torch

from nap_env.agents.features import entries
from nap_env.agents.network import (
    NUM_HEADS,
    VALUE_HEAD,
    NetworkAgent,
    Training,
    load_network,
    num_weights,
    packed,
    widths_of,
)
from nap_env.agents.seal import sealed_archive
from nap_env.batch import Batch
from nap_env.observation import LAYOUT_VERSION
from nap_env.presets import PRESETS
from training import network as twin


def training(rules="standard", players=4, hidden=(32, 48), in_order=False, **more):
    told = {"options": {}, "layout_version": LAYOUT_VERSION, **more}
    return Training(
        rules=(rules,), num_players=(players,), hidden=hidden, suits_in_order=in_order, **told
    )


def weights_for(plan, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(0, 0.3, num_weights(widths_of(plan.num_features, plan.hidden))).astype(
        np.float32
    )


def games_of(plan, count=60, seed=0, steps=6, table=None):
    rules, players = table or plan.tables[0]
    form = plan.observation_layout
    games = Batch(rules, players, count, seed=seed, observation_layout=form)
    for _ in range(steps):
        games.step(games.sample())
    return games


@pytest.mark.parametrize("hidden", [(16,), (128, 128), (64, 32, 48)])
@pytest.mark.parametrize(("rules", "players"), [("standard", 4), ("pub", 3), ("draw", 5)])
def test_it_says_what_torch_says(rules, players, hidden):
    plan = training(rules, players, hidden)
    flat, games = weights_for(plan), games_of(plan)
    rows = np.arange(games.num_games)
    answers, expected = NetworkAgent(flat, plan, "argmax").answer(games, rows)
    factors = entries(games.layout)["factor"]
    heads = twin.evaluate(
        torch.from_numpy(flat),
        widths_of(games.observation_size, hidden),
        torch.from_numpy(games.observation * factors),
    ).numpy()
    value = 5 * (players - 1) * heads[:, VALUE_HEAD]
    np.testing.assert_allclose(expected, value, atol=1e-5 * max(1, abs(value).max()))
    logits = np.where(games.action_mask == 1, heads[:, :VALUE_HEAD], -np.inf)
    np.testing.assert_array_equal(answers, logits.argmax(1))


def test_it_draws_as_often_as_its_policy_says():
    plan = training(hidden=(16,))
    flat = np.zeros_like(weights_for(plan))
    flat[-NUM_HEADS:][:52] = np.log(np.arange(1, 53))  # card c has weight c + 1
    games = games_of(plan, 1, steps=4)
    while games.action_mask.sum() < 3:
        games.step(games.sample())
    agent, rows = NetworkAgent(flat, plan), np.zeros(1, np.intp)
    drawn = np.concatenate([agent(games, rows) for _ in range(20_000)])
    legal = np.flatnonzero(games.action_mask[0])
    assert set(drawn) == set(legal)
    shares = [(drawn == card).mean() for card in legal]
    np.testing.assert_allclose(shares, (legal + 1) / (legal + 1).sum(), atol=0.02)


@pytest.mark.parametrize("policy", ["sampled", "argmax"])
def test_an_answer_does_not_depend_on_the_games_beside_it(policy):
    plan = training(in_order=True)
    agent = NetworkAgent(weights_for(plan), plan, policy)
    games = games_of(plan, 700)
    whole = agent(games.clone(), np.arange(700))
    some = np.array([699, 3, 256, 255, 12])
    assert agent(games.clone(), some).tolist() == whole[some].tolist()
    assert games.action_mask[np.arange(700), whole].all()


def test_the_twin_of_a_deal_with_other_suits_gets_the_same_answer():
    plan = training("parlett", in_order=True)
    agent = NetworkAgent(weights_for(plan), plan, "argmax")
    deal = {"dealer": 3, "hands": [
        "AC KC QC 2D 3H".split(), "4C 5D 6H 7S 8S".split(), "9D 9H 9S TD TH".split(),
        "JD JH JS QD QH".split(),
    ]}  # fmt: skip
    other = {"dealer": 3, "hands": [
        [text[0] + "DHSC"["CDHS".index(text[1])] for text in hand] for hand in deal["hands"]
    ]}  # fmt: skip
    games = Batch("parlett", 4, 2, seed=0)
    games.set_deals([deal, other])
    _, expected = agent.answer(games, np.arange(2))
    assert expected[0] == expected[1]


def test_a_file_keeps_it(tmp_path):
    plan = training("pub", 3, options={"must_trump": True})
    agent = NetworkAgent(weights_for(plan), plan, "argmax")
    (tmp_path / "it.npz").write_bytes(packed(weights_for(plan), plan, "made by hand"))
    again = load_network(tmp_path / "it.npz", "argmax")
    assert again.training == plan
    games = games_of(plan)
    rows = np.arange(60)
    assert again(games, rows).tolist() == agent(games, rows).tolist()
    for twin_of in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin_of(games, rows).tolist() == agent(games, rows).tolist()


def test_it_plays_only_what_it_was_trained_to_play():
    plan = training()
    agent = NetworkAgent(weights_for(plan), plan)
    assert (agent.rules, agent.num_players) == (PRESETS["standard"], 4)
    for rules, players in (("pub", 4), ("standard", 3)):
        with pytest.raises(ValueError, match=r"plays standard with 4 players: .* is none of these"):
            NetworkAgent(weights_for(plan), plan, "argmax", PRESETS[rules], players)


def test_one_network_plays_at_several_tables():
    plan = Training(("standard", "parlett"), {}, (2, 3, 5), (16,), LAYOUT_VERSION, True)
    names = [(rules.name, players) for rules, players in plan.tables]
    assert names == [
        ("standard", 3), ("standard", 5), ("parlett", 2), ("parlett", 3), ("parlett", 5),
    ]  # fmt: skip
    flat = weights_for(plan)
    for rules, players in plan.tables:
        agent = NetworkAgent(flat, plan, "argmax", rules, players)
        games = games_of(plan, table=(rules, players))
        answers, expected = agent.answer(games, np.arange(60))
        assert games.action_mask[np.arange(60), answers].all()
        assert np.ptp(expected) > 0
    with pytest.raises(ValueError, match="parlett with any players is not one of these tables"):
        NetworkAgent(flat, plan, "argmax", PRESETS["parlett"])
    with pytest.raises(ValueError, match="num_players=9"):
        training(players=9).tables  # noqa: B018


def test_what_does_not_fit_is_refused(tmp_path):
    plan = training()
    with pytest.raises(ValueError, match=r"policy='best': allowed are sampled, argmax"):
        NetworkAgent(weights_for(plan), plan, "best")
    with pytest.raises(ValueError, match=r"weights: float32 \(3,\)"):
        NetworkAgent(np.zeros(3, np.float32), plan)
    broken = weights_for(plan)
    broken[[3, 5]] = np.nan, np.inf
    with pytest.raises(ValueError, match="weights: 2 of them are not finite numbers"):
        NetworkAgent(broken, plan)
    for other in ({"layout_version": 0}, {"layout_hash": "another"}):
        with pytest.raises(ValueError, match=r"trained on observation layout .*: train again"):
            training(**other)
    with pytest.raises(ValueError, match=r"hidden=\(20,\): widths must be multiples of 16"):
        widths_of(496, (20,))
    for name in ("weights", "training"):
        arrays = {"weights": weights_for(plan), "training": json.dumps(asdict(plan))}
        content = io.BytesIO()
        np.savez(content, **{key: value for key, value in arrays.items() if key != name})
        (tmp_path / "it.npz").write_bytes(sealed_archive(content))
        with pytest.raises(ValueError, match=r"it\.npz: not a network that training\.export wrote"):
            load_network(tmp_path / "it.npz")


NAP_PAYS_12 = {"pay": {"nap": [12, 5]}}


def test_it_plays_only_under_the_rules_of_its_training(tmp_path, monkeypatch):
    plan = training(options={"must_trump": True})
    path, before = tmp_path / "it.npz", PRESETS["standard"]
    path.write_bytes(packed(weights_for(plan), plan, ""))
    with pytest.raises(ValueError, match=(
        r"^it\.npz: must_trump: trained with True, here it is False; win of nap: trained with 10, "
        r'here it is 12; seat it at standard with options \{"must_trump": true\}, or train a'
    )):  # fmt: skip
        load_network(path, "argmax", before.with_options(NAP_PAYS_12), 4)
    # The preset itself has changed since: what it says today is refused, what it said is played.
    monkeypatch.setitem(PRESETS, "standard", before.with_options(NAP_PAYS_12))
    for today in (None, PRESETS["standard"].with_options({"must_trump": True})):
        with pytest.raises(ValueError, match=(
            r"win of nap: trained with 10, here it is 12; seat it at standard with options "
            r'\{"must_trump": true, "pay": \{"nap": \[10, 5\]\}\}'
        )):  # fmt: skip
            load_network(path, "argmax", today, 4)
    agent = load_network(path, "argmax", before.with_options({"must_trump": True}), 4)
    assert agent.rules.bids == before.bids


def test_an_option_that_is_newer_than_the_file_counts_as_its_default():
    plan = training("pub")
    told = json.loads(json.dumps(asdict(plan)))
    del told["content"][0]["pool_revoke"], told["content"][0]["bids"][0]["overtrick"]
    assert Training.of(told) == plan
    del told["content"][0]["joker"]  # which the table has
    with pytest.raises(ValueError, match="joker: trained with False, here it is True"):
        Training.of(told).table(PRESETS["pub"], 4)
    told["content"][0]["hats"] = 3
    with pytest.raises(ValueError, match="trained under hats, no option of today's rules"):
        Training.of(told)
    del told["content"]
    with pytest.raises(ValueError, match="written by another nap_env, which differs in content"):
        Training.of(told)


LONGER = {"deals": 5, "max_deals": 9}


@pytest.mark.parametrize("match", [LONGER, {"deals": None, "target": 9}], ids=["deals", "target"])
def test_trained_on_single_deals_it_plays_every_deal_of_a_match_like_one(match):
    plan = training("parlett")
    deal = {"dealer": 3, "hands": [
        "AC KC QC 2D 3H".split(), "4C 5D 6H 7S 8S".split(), "9D 9H 9S TD TH".split(),
        "JD JH JS QD QH".split(),
    ]}  # fmt: skip
    said = []
    for options, scores in (({}, [0, 0, 0, 0]), (match, [90, -20, 8, -78])):
        rules = PRESETS["parlett"].with_options(options)
        agent = NetworkAgent(weights_for(plan), plan, "argmax", rules, 4)
        assert agent.rules == rules
        games = Batch(rules, 4, 1, seed=0)
        games.set_deals([{**deal, "scores": scores}])
        said.append(agent.answer(games, np.zeros(1, np.intp)))
    assert said[0] == said[1]


@pytest.mark.parametrize("options", [LONGER, {"pool_start": 2}], ids=["deals", "pool_start"])
def test_what_has_seen_the_match_plays_only_matches_of_that_length(options):
    plan = training("parlett", options=options)
    rules = PRESETS["parlett"].with_options(options)
    agent = NetworkAgent(weights_for(plan), plan, "argmax", rules, 4)
    games = games_of(plan, 1)
    said = []
    for score in (0, 50):
        games.set_deals([{"dealer": 0, "scores": [score, -score, 0, 0]}])
        said.append(agent.answer(games, np.zeros(1, np.intp))[1][0])
    assert said[0] != said[1]
    with pytest.raises(ValueError, match=r"deals: trained with \d, here it is 6"):
        NetworkAgent(weights_for(plan), plan, "argmax", rules.with_options({"deals": 6}), 4)
