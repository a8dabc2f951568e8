"""What a seat sees: the layout, perfect memory, and nothing that it may not know."""

from typing import Any

import numpy as np
import pytest

from nap_env.actions import ACTIONS, BIDS, NUM_ACTIONS
from nap_env.batch import Batch
from nap_env.cards import CARDS, card_id
from nap_env.engine.state import PHASES
from nap_env.game import Game
from nap_env.observation import FIELDS, SIZES, Layout, layout
from nap_env.presets import PRESETS, resolve

TABLES = [
    (name, players)
    for name, rules in PRESETS.items()
    for players in sorted({rules.player_range[0], 4, rules.player_range[1]})
    if rules.player_range[0] <= players <= rules.player_range[1]
]


def cards(view: Any) -> set[str]:
    return {CARDS[card] for card in np.flatnonzero(view)}


@pytest.mark.parametrize("observation_layout", ["fixed", "full"])
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_fields_do_not_overlap_and_fill_the_size(
    name: str, players: int, observation_layout: str
) -> None:
    shape = layout(resolve(name), players, observation_layout)
    covered = np.zeros(shape.size, int)
    names = [field.name for field in FIELDS]
    for field in names:
        for seat in range(8):
            try:
                covered[shape.slice(field, seat)] += 1
            except ValueError:
                continue
    assert covered.max() == 1
    # What no field names is padding, less than a word a group.
    assert covered.sum() > shape.size - 64 * len(SIZES)
    assert shape.size == shape.num_bits + shape.num_scalars
    assert shape.size % 8 == 0


def test_layout_is_printed_from_the_fields() -> None:
    text = layout(resolve("standard"), 4).describe()
    assert "hand" in text
    assert "passed (seat 3)" in text
    assert text.splitlines()[0].split()[:2] == ["0-", "52"]


def test_plain_rules_have_no_planes_for_exchanges() -> None:
    plain = layout(resolve("standard"), 4)
    with pytest.raises(ValueError, match="field 'discards'"):
        plain.slice("discards")
    assert layout(resolve("peep"), 4).num_planes == plain.num_planes + 2


def test_full_layout_is_one_for_all_rules_and_players() -> None:
    sizes = {layout(resolve(name), players, "full").size for name, players in TABLES}
    assert len(sizes) == 1


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_observation_tells_what_the_seat_knows(name: str, players: int) -> None:
    """Rebuild every field from the record of the deal, at every decision and for every seat."""
    game = Game(resolve(name), players, seed=players)
    for _ in range(4):
        while not game.over:
            for seat in range(players):
                assert_observation_matches_record(game, seat)
            game.step(game.random_action())
        for seat in range(players):
            assert_observation_matches_record(game, seat)
        game.next_deal()


def assert_observation_matches_record(game: Game, me: int) -> None:
    seen, mask = game.observe(me)
    where: Layout = game.layout
    record, players, g = game.record(), game.num_players, game.games[0]
    if me == game.seat:
        assert sorted(ACTIONS[action] for action in np.flatnonzero(mask)) == game.legal()
    else:
        assert not mask.any()
    assert seen.dtype == mask.dtype == np.int8
    assert mask.shape == (NUM_ACTIONS,)
    assert cards(seen[where.slice("hand")]) == set(game.hand(me))
    phase = [] if game.over else [PHASES.index(game.phase)]
    assert list(np.flatnonzero(seen[where.slice("phase")])) == phase
    result = record.get("result") or {}
    played = [(s, e) for s, e in record["events"] if e in CARDS and is_public(game, s, e)]
    order = [CARDS[card] for card in seen[where.slice("order")] if card >= 0]
    assert order == [card for _, card in played]
    for relative in range(players):
        seat = (me + relative) % players
        mine = [card for player, card in played if player == seat]
        assert cards(seen[where.slice("played", relative)]) == set(mine)
        assert seen[where.slice("dealer", relative)] == (seat == record["dealer"])
        called = [name for player, name in record["events"] if player == seat]
        assert seen[where.slice("passed", relative)] == ("pass" in called)
        bids = {BIDS[bid] for bid in np.flatnonzero(seen[where.slice("bids", relative)])}
        assert bids >= {name for name in called if name in BIDS}
        assert seen[where.slice("sits_out", relative)] == (
            record["hands"][seat] == [] and seat == record["dealer"]
        )
        if result.get("declarer") is not None:
            assert seen[where.slice("declarer", relative)] == (seat == result["declarer"])
            assert seen[where.slice("tricks")][relative] == result["tricks"][seat]
        if game.rules.exchanges:
            looked = bool(seen[where.slice("looked", relative)][0])
            swapped = bool(seen[where.slice("exchanged", relative)][0])
            assert looked >= ("look" in called or "take" in called)
            assert swapped == (seen[where.slice("exchanged_cards")][relative] > 0)
    if game.rules.exchanges:
        put_away = cards(seen[where.slice("discards")])
        known = set(record["hands"][me]) | set(record["widow"]) | set(record["stock"])
        assert put_away <= known
        assert not put_away & set(game.hand(me))
        widow = cards(seen[where.slice("widow")])
        assert widow in (set(), set(record["widow"]))
    assert seen[where.slice("pool")] == min(int(g["pool"]), 127)
    assert seen[where.slice("multiplier")] == g["multiplier"]


