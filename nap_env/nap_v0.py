"""Nap, the card game, as a PettingZoo environment.

`help(nap_v0)` prints this page with its tables.

Creation
========

    from nap_env import nap_v0

    env = nap_v0.env(rules="pub", num_players=5)
                                    # AEC; an illegal action ends the game
    env = nap_v0.raw_env(...)       # AEC; an illegal action raises an error
    env = nap_v0.parallel_env(...)  # all seats are shown every decision

    import nap_env, pettingzoo      # PettingZoo 1.27 and newer

    env = pettingzoo.make("aec", "nap/nap-v0", rules="pub", num_players=5)
    env = pettingzoo.make("parallel", "nap/nap-v0", ...)

All take the same arguments, and all but `raw_env` one more, `illegal`:

$signature

$arguments
$illegal

`gymnasium.make("nap_env:nap/Nap-v0")` is the same game for one learner
among opponents, see `nap_env.envs.single` and, for many tables at once,
`nap_env.envs.vector`; `nap_env.Batch` is the fast way to play many games in
which all seats learn.

Course of the game
==================

The agents are `player_0`, `player_1`, .., clockwise round the table. One
step is one decision of one agent, and the agents do not take turns evenly.
A deal goes through these phases, those that its rules have:

    buy        cards are exchanged for new ones at a price
    auction    each seat passes or bids, and may first look at the widow
    hold       the dealer may hold or raise the highest bid
    exchange   surplus cards are put away before the auction, or cards are
               exchanged after it
    name       the maker names trumps, where the lead does not do so
    play       a card for every trick
    over       the chips are paid

An episode is one match, which is one deal unless the rules say otherwise.
All agents end together: terminated when the match is over, truncated when
it is cut off after `max_deals` deals, never both.

In `parallel_env` only the action of `agent_selection` counts; every agent
is given an observation, a reward and an info in every step, the last one
too.

Observation
===========

`{"observation": int8 (K,), "action_mask": int8 ($num_actions,)}`, or with
`flat_obs=True` the array alone; one space for all agents. K is fixed for
given rules and number of players, $size for `standard` at four. Everything
is seat-relative: seat 0 is the observer, then clockwise. A seat remembers
all that it has seen, and is shown nothing that it may not know. The fields,
with their sizes, are

$fields

From `scores` on they are numbers, cut off at the ends of int8, before that
0 or 1. Those from `played` to `passed` are repeated for every seat; those
about discards, the widow, bought and exchanged cards are there only where
the rules have such things. `env.layout.describe()` prints where each field
stands, `env.layout.slice(name, seat)` gives it. With
`observation_layout="full"` all rules and numbers of players share one
layout. `state()` is the observations of all seats, one after the other.

`infos[agent]` has `scores` (chips that each seat has won in the match so
far) and `pool`, both exact.

Actions
=======

`Discrete($num_actions)` for all rules; the numbers are fixed for ever.

$actions

A card is played, marked for exchange or swapped, as the phase says. Marks
are made by increasing number and ended by `done`. A bid is worth what its
place in the list of the rules says, not its number; a raise in `hold` is
the bid's name.

Masks
=====

The mask is int8, 1 for a legal action. It is in the observation, or in
`infos[agent]`, or in both (`mask_in`). That of an agent which is not to
move, or has ended, is all zero.

In `env` and `parallel_env` an illegal action ends the game: all agents are
terminated, and the offender's reward is what the dearest bid costs at
single stakes, so that it is never cheaper than to play: in `standard` at
four $price. With `illegal="random"` a random legal action is played in its
place. Either warns, once in a process. In `raw_env` it raises
`IllegalActionError`, which says why and what is legal, and changes nothing.
What is not in the action space raises `OutOfBoundsError` in all of them.

Rewards
=======

Chips, paid to all agents in the step that ends a deal; in all other steps
0. `pool_start` is charged with the first deal of a match and the pool is
shared out with the last one, so that the rewards of a match sum to zero. An
agent is mostly paid in another agent's step: `last()` gives the sum since
its own last one, `rewards` and `parallel_env` what the last step paid.

Reset
=====

`reset(seed, options)`: a seed gives the same deals whatever is played,
those of `Batch(seed=seed)`'s first game; without one the stream goes on.
`options` may set up the parts of a deal, or give a whole deal record, after
whose events the game then stands. Its keys are

$deal_keys

`copy.deepcopy` and `pickle` keep the game at any decision; `record()`
returns the deal so far. The AEC environments have `clone()`, `get_state()`
and `set_state(state)` for search.

Rules
=====

$presets

`python -m nap_env.presets NAME` prints one as a player would read it. Each
of these can be changed by `options={name: value}`, as described in
`nap_env.rules.Rules`:

$options

Version history
===============

    v0: first version.
"""

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import fields
from string import Template

