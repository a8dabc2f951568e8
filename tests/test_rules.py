"""Presets and options: what they are, what is refused and why."""

import json
import re
from typing import Any

import numpy as np
import pytest

from nap_env.presets import PRESETS, SOURCES, describe, main, resolve
from nap_env.rules import TARIFF, Bid, Rules, rules_table

# RULES.md 5.1: players, pack by number of players, bids low to high.
S0_PACK = {3: 28, 4: 28, 5: 36, 6: 36, 7: 52}
PUB_PACK = {3: 24, 4: 28, 5: 32, 6: 36, 7: 52}
HOUSE_PACK = {2: 32, 3: 32, 4: 32, 5: 52, 6: 52, 7: 52, 8: 52}
ROWS: dict[str, tuple[tuple[int, int], int | dict[int, int], str]] = {
    "standard": ((3, 7), S0_PACK, "three misere four nap wellington blucher"),
    "parlett": ((2, 8), 52, "one two three misere four nap wellington blucher"),
    "house": ((2, 8), HOUSE_PACK, "one two three misere four nap"),
    "alt_scoring": ((2, 8), 52, "one two three misere four nap"),
    "draw": ((2, 6), 52, "one two three misere four nap"),
    "thirty": ((2, 6), 52, "three misere four nap wellington blucher"),
    "seven_card": ((3, 7), 52, "three four nap misere six seven"),
    "ecarte": ((3, 4), 52, "three misere four nap"),
    "peep": ((3, 7), 52, "three misere four nap"),
    "sir_garnet": ((3, 7), 52, "three misere four nap"),
    "modern": ((3, 7), S0_PACK, "three misere four nap napoleon wellington"),
    "floater": ((3, 7), S0_PACK, "three+f three four+f four nap+f nap"),
    "old_russian": ((2, 6), 36, "one two three four five"),
    "pool_nap": ((2, 6), 52, "one two three four nap"),
    "britannica_1911": ((3, 7), 52, "two three misere four nap wellington blucher"),
    "pub": ((3, 7), PUB_PACK, "two three misere four nap wellington blucher"),
    "dealer_must": ((2, 6), 52, "two three misere four nap wellington blucher"),
    "peel": ((2, 6), 52, "one two misere three four nap wellington blucher"),
    "mini_2x4": ((2, 2), 8, "one two nap"),
    "mini_2x5": ((2, 2), 10, "one two nap"),
    "mini_3x4": ((2, 2), 12, "one two nap"),
    "mini_3p": ((3, 3), 10, "one two nap"),
    "mini_mix": ((2, 2), 8, "one two nap"),
}


@pytest.mark.parametrize("name", ROWS)
def test_preset_has_the_players_pack_and_bids_of_its_row(name: str) -> None:
    players, pack, bids = ROWS[name]
    rules = PRESETS[name]
    assert rules.player_range == players
    assert " ".join(bid.name for bid in rules.bids) == bids
    for number in range(players[0], players[1] + 1):
        assert rules.pack_size(number) == (pack if isinstance(pack, int) else pack[number])


def test_table_of_presets_is_complete() -> None:
    assert set(ROWS) == set(PRESETS) == set(SOURCES)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_has_no_options_and_options_give_rules_back(name: str) -> None:
    assert PRESETS[name].options == {}
    changed = resolve(name, {"stake": 3, "must_trump": not PRESETS[name].must_trump})
    assert changed.options == {"stake": 3, "must_trump": not PRESETS[name].must_trump}
    assert resolve(name, changed.options) == changed
    assert hash(changed) == hash(resolve(name, changed.options))


def test_options_merge_into_the_rows_of_bids() -> None:
    rules = resolve(
        "standard",
        {
            "bids": ["one", "three", "nap"],
            "pay": {"nap": [5, 5]},
            "lead": {"nap": "lowest_trump"},
            "deck": {"4": 32},
            "dealer_out_from": None,
            "widow": None,
        },
    )
    assert rules.bids == (
        TARIFF["one"],
        TARIFF["three"],
        Bid("nap", tricks=5, win=5, lose=5, lead="lowest_trump"),
    )
    assert rules.deck == ((4, 32),)
    assert rules.dealer_out_from is None
    assert rules.options == {
        "bids": ["one", "three", "nap"],
        "deck": {"4": 32},
        "dealer_out_from": "none",
        "pay": {"nap": [5, 5]},
        "lead": {"nap": "lowest_trump"},
    }


