"""The named rule sets: a preset is a row, what differs from the defaults of `Rules`, and a source.

    python -m nap_env.presets          # all of them, in a few lines each
    python -m nap_env.presets peep     # one, as a player would read it

Chips are from and to each opponent. RULES.md has the rules and sources clause by clause.
"""

import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from nap_env.rules import ALT_TARIFF, PRESETS, TARIFF, TRUMPS_LED, Bid, Rules, trumps_of
from nap_env.terminal import Parser, run
from nap_env.words import did_you_mean

__all__ = ["PRESETS", "SOURCES", "describe", "overview", "resolve", "summary"]

SOURCES: dict[str, str] = {}
"""By preset: the text that it follows."""

WIKIPEDIA = "English Wikipedia, Nap (card game)"
RUSSIAN = "a Russian encyclopedia of card games"

ONE, TWO, THREE, MISERE, FOUR, FIVE = (
    TARIFF[name] for name in ("one", "two", "three", "misere", "four", "five")
)
THREE_F, FOUR_F, NAP_F = (TARIFF[name] for name in ("three+f", "four+f", "nap+f"))
NAP, NAPOLEON, WELLINGTON, BLUCHER, SIX, SEVEN = (
    TARIFF[name] for name in ("nap", "napoleon", "wellington", "blucher", "six", "seven")
)

# Packs by number of players.
DECK_STRIPPED = ((2, 28), (3, 28), (4, 28), (5, 36), (6, 36), (7, 52))
DECK_PUB = ((2, 24), (3, 24), (4, 28), (5, 32), (6, 36), (7, 52))
DECK_32 = ((2, 32), (3, 32), (4, 32), (5, 52), (6, 52), (7, 52), (8, 52))


def _priced(bid: Bid, win: int, lose: int) -> Bid:
    return replace(bid, win=win, lose=lose)


def _preset(source: str, rules: Rules) -> Rules:
    PRESETS[rules.name] = rules
    SOURCES[rules.name] = source
    return rules


STANDARD = _preset(
    f"{WIKIPEDIA}: Wellington only over a Nap, leading its lowest trump",
    Rules(
        name="standard",
        bids=(THREE, MISERE, FOUR, NAP, replace(WELLINGTON, lead="lowest_trump"), BLUCHER),
        deck=DECK_STRIPPED,
        dealer_out_from=6,
        wellington_over="nap",
        blucher_over="wellington",
    ),
)

_preset(
    f"{RUSSIAN}, with the prices of Britannica (David Parlett)",
    Rules(
        name="parlett",
        player_range=(2, 8),
        bids=(
            *(ONE, TWO, THREE, MISERE, FOUR, NAP),
            _priced(WELLINGTON, win=20, lose=10),
            _priced(BLUCHER, win=40, lose=20),
        ),
        wellington_over="nap",
        blucher_over="wellington",
        wellington_min_players=5,
        blucher_min_players=7,
        first_dealer="high",
        packets="1x5",
    ),
)

_preset(
    f"{RUSSIAN}, its variants",
    Rules(
        name="house",
        player_range=(2, 8),
        bids=(ONE, TWO, THREE, _priced(MISERE, win=7, lose=5), FOUR, NAP),
        deck=DECK_32,
        must_trump=True,
        overtrick=1,
        pool_fail="as_player",
        early_stop=False,
    ),
)

_preset(
    f"{RUSSIAN}, the scheme that pays single tricks",
    Rules(
        name="alt_scoring",
        player_range=(2, 8),
        bids=tuple(ALT_TARIFF[bid.name] for bid in (ONE, TWO, THREE, MISERE, FOUR, NAP)),
        early_stop=False,
        scheme="alt",
    ),
)

_preset(
    f"{RUSSIAN}, exchange after the auction",
    Rules(
        name="draw",
        player_range=(2, 6),
        bids=(ONE, TWO, THREE, MISERE, FOUR, NAP),
        draw="maker_then_opponents",
    ),
)

_preset(
    "HowStuffWorks, How to Play Napoleon: a match to thirty points",
    Rules(
        name="thirty",
        player_range=(2, 6),
        bids=(THREE, MISERE, FOUR, NAP, WELLINGTON, BLUCHER),
        deals=None,
        target=30,
    ),
)

_preset(
    f"{WIKIPEDIA}, seven-card Nap",
    Rules(
        name="seven_card",
        bids=(THREE, FOUR, NAP, _priced(MISERE, win=10, lose=5), SIX, SEVEN),
        hand_size=7,
        packets="3-2-2",
    ),
)