def is_public(game: Game, seat: int, card: str) -> bool:
    """Return whether a card event is a card played, not one marked or swapped away."""
    return bool(int(game.games["seen"][0][seat]) >> card_id(card) & 1)


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_dense_form_is_the_unpacking_of_the_packed_one(
    name: str, players: int, skip_forced: bool
) -> None:
    dense = Batch(name, players, 16, seed=2, skip_forced=skip_forced)
    packed = Batch(name, players, 16, seed=2, observe="packed", skip_forced=skip_forced)
    for _ in range(30):
        bits = np.unpackbits(packed.planes.view(np.uint8), axis=1, bitorder="little")
        assert (dense.observation == np.hstack([bits, packed.scalars])).all()
        masks = np.unpackbits(packed.mask.view(np.uint8), axis=1, bitorder="little")
        assert (dense.action_mask == masks[:, :NUM_ACTIONS]).all()
        for row in range(0, 16, 5):
            game = Game.of(dense.rules, players, dense.games[row : row + 1])
            seen, mask = game.observe(int(dense.seat[row]))
            assert (dense.observation[row] == seen).all()
            assert (dense.action_mask[row] == mask).all()
        actions = dense.sample()
        assert (actions == packed.sample()).all()
        dense.step(actions)
        packed.step(actions)


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_cards_that_a_seat_cannot_see_change_nothing_it_sees(name: str, players: int) -> None:
    """Exchange hidden cards between other hands, discards, widow and stock; the view must stay."""
    game = Game(resolve(name), players, seed=players)
    chance = np.random.default_rng(players)
    for _ in range(4):
        while not game.over:
            for seat in range(players):
                other = game.clone()
                shuffle_hidden_cards(other, seat, chance)
                before, after = game.observe(seat), other.observe(seat)
                assert (before[0] == after[0]).all(), (game.record(), seat)
                if seat != game.seat:
                    assert (before[1] == after[1]).all()
            game.step(game.random_action())
        game.next_deal()


def shuffle_hidden_cards(game: Game, me: int, chance: np.random.Generator) -> None:
    """Permute the cards that seat `me` cannot see among the places where they are."""
    g = game.games[0]
    others = [seat for seat in range(game.num_players) if seat != me]
    places: list[tuple[str, int]] = [("hand", seat) for seat in others]
    places += [("discards", seat) for seat in others]
    size = int(game._table["pack_size"][0])
    stock = slice(int(g["stock_next"]), size)
    knows_widow = bool(game.observe(me)[0][game.layout.slice("looked")].any())
    hidden_widow = 0 if knows_widow else int(g["widow_left"])
    hidden = [card for name, seat in places for card in bits(int(g[name][seat]))]
    hidden += [int(card) for card in g["pack"][stock]] + bits(hidden_widow)
    if knows_widow:
        # Whoever has swapped it in is known to have had it.
        hidden = [card for card in hidden if not int(g["widow"]) >> card & 1]
    order = iter(chance.permutation(hidden).tolist())
    for name, seat in places:
        kept = [card for card in bits(int(g[name][seat])) if card not in hidden]
        count = int(g[name][seat]).bit_count() - len(kept)
        g[name][seat] = sum(1 << card for card in kept + [next(order) for _ in range(count)])
    g["pack"][stock] = [next(order) if int(card) in hidden else card for card in g["pack"][stock]]
    if hidden_widow:
        g["widow_left"] = sum(1 << next(order) for _ in bits(hidden_widow))
        g["widow"] = g["widow_left"]


def bits(mask: int) -> list[int]:
    return [card for card in range(53) if mask >> card & 1]