@pytest.mark.parametrize(
    ("name", "options", "rows"),
    [
        ("floater", {"pay": {"three": [6, 5]}}, "three+f 6/5 any, three 6/5 any"),
        ("floater", {"pay": {"three+f": [6, 5]}}, "three+f 6/5 any, three 3/3 any"),
        ("floater", {"pay": {"three": [6, 5], "three+f": [3, 3]}},
         "three+f 3/3 any, three 6/5 any"),
        ("floater", {"lead": {"three": "lowest_trump"}},
         "three+f 3/3 lowest_trump, three 3/3 lowest_trump"),
        ("floater", {"lead": {"three": "lowest_trump", "three+f": "any"}},
         "three+f 3/3 any, three 3/3 lowest_trump"),
        ("mini_2x4", {"widow": "floater", "bids": ["nap+f", "nap"]}, "nap+f 6/3 any, nap 6/3 any"),
        ("mini_2x4", {"widow": "floater", "bids": ["nap+f", "nap"], "pay": {"nap+f": [10, 5]}},
         "nap+f 10/5 any, nap 6/3 any"),
    ],
)  # fmt: skip
def test_what_an_option_says_of_a_bid_holds_for_its_floater_form(
    name: str, options: dict[str, Any], rows: str
) -> None:
    rules = resolve(name, options)
    assert (
        ", ".join(f"{bid.name} {bid.win}/{bid.lose} {bid.lead}" for bid in rules.bids[:2]) == rows
    )
    assert rules.options == options
    assert resolve(name, rules.options) == rules


