"""How a network is trained by PPO self-play.

Every update plays one deal in each game with the present network in all seats, or in one among
opponents (`training.rollout`), then improves the network on the decisions it took
(`training.gradient`).

The work is split among workers: the threads of all processes. Each has games of its own and trains
on their decisions; the gradients are added up.

Advantages are centred but stay in units of reward (5 chips from each opponent): they are not
divided by their spread. So the weights of the entropy are temperatures in reward, and once all
have learnt to pass, the little that still happens is not blown up into large steps.
"""

import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from nap_env.agents import Agent, make
from nap_env.agents.network import NetworkAgent, Training
from nap_env.observation import LAYOUT_VERSION
from nap_env.rules import Rules, whole
from training.arena import CHECKPOINT, enter
from training.checkpoint import load_weights
from training.config import Config
from training.gradient import Gradient
from training.loss import STATISTICS, weigh
from training.metrics import Deals, describe
from training.network import TorchGradient, new_weights
from training.rollout import ROLES, Floats, Players, Rollout
from training.team import Team

_Result = TypeVar("_Result")


class Trainer:
    """One run: games, network, optimiser, and how far it has come.

    Attributes:
        tables: what is played, rules and numbers of players.
        weights: float32 (T,), the network.
        average: float32 (T,), its weights averaged over the updates.
        updates, deals, decisions: how many so far.
    """

    def __init__(self, config: Config, team: Team | None = None) -> None:
        """Start a run.

        Args:
            config: of the run.
            team: the processes that train together; None for this one alone.

        Raises:
            ValueError: rules, options, players, agents or widths are impossible.
        """
        self.config, self.team = config, team or Team(config.device)
        self.training = Training(
            rules=config.rules,
            options=config.options,
            num_players=config.num_players,
            hidden=config.hidden,
            layout_version=LAYOUT_VERSION,
            suits_in_order=config.suits_in_order,
        )
        self.tables = self.training.tables
        for rules, num_players in self.tables:
            for name in config.against:
                make(name, rules, num_players)  # refuses what cannot be measured against
        parts = self.team.size * config.threads * len(self.tables)
        if config.num_games % parts:
            fewer = config.num_games // parts * parts
            good = " or ".join(str(number) for number in (fewer, fewer + parts) if number)
            raise ValueError(
                f"num_games={config.num_games}: must be a multiple of {parts}, "
                f"threads of all processes times tables: take {good}"
            )
        share = config.num_games // parts
        first = self.team.rank * config.threads
        self._workers = range(first, first + config.threads)
        seed = 2 * config.seed  # even: no deal that evaluation uses
        self._players = [
            [
                Players(
                    *table, self.training, worker * share, share, seed, config.branch_share,
                    self._seated(*table),
                )
                for table in self.tables
            ]
            for worker in self._workers
        ]  # fmt: skip
        net = self._players[0][0].net
        self._digests = {
            name: hashlib.sha256(agent.weights.tobytes()).hexdigest()
            for name, agent in self._players[0][0].opponents.items()
            if isinstance(agent, NetworkAgent)
        }
        self._gradients: list[Gradient | TorchGradient] = [
            Gradient(net) if config.device == "cpu" else TorchGradient(net, self.team.device)
            for _ in self._workers
        ]
        self._pool = ThreadPoolExecutor(config.threads)
        weights = new_weights(net.widths, config.seed)
        if config.init and not config.resume:
            weights[:] = self._initial(config.init)
        self._parameter = nn.Parameter(torch.from_numpy(weights))
        self.weights: Floats = self._parameter.detach().numpy()  # the same memory
        self.average = self.weights.copy()
        self.optimizer = torch.optim.Adam(
            [self._parameter], lr=config.learning_rate, eps=1e-5, fused=True
        )
        self.updates = 0
        self.deals = 0
        self.decisions = 0

    def _seated(self, rules: Rules, num_players: int) -> dict[str, Agent]:
        """Return the opponents at a table, networks as sampled, by name."""
        names = self.config.opponents
        _, _, entrants = enter(names, rules, None, num_players)
        return {name: sampled.agent for name, (sampled, *_) in zip(names, entrants, strict=True)}

    def _initial(self, name: str) -> Floats:
        """Return the weights of a network by name, or of a run.

        Raises:
            ValueError: they are not of a network like this one.
        """
        if name.endswith(CHECKPOINT):
            weights, training = load_weights(Path(name))
        else:
            agent = make(name, *self.tables[0])
            if not isinstance(agent, NetworkAgent):
                raise ValueError(f"init={name}: is not a network")
            weights, training = agent.weights, agent.training
        for what in ("hidden", "suits_in_order", "num_features"):
            theirs, ours = getattr(training, what), getattr(self.training, what)
            if theirs != ours:
                raise ValueError(f"init={name}: has {what}={theirs}, the run has {ours}")
        return weights

    def _each(self, function: Callable[..., _Result], *lists: Iterable[Any]) -> list[_Result]:
        """Return what the function says for each worker of this process, side by side."""
        return list(self._pool.map(function, *lists))

    def update(self) -> dict[str, float]:
        """Play and train once; return what to log.

        Raises:
            FloatingPointError: the gradient is not a number, or the policy moved too far.
        """
        config, start = self.config, time.perf_counter()
        left = 1 - self.decisions / config.total_decisions  # from 1 down to 0
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * left
        random = [
            np.random.default_rng([config.seed, self.updates, worker]) for worker in self._workers
        ]
        deals = self._each(self._play, self._players, random)
        rollouts = [Rollout.join([each.rollout for each in of_worker]) for of_worker in deals]
        loss, metrics = self._loss(rollouts, left)
        magnets = self._each(
            lambda gradient, rollout: (
                gradient.log_policies(self.average, rollout)
                if config.magnet
                else np.zeros(len(rollout.decisions.actions), np.float32)
            ),
            self._gradients,
            rollouts,
        )
        metrics |= self._improve(rollouts, magnets, loss, random)
        self.average += (1 - config.average) * (self.weights - self.average)

        self.updates += 1
        self.deals += config.num_games
        decisions = int(self.team.add(np.array([sum(len(r.rows) for r in rollouts)]))[0])
        self.decisions += decisions
        seconds = time.perf_counter() - start
        return {
            "charts/decisions_per_second": decisions / seconds,
            "charts/deals": self.deals,
            "charts/learning_rate": config.learning_rate * left,
            "nap/decisions_per_deal": decisions / config.num_games,
            **metrics,
            **describe(self.team, self.tables, deals),
        }

    def _play(self, tables: Sequence[Players], random: np.random.Generator) -> list[Deals]:
        """Play a worker's games."""
        return [
            Deals(players, players.play(self.weights, self.config.gae_lambda, random))
            for players in tables
        ]

    def _loss(self, rollouts: Sequence[Rollout], left: float) -> tuple[Any, dict[str, float]]:
        """Return LOSS (1,) for these decisions, and what to log of them."""
        config = self.config
        moments = np.zeros((len(ROLES), 3))  # number, sum and sum of squares of the advantages
        fit = np.zeros(4)  # number, sum and sum of squares of the returns, squared misses
        for rollout in rollouts:
            roles = rollout.rows["role"].copy()  # records are slow to go through again and again
            missed = rollout.rows["advantage"].astype(np.float64)
            returns = rollout.rows["returns"].astype(np.float64)
            for role in range(len(ROLES)):
                found = missed[roles == role]
                moments[role] += len(found), found.sum(), found @ found
            fit += np.array([len(roles), returns.sum(), returns @ returns, missed @ missed])
        moments, fit = self.team.add(moments), self.team.add(fit)
        fit[0] = max(fit[0], 1)  # among opponents there may be nothing to decide
        count = np.maximum(moments[:, 0], 1)
        mean = moments[:, 1] / count
        spread = np.sqrt(np.maximum(moments[:, 2] / count - mean**2, 0))
        variance = fit[2] / fit[0] - (fit[1] / fit[0]) ** 2
        if config.advantage == "normalised":
            loss = weigh(config, left, mean, 1 / (spread + 1e-4))
        else:
            loss = weigh(config, left, moments[:, 1].sum() / fit[0], 1)
        return loss, {
            "losses/explained_variance": 1 - fit[3] / fit[0] / max(variance, 1e-8),
            **{f"losses/advantage_{role}": spread[k] for k, role in enumerate(ROLES)},
        }

    def _improve(
        self,
        rollouts: Sequence[Rollout],
        magnets: Sequence[Floats],
        loss: Any,
        random: Sequence[np.random.Generator],
    ) -> dict[str, float]:
        """Train on the decisions, in shuffled minibatches; return what to log."""
        config = self.config
        sums = np.zeros_like(self._gradients[0].sums)
        norms = []
        for _ in range(config.epochs):
            parts = [
                np.array_split(generator.permutation(len(rollout.rows)), config.minibatches)
                for generator, rollout in zip(random, rollouts, strict=True)
            ]
            for minibatch in zip(*parts, strict=True):
                self._each(
                    lambda gradient, rollout, magnet, rows: gradient.differentiate(
                        self.weights, rollout, magnet, loss, rows
                    ),
                    self._gradients,
                    rollouts,
                    magnets,
                    minibatch,
                )
                found = self.team.add(np.sum([each.sums for each in self._gradients], 0))
                count = found[:, -1].sum()
                if not count:  # there are fewer decisions than minibatches
                    continue
                total = self._gradients[0].gradient
                for other in self._gradients[1:]:
                    total += other.gradient
                total = self.team.add(total)
                total /= np.float32(count)
                self._parameter.grad = gradient = torch.from_numpy(total)
                # As clip_grad_norm_ does, whose care for many tensors takes longer than Adam.
                norm = torch.linalg.vector_norm(gradient)
                if not norm.isfinite():
                    raise FloatingPointError(f"update {self.updates}: the gradient is {norm:g}")
                gradient *= torch.clamp(config.grad_clip / (norm + 1e-6), max=1)
                self.optimizer.step()
                norms.append(float(norm))
                sums += found
        means = sums.sum(0)[:-1] / max(sums[:, -1].sum(), 1)
        told = dict(zip(STATISTICS, means.tolist(), strict=True))
        untold = ("entropy", *(() if config.magnet else ("magnet_kl",)))
        entropy = STATISTICS.index("entropy")
        if told["approx_kl"] > config.max_kl:
            raise FloatingPointError(
                f"update {self.updates}: the policy moved by {told['approx_kl']:.3g} nats a "
                f"decision, max_kl is {config.max_kl}"
            )
        return {
            **{f"losses/{name}": told[name] for name in STATISTICS if name not in untold},
            "losses/grad_norm": float(np.mean(norms or 0)),
            **{
                f"nap/entropy_{role}": sums[k, entropy] / max(sums[k, -1], 1)
                for k, role in enumerate(ROLES)
            },
        }

    def state(self) -> dict[str, Any]:
        """Return what resuming needs; every process of the team must call it."""
        games = np.stack([[each.state() for each in tables] for tables in self._players])
        return {
            "training": asdict(self.training),
            "config": self.config.told(),
            "weights": self._parameter.detach(),
            "average": torch.from_numpy(self.average),
            "opponents": self._digests,
            "optimizer": self.optimizer.state_dict(),
            # (workers of all processes, tables, games, bytes of a record)
            "games": torch.from_numpy(self.team.gather(games).reshape(-1, *games.shape[1:])),
            "updates": self.updates,
            "deals": self.deals,
            "decisions": self.decisions,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned.

        Raises:
            ValueError: a network among the opponents has changed, or a value is none that can be.
        """
        for name, digest in state["opponents"].items():
            if self._digests.get(name) != digest:
                raise ValueError(f"opponents={name}: has changed since the run began")
        self.weights[:] = state["weights"].numpy()
        self.average[:] = state["average"].numpy()
        self.optimizer.load_state_dict(state["optimizer"])
        games = state["games"].numpy()
        for worker, tables in zip(self._workers, self._players, strict=True):
            for players, records in zip(tables, games[worker], strict=True):
                players.resume(records)
        self.updates, self.deals, self.decisions = (
            whole(name, state[name], 0, sys.maxsize) for name in ("updates", "deals", "decisions")
        )

    def agent(self, rules: Rules, num_players: int) -> NetworkAgent:
        """Return the present network as a player at one of its tables."""
        return NetworkAgent(self.weights.copy(), self.training, "sampled", rules, num_players)