_preset(
    f"{WIKIPEDIA}, Écarté or Purchase Nap",
    Rules(
        name="ecarte",
        player_range=(3, 4),
        bids=(THREE, MISERE, FOUR, NAP),
        buy=True,
    ),
)

_preset(
    f"{WIKIPEDIA}, Peep Nap",
    Rules(
        name="peep",
        bids=(THREE, MISERE, FOUR, NAP),
        widow="peep",
        look_cost=1,
    ),
)

_preset(
    f"{WIKIPEDIA}, Sir Garnet or Widow Nap",
    Rules(
        name="sir_garnet",
        bids=(THREE, MISERE, FOUR, NAP),
        widow="garnet",
    ),
)

_preset(
    f"{WIKIPEDIA}, its list of bids; the name from {RUSSIAN}",
    Rules(
        name="modern",
        bids=(
            *(THREE, MISERE, FOUR, NAP),
            replace(NAPOLEON, lead="lowest_trump"),
            replace(WELLINGTON, lead="lowest_plain"),
        ),
        deck=DECK_STRIPPED,
        dealer_out_from=6,
    ),
)

_preset(
    f"{WIKIPEDIA}, bids with the floater; a family game (J. Panter)",
    Rules(
        name="floater",
        bids=(THREE_F, THREE, FOUR_F, FOUR, NAP_F, NAP),
        deck=DECK_STRIPPED,
        widow="floater",
        look_cost=1,
        dealer_free_look=True,
        pool_each=1,
        all_pass="double_next",
    ),
)

_preset(
    f"{RUSSIAN}, the old Russian Napoleon",
    Rules(
        name="old_russian",
        player_range=(2, 6),
        bids=(ONE, TWO, THREE, FOUR, FIVE),
        deck=36,
        first_bidder="dealer",
        hold=True,
        draw="maker_one",
        must_trump=True,
        pool_dealer=1,
        pool_fail="as_player",
        pool_five_fail="double",
    ),
)

_preset(
    "Bicycle, Pool Nap",
    Rules(
        name="pool_nap",
        player_range=(2, 6),
        bids=(ONE, TWO, THREE, FOUR, NAP),
        pool_start=2,
        pool_dealer=2,
        pool_five_fail="double",
        pool_revoke=5,
    ),
)

_preset(
    "Encyclopædia Britannica, 1911",
    Rules(
        name="britannica_1911",
        bids=(
            *(TWO, THREE, _priced(MISERE, win=3, lose=6), FOUR, NAP),
            _priced(WELLINGTON, win=20, lose=10),
            _priced(BLUCHER, win=30, lose=15),
        ),
        wellington_over="nap",
        blucher_over="wellington",
    ),
)

_preset(
    "Britannica (David Parlett) and pagat.com; joker and antes from Wikipedia",
    Rules(
        name="pub",
        bids=(
            *(TWO, THREE, MISERE, FOUR, NAP),
            _priced(WELLINGTON, win=20, lose=20),
            _priced(BLUCHER, win=40, lose=40),
        ),
        deck=DECK_PUB,
        joker=True,
        pool_each=1,
        shuffle="after_nap",
        wellington_over="nap",
        blucher_over="wellington",
    ),
)

_preset(
    "Britannica, older text: the dealer must bid when all have passed",
    Rules(
        name="dealer_must",
        player_range=(2, 6),
        bids=(TWO, THREE, MISERE, FOUR, NAP, WELLINGTON, BLUCHER),
        all_pass="dealer_one",
        dealer_out_from=5,
    ),
)

_preset(
    "W. H. Peel, Round Games with Cards, 1891",
    Rules(
        name="peel",
        player_range=(2, 6),
        bids=(
            *(ONE, TWO, MISERE, THREE, FOUR, NAP),
            _priced(WELLINGTON, win=20, lose=10),
            _priced(BLUCHER, win=30, lose=15),
        ),
        misere_trump="lead",
        all_pass="eldest_one",
        wellington_over="nap",
        blucher_over="wellington",
        first_dealer="jack",
        packets="1x5",
        pool_dealer=1,
        dealer_out_from=6,
    ),
)