def test_rules_made_by_hand_are_written_as_a_preset_and_its_difference() -> None:
    rules = Rules(bids=(TARIFF["two"], TARIFF["nap"]), joker=True)
    assert rules.name == "standard"
    assert resolve("standard", rules.options) == rules


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Bid("three", tricks=2, win=3, lose=3), "tricks of three=2: scheme=table has 3"),
        (Bid("three", tricks=3, win=3, lose=3, overtrick=1), "overtrick of three=1"),
    ],
)
def test_rows_that_no_record_could_say_are_refused(row: Bid, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rules(bids=(row,))


def test_rules_take_numpy_numbers_lists_and_tables() -> None:
    rules = Rules(bids=[TARIFF["nap"]], deck={4: np.int64(28)}, first_dealer=np.int64(2))  # type: ignore[arg-type]
    assert rules.bids == (TARIFF["nap"],)
    assert rules.deck == ((4, 28),)
    assert json.dumps(rules.options)
    assert rules_table(rules, 4)[0]["first_dealer"] == 2


def test_rules_of_an_unknown_name_are_refused_where_a_game_is_made() -> None:
    with pytest.raises(ValueError, match="name of rules='mine': allowed are"):
        rules_table(Rules(name="mine", bids=(TARIFF["nap"],)), 4)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"joke": True}, "option 'joke' is not known"),
    ({"joker": 1}, "joker=1: true or false is allowed"),
    ({"hand_size": 8}, "hand_size=8: 1 to 7 are allowed"),
    ({"stake": 0}, "stake=0"),
    ({"deck": 30}, "deck=30: 4 suits allow packs of up to 52 cards, a multiple of 4"),
    ({"deck": {"four": 28}}, "deck: number of players='four': 2 to 8 are allowed"),
    ({"deck": {"4": 28, 4: 32}}, "each number of players may stand there once"),
    ({"deck": {4.7: 28}}, "deck: number of players=4.7"),
    ({"deck": [[[], 28]]}, r"deck: number of players=\[\]"),
    ({"suits": 5}, "suits=5"),
    ({"player_range": [4, 2]}, "player_range=2: 4 to 8 are allowed"),
    ({"all_pass": "again"}, "all_pass='again': allowed are next_dealer, dealer_one"),
    ({"first_dealer": "oldest"}, "first_dealer='oldest'"),
    ({"bids": []}, "at least one bid is needed"),
    ({"bids": ["three", "three"]}, "each bid may stand in the list once"),
    ({"bids": ["trois"]}, "bids='trois'"),
    ({"bids": ["six"]}, "bid six: 6 tricks of 5 cards"),
    ({"bids": ["nap+f"]}, "bid nap\\+f: needs widow=floater"),
    ({"pay": {"two": [2, 2]}}, "bid in pay='two'"),
    ({"pay": {"nap": 5}}, "pay of nap=5: write \\[win from each, lose to each\\]"),
    ({"pay": {"nap": [5, -1]}}, "lose of nap=-1"),
    ({"lead": {"misere": "lowest_trump"}}, "lead of misere='lowest_trump': this bid has no trumps"),
    ({"lead": {"nap": "highest"}}, "lead of nap='highest'"),
    (
        {"lead": {"x": 3}},
        "bid in lead='x': allowed are three, misere, four, nap, wellington, blucher",
    ),
    ({"lead": {"nap": [[]]}}, r"lead of nap=\[\[\]\]"),
    ({"wellington_over": "naps"}, "wellington_over='naps'"),
    ({"widow": "garnet", "bids": ["three"]}, "widow=garnet: taking the spare hand bids nap"),
    ({"widow": "peep", "draw": "maker_one"}, "widow and draw are not combined"),
    ({"separate_call": True}, "separate_call: the list must have five"),
    ({"scheme": "alt", "hand_size": 6}, "scheme=alt: its prices are written for hands of five"),
    ({"scheme": "alt", "overtrick": 1}, "scheme=alt: it pays overtricks itself"),
    ({"transfer": "split", "pool_each": 1}, "transfer=split: a score sheet has no pool"),
    ({"misere_goal": "exact3_nt", "hand_size": 2, "bids": ["one"]}, "exact3_nt"),
    ({"discard_to": 5}, "discard_to=5: must be below hand_size=5"),
    ({"deals": None}, "at least one must end the match"),
    ({"chips": 1, "pool_start": 2}, "chips: each must have at least what pool_start takes"),
    ({"packets": "3x0"}, "packets='3x0'"),
    ({"packets": "1x9999999999"}, "packets="),
    ({"look_cost": 1}, "look_cost=1: there is no card to look at with widow=none"),
    ({"look_needed": False}, "look_needed=False: only with widow=peep"),
    ({"dealer_free_look": True}, "dealer_free_look=True: only with widow=floater"),
    ({"garnet_pool": 2}, "garnet_fail and garnet_pool: only with widow=garnet"),
    ({"buy_cost": 2}, "buy_cost=2: only with buy"),
    ({"deck": None}, "deck=None: a number of cards, or a table"),
    ({"pay": [1]}, "pay=\\[1\\]: a mapping from bids is needed"),
    ({"packets": "3+2"}, "packets='3\\+2'"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_impossible_options_are_refused_with_the_reason(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        resolve("standard", options)


@pytest.mark.parametrize(
    ("name", "players", "options", "message"),
    [
        ("standard", 2, {}, "num_players=2: standard seats 3 to 7"),
        ("standard", 4.0, {}, "num_players=4.0"),
        ("standard", 5, {"deck": {"4": 28}}, "deck=.*: no pack for 5"),
        ("standard", 7, {"deck": 28}, "the deal needs 30 cards, the pack has 28"),
        ("standard", 3, {"first_dealer": 3}, "first_dealer=3: seats are 0 to 2"),
        ("parlett", 4, {"bids": ["wellington"]}, "num_players=4: no bid of parlett is left"),
    ],
)
def test_players_that_rules_cannot_seat_are_refused(
    name: str, players: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        rules_table(resolve(name, options), players)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_described_as_a_player_would_read_it(name: str) -> None:
    text = describe(name)
    lines = text.splitlines()
    for line, start in zip(
        lines, (f"{name}, for ", "Bid ", "Each opponent pays you "), strict=False
    ):
        assert line.startswith(start) and line.endswith(".")
    for word in ("players", "pack", "bids", "phases", "source"):
        assert any(line.startswith(f"  {word}") for line in lines)
    for bid in PRESETS[name].bids:
        assert f"{bid.name} {bid.win}/{bid.lose}" in " ".join(text.split())
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("peep", {}, "peep, for 3 to 7 players: 5 cards each of 52, one more on the table."),
        ("pub", {}, "pub, for 3 to 7 players: 5 cards each of 24 to 52 and a joker."),
        ("peep", {}, "Bid how many of the 5 tricks you will take, 3 or more; misere is none."),
        ("standard", {"bids": ["misere"]}, "Bid or pass; misere is none."),
        ("mini_3p", {}, "Bid how many of the 3 tricks you will take, 1 or more."),
        (
            "peep",
            {},
            "Each opponent pays you 3 to 10 chips if you do, and gets 3 to 5 if you do not.",
        ),
        (
            "standard",
            {"stake": 2, "transfer": "split"},
            "The opponents together pay you 6 to 20 chips if you do, and get 6 to 40 if you do "
            "not.",
        ),
    ],
)
def test_the_game_is_told_in_three_lines(name: str, options: dict[str, Any], told: str) -> None:
    assert told in describe(resolve(name, options)).splitlines()[:3]


def test_presets_command_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peep"]) == 0
    assert capsys.readouterr().out.startswith("peep, for 3 to 7 players: ")
    assert main([]) == 0
    text = capsys.readouterr().out
    assert re.findall(r"^(\w+)", text, re.M) == list(PRESETS)
    assert max(map(len, text.splitlines())) <= 80
    with pytest.raises(SystemExit) as end:
        main(["whist"])
    assert end.value.code == 2