from nap_env.actions import ACTIONS, BIDS, CALLS, NUM_ACTIONS
from nap_env.cards import CARDS, SUIT_NAMES
from nap_env.envs.aec import NapEnv as env
from nap_env.envs.aec import RawNapEnv as raw_env
from nap_env.envs.parallel import NapParallelEnv as parallel_env
from nap_env.game import Game
from nap_env.observation import FIELDS, layout
from nap_env.presets import PRESETS, overview
from nap_env.rules import Rules, rules_table

__all__ = ["env", "parallel_env", "raw_env"]

_WIDTH = 76
"""Columns of the page: `help` indents it by four more."""


def _page(template: str) -> str:
    """Return the page with what the code says in the places that are left open for it."""
    sections = inspect.cleandoc(raw_env.__init__.__doc__ or "").split("\n\n")
    arguments = next(section for section in sections if section.startswith("Args:"))
    more = inspect.cleandoc(env.__init__.__doc__ or "").partition("    illegal: ")
    illegal = f"    illegal: {more[2].partition('    **kwargs')[0].rstrip()}"
    numbered = [f"{number} {name}" for number, name in enumerate(ACTIONS)]
    actions = []
    for kind, names in (("cards", CARDS), ("calls", CALLS), ("suits", SUIT_NAMES), ("bids", BIDS)):
        start = ACTIONS.index(names[0])
        actions.append(_row(kind, numbered[start : start + len(names)]))
    options = [field.name for field in fields(Rules) if field.name != "name"]
    return Template(template).substitute(
        signature=_signature(),
        arguments=arguments.removeprefix("Args:\n"),
        illegal=illegal,
        price=-int(rules_table(PRESETS["standard"], 4)["illegal_price"][0]),
        num_actions=NUM_ACTIONS,
        size=layout(PRESETS["standard"], 4).size,
        fields="\n".join(_filled(f"    {f.name:17}{f.size:2}  ", f.meaning) for f in FIELDS),
        actions="\n".join(actions),
        deal_keys=_row("", [*Game.DEAL_KEYS, "record"]),
        presets=textwrap.indent(overview(_WIDTH - 4), " " * 4),
        options=_row("", [*options, "pay", "lead"]),
    )


def _signature() -> str:
    """Return how the environments are made, with all defaults."""
    parameters = inspect.signature(raw_env).parameters.values()
    bare = [parameter.replace(annotation=parameter.empty) for parameter in parameters]
    return _filled("    env(", f"{inspect.Signature(bare)}"[1:])


def _filled(start: str, text: str) -> str:
    """Return a line, or several below each other if there is not the room."""
    return textwrap.fill(
        text, _WIDTH, initial_indent=start, subsequent_indent=" " * len(start),
        break_on_hyphens=False,
    )  # fmt: skip


def _row(kind: str, words: Sequence[str]) -> str:
    """Return words after what they are, on as many lines as they need."""
    text = "  ".join(word.replace(" ", "\0") for word in words)  # a number stays with its name
    return _filled(f"    {kind:{7 * bool(kind)}}", text).replace("\0", " ")


if __doc__:  # python -OO has taken it away
    __doc__ = _page(__doc__)