MINI = _preset(
    "ours, small enough for exact study",
    Rules(
        name="mini_2x4",
        player_range=(2, 2),
        bids=(ONE, TWO, _priced(NAP, win=6, lose=3)),
        deck=8,
        suits=2,
        hand_size=3,
    ),
)
_preset(SOURCES["mini_2x4"], replace(MINI, name="mini_2x5", deck=10))
_preset(SOURCES["mini_2x4"], replace(MINI, name="mini_3x4", deck=12, suits=3))
_preset(SOURCES["mini_2x4"], replace(MINI, name="mini_3p", deck=10, player_range=(3, 3)))
_preset(
    "ours, small, and found by search: whoever always bids the same with a hand can be exploited",
    replace(
        MINI,
        name="mini_mix",
        bids=(
            _priced(ONE, win=1, lose=2),
            _priced(TWO, win=2, lose=4),
            _priced(NAP, win=5, lose=3),
        ),
        hold=True,
    ),
)


def resolve(
    rules: str | Rules | Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> Rules:
    """Return the rules that a name, `Rules` or a mapping of all its fields, and options mean.

    Raises:
        ValueError: an unknown preset, or options that make no game.
    """
    if isinstance(rules, Rules):
        chosen = rules
    elif isinstance(rules, str) and rules in PRESETS:
        chosen = PRESETS[rules]
    elif isinstance(rules, Mapping):
        values = _fields("rules", rules, Rules)
        if not isinstance(values["bids"], list | tuple):
            raise ValueError(f"bids={values['bids']!r}: a list of bids is needed")
        bids = [Bid(**_fields("a bid", row, Bid)) for row in values["bids"]]
        chosen = Rules(**{**values, "bids": tuple(bids)})
    else:
        raise ValueError(
            f"rules={rules!r}: a Rules object or one of {', '.join(PRESETS)}"
            f"{did_you_mean(rules, PRESETS)}"
        )
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options={options!r}: a mapping of option names to values")
    return chosen.with_options(options) if options else chosen


def _fields(what: str, mapping: Any, of: type[Rules] | type[Bid]) -> Mapping[str, Any]:
    """Return a mapping, if it has all fields of a dataclass and no others."""
    names = [field.name for field in fields(of)]
    if not isinstance(mapping, Mapping) or set(mapping) != set(names):
        raise ValueError(f"{what}={mapping!r}: the keys must be {', '.join(names)}")
    return mapping


_ALL_PASS = {
    "next_dealer": "the cards are thrown in and the next player deals",
    "dealer_one": "the last to speak must bid, One at least",
    "eldest_one": "the player on the dealer's left stands for One",
    "double_next": "the stakes are doubled until a maker has won",
}
_FIRST_DEALERS: dict[str | int, str] = {
    "low_ace_low": "the lowest card drawn, ace low",
    "high": "the highest card drawn",
    "jack": "the first jack turned up",
    "random": "lot",
}
_LEADS = {"lowest_trump": "leads its lowest trump", "lowest_plain": "leads the lowest side card"}


def describe(rules: str | Rules) -> str:
    """Return rules as a player would read them: the game in three lines, then point by point."""
    rules = resolve(rules)
    rows = [
        ("players", _players(rules)),
        ("pack", _pack(rules)),
        ("bids", ", ".join(_bid(bid, rules) for bid in rules.all_bids)),
        *(("", note) for note in _bid_notes(rules)),
        ("deal", "; ".join(_deal(rules))),
        ("phases", ", ".join(_phases(rules))),
        ("all pass", _ALL_PASS[rules.all_pass]),
        ("play", "; ".join(_play(rules))),
        ("pool", "; ".join(_pool(rules)) or "none"),
        ("match", _match(rules)),
        ("source", SOURCES[rules.name] + (f"; changed: {rules.options}" if rules.options else "")),
    ]
    return "\n".join([*_in_short(rules), *(_row(f"  {key:10s}", text) for key, text in rows)])


def _row(key: str, text: str, width: int = 80) -> str:
    joined = re.sub(r" (?=\d+/\d)", "\0", text)  # a bid stays with its price
    filled = textwrap.fill(joined, width, initial_indent=key, subsequent_indent=" " * len(key))
    return filled.replace("\0", " ")


def _in_short(rules: Rules) -> list[str]:
    """Return who plays with which cards, what a player bids, and what that brings."""
    low, high = rules.player_range
    packs = [rules.pack_size(players) for players in (low, high)]
    widow = {
        "none": "", "peep": ", one more on the table", "floater": ", one more on the table",
        "garnet": ", a spare hand on the table",
    }[rules.widow]  # fmt: skip
    least = min((bid.tricks for bid in rules.all_bids if bid.tricks), default=None)
    goals = [
        f"how many of the {rules.num_tricks} tricks you will take, {least} or more"
        if least
        else "or pass"
    ]
    misere = "exactly 3" if rules.misere_goal == "exact3_nt" else "none"
    goals += [f"{bid.name} is {misere}" for bid in rules.all_bids if not bid.tricks]
    split = rules.transfer == "split"
    who, gets = ("The opponents together pay", "get") if split else ("Each opponent pays", "gets")
    wins = [rules.stake * bid.win for bid in rules.all_bids]
    losses = [rules.stake * bid.lose for bid in rules.all_bids]
    return [
        f"{rules.name}, for {_span(low, high)} players: {rules.hand_size} cards each of "
        f"{_span(*packs)}{' and a joker' * rules.joker}{widow}.",
        f"Bid {'; '.join(goals)}.",
        f"{who} you {_span(min(wins), max(wins))} chips if you do, and {gets} "
        f"{_span(min(losses), max(losses))} if you do not.",
    ]


def _span(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def summary(name: str) -> tuple[str, str, str, str]:
    """Return players, pack, bids and source of a preset: low bids first, prices as win/lose."""
    rules = PRESETS[name]
    bids = ", ".join(f"{bid.name} {bid.win}/{bid.lose}" for bid in rules.all_bids)
    return _players(rules), _pack(rules), bids, SOURCES[name]


def overview(width: int = 80) -> str:
    """Return all presets as text: who plays with which cards, and what each opponent pays."""
    lines = []
    for name, rules in PRESETS.items():
        _, pack, bids, _ = summary(name)
        players = f"{_span(*rules.player_range)} players"
        lines += [_row(f"{name:17s}", f"{players}, {pack}", width), _row(" " * 17, bids, width)]
    return "\n".join(lines)


def _players(rules: Rules) -> str:
    low, high = rules.player_range
    seats = _span(low, high)
    if rules.dealer_out_from is None or rules.dealer_out_from > high:
        return seats
    return f"{seats}; from {rules.dealer_out_from} the dealer sits out"


def _pack(rules: Rules) -> str:
    low, high = rules.player_range
    packs = {low: rules.deck} if isinstance(rules.deck, int) else dict(rules.deck)
    sizes = {size: players for players, size in packs.items() if low <= players <= high}
    if len(sizes) == 1:
        pack = f"{next(iter(sizes))} cards"
    else:
        pack = ", ".join(f"{size} (up to {players})" for size, players in sizes.items()) + " cards"
    if rules.suits != 4:
        pack += f" of {rules.suits} suits"
    widow = {
        "none": "", "peep": ", one on the table", "floater": ", one on the table (the floater)",
        "garnet": ", a spare hand on the table",
    }[rules.widow]  # fmt: skip
    return f"{pack}{' and a joker' * rules.joker}, {rules.hand_size} each{widow}"


def _bid(bid: Bid, rules: Rules) -> str:
    price = f"{bid.name} {bid.win}/{bid.lose}"
    extra = bid.overtrick + (rules.overtrick if 0 < bid.tricks < rules.num_tricks else 0)
    if extra:
        price += f" +{extra} an overtrick"
    return price + (f" -{bid.undertrick} a trick missing" if bid.undertrick else "")


def _bid_notes(rules: Rules) -> list[str]:
    notes = [f"{bid.name} {_LEADS[bid.lead]}" for bid in rules.bids if bid.lead in _LEADS]
    conditions = (
        ("wellington", rules.wellington_over, rules.wellington_min_players),
        ("blucher", rules.blucher_over, rules.blucher_min_players),
    )
    for name, over, players in conditions:
        if name in [bid.name for bid in rules.bids]:
            notes += [f"{name} only over another player's {over}"] * (over is not None)
            notes += [f"{name} only with {players} players or more"] * (players > 0)
    notes += [f"prices count {rules.stake} times"] * (rules.stake != 1)
    notes += ["a price is shared by the opponents"] * (rules.transfer == "split")
    if rules.garnet_fail != 1:
        notes.append(
            f"a contract failed with the spare hand costs {rules.garnet_fail} times as much"
        )
    return notes


def _deal(rules: Rules) -> list[str]:
    dealer = _FIRST_DEALERS.get(rules.first_dealer, f"seat {rules.first_dealer}")
    if rules.shuffle == "every":
        return [f"first by {dealer}", "shuffled every time"]
    return [
        f"first by {dealer}",
        "shuffled before a match and after a made bid for all tricks, else gathered and cut",
        f"dealt {rules.packets}",
    ]


def _phases(rules: Rules) -> list[str]:
    looks = {"peep": " with looks at the widow", "floater": " with looks at the floater"}
    if rules.dealer_free_look:
        looks["floater"] += ", which the dealer has seen"
    maker = "a maker who has looked" if rules.look_needed else "the maker"
    first = "from the dealer" if rules.first_bidder == "dealer" else "from the dealer's left"
    return [
        "deal",
        *[f"discard down to {rules.discard_to}"] * (rules.discard_to is not None),
        *[f"buy cards at {rules.buy_cost} each"] * rules.buy,
        f"auction {first}{looks.get(rules.widow, '')}",
        *["taking the spare hand commits to nap"] * (rules.widow == "garnet"),
        *["the dealer may hold or raise the highest bid"] * rules.hold,
        *{
            "peep": [f"{maker} may swap for the widow"],
            "floater": ["a maker of a +f bid swaps for the floater"],
        }.get(rules.widow, []),
        *{
            "maker_one": ["the maker may draw one card"],
            "maker_then_opponents": ["the maker exchanges, then opponents up to as many"],
        }.get(rules.draw, []),
        "play",
        "settlement",
    ]


def _play(rules: Rules) -> list[str]:
    misere = next((bid for bid in rules.bids if bid.tricks == 0), None)
    trumps = misere is not None and trumps_of(misere, rules) == TRUMPS_LED
    exact = rules.misere_goal == "exact3_nt"
    goal = "exactly three tricks" if exact else "no trick"
    without = "no trump but the joker" if rules.joker else "no trumps"
    return [
        "the maker's first card makes trumps",
        *["where the lowest side card is led he names them"]
        * any(bid.lead == "lowest_plain" for bid in rules.bids),
        *[f"misère: {goal}, {'with trumps' if trumps else without}"] * (misere is not None),
        *["a void hand must trump"] * rules.must_trump,
        *["every card may be played, a revoke is settled at once"] * rules.allow_revoke,
        "stops once the bid is made or lost" if rules.stops_early else "all tricks are played",
    ]


def _pool(rules: Rules) -> list[str]:
    most = "a Napoleon" if rules.separate_call else "a bid for all tricks"
    instead = " instead" if rules.pool_fail == "as_player" else ""
    payments = {
        f"{rules.pool_start} from each at the start": rules.pool_start,
        f"{rules.pool_each} from each in every deal": rules.pool_each,
        f"{rules.pool_dealer} from the dealer in every deal": rules.pool_dealer,
        f"{rules.look_cost} for a look": rules.look_cost,
        "what is paid for cards": rules.buy and rules.buy_cost,
        f"{rules.garnet_pool} from a maker who fails with the spare hand": rules.garnet_pool,
        "a failed bid pays it like one more opponent": rules.pool_fail == "as_player",
        f"{most}, failed, doubles it{instead}": rules.pool_five_fail == "double",
        f"{rules.pool_revoke} for a revoke": rules.pool_revoke,
    }
    due = [text for text, applies in payments.items() if applies]
    return [*due, f"taken by {most}, made"] if due else []


def _match(rules: Rules) -> str:
    ends = {
        f"{rules.deals} deal{'s' * (rules.deals != 1)}": rules.deals,
        f"until somebody has {rules.target}": rules.target,
        f"{rules.chips} chips each until somebody has none": rules.chips,
    }
    ended = " or ".join(text for text, applies in ends.items() if applies)
    return ended if rules.deals else f"{ended}, at most {rules.max_deals} deals"


def main(arguments: Sequence[str] | None = None, prog: str = "python -m nap_env.presets") -> int:
    """Print the presets that the command line names, or all in a few words each."""
    parser = Parser(
        prog=prog, description="Describe rule sets of Nap, without a name all of them in short."
    )
    parser.add_argument("preset", nargs="*", metavar="PRESET", help=f"of {', '.join(PRESETS)}")
    names = parser.parse_args(arguments).preset
    try:
        print("\n\n".join(map(describe, names)) if names else overview())
    except ValueError as error:
        parser.refuse(error)
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
