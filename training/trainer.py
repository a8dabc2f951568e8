"""How a network is trained by PPO self-play.

Every update plays one deal in each game with the present network in all seats
(`training.rollout`), then improves the network on the decisions it took (`training.gradient`).

The work is split among workers: the threads of all processes. Each has games of its own and trains
on their decisions; the gradients are added up.

Advantages are centred but stay in units of reward (5 chips from each opponent): they are not
divided by their spread. So the weights of the entropy are temperatures in reward, and once all
have learnt to pass, the little that still happens is not blown up into large steps.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from nap_env.agents import make
from nap_env.agents.network import NetworkAgent, Training
from nap_env.observation import LAYOUT_VERSION
from nap_env.rules import Rules
from training.config import Config
from training.gradient import LOSS, STATISTICS, Gradient
from training.metrics import Deals, describe
from training.network import TorchGradient, new_weights
from training.rollout import IN_AUCTION, ROLES, Floats, Players, Rollout
from training.team import Team

_Result = TypeVar("_Result")


class Trainer:
    """One run: games, network, optimiser, and how far it has come.

    Attributes:
        tables: what is played, rules and numbers of players.
        weights: float32 (T,), the network.
        average: float32 (T,), its weights averaged over the updates.
        past: networks of the league.
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
            raise ValueError(
                f"num_games={config.num_games}: must be a multiple of {parts}, "
                "threads of all processes times tables"
            )
        share = config.num_games // parts
        first = self.team.rank * config.threads
        self._workers = range(first, first + config.threads)
        seed = 2 * config.seed  # even: no deal that evaluation uses
        self._players = [
            [
                Players(
                    *table, self.training, worker * share, share, seed, config.branch_share
                )
                for table in self.tables
            ]
            for worker in self._workers
        ]  # fmt: skip
        widths, factors = self._players[0][0].widths, self._players[0][0].factors
        self._gradients: list[Gradient | TorchGradient] = [
            Gradient(widths, factors)
            if config.device == "cpu"
            else TorchGradient(widths, factors, self.team.device)
            for _ in self._workers
        ]
        self._pool = ThreadPoolExecutor(config.threads)
        self.num_features = int(widths[0])
        self._parameter = nn.Parameter(torch.from_numpy(new_weights(widths, config.seed)))
        self.weights: Floats = self._parameter.detach().numpy()  # the same memory
        self.average = self.weights.copy()
        self.past: list[Floats] = []
        self.optimizer = torch.optim.Adam(
            [self._parameter], lr=config.learning_rate, eps=1e-5, fused=True
        )
        self.updates = 0
        self.deals = 0
        self.decisions = 0

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
        if config.league_share and len(self.past) * config.league_every <= 1 - left:
            self.past.append(self.weights.copy())
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
                else np.zeros(len(rollout.actions), np.float32)
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

    def _seats(self, shape: tuple[int, int], random: np.random.Generator) -> npt.NDArray[np.int8]:
        """Draw which network sits where: (N, P), 0 the present one, 1 a past one."""
        share = self.config.league_share
        if not share:
            return np.zeros(shape, np.int8)
        mixed = random.random((shape[0], 1)) < share
        return (mixed & (random.random(shape) < 0.5)).astype(np.int8)

    def _play(self, tables: Sequence[Players], random: np.random.Generator) -> list[Deals]:
        """Play a worker's games, some of them with a past network at about half of the seats."""
        config = self.config
        networks = [self.weights]
        if config.league_share:
            networks.append(self.past[random.integers(len(self.past))])
        deals = []
        for players in tables:
            sits = self._seats((players.num_games, players.num_players), random)
            rollout = players.play(np.stack(networks), sits, config.gae_lambda)
            deals.append(Deals(players, rollout, sits))
        return deals

    def _loss(self, rollouts: Sequence[Rollout], left: float) -> tuple[Any, dict[str, float]]:
        """Return LOSS (1,) for these decisions, and what to log of them."""
        config = self.config
        moments = np.zeros((len(ROLES), 3))  # number, sum and sum of squares of the advantages
        fit = np.zeros(4)  # number, sum and sum of squares of the returns, squared misses
        for rollout in rollouts:
            rows = rollout.rows
            for role in range(len(ROLES)):
                found = rows["advantage"][rows["role"] == role].astype(np.float64)
                moments[role] += len(found), found.sum(), found @ found
            returns = rows["returns"].astype(np.float64)
            missed = rows["advantage"].astype(np.float64)
            fit += np.array([len(rows), returns.sum(), returns @ returns, missed @ missed])
        moments, fit = self.team.add(moments), self.team.add(fit)
        count = np.maximum(moments[:, 0], 1)
        mean = moments[:, 1] / count
        spread = np.sqrt(np.maximum(moments[:, 2] / count - mean**2, 0))
        variance = fit[2] / fit[0] - (fit[1] / fit[0]) ** 2
        loss = np.zeros(1, LOSS)
        loss["clip"], loss["value_coef"] = config.clip, config.value_coef
        loss["magnet"] = config.magnet
        heat = config.entropy_end + (1 - config.entropy_end) * left
        loss["temperature"] = heat * config.entropy_play
        loss["temperature"][:, IN_AUCTION] = heat * config.entropy_auction
        if config.advantage == "normalised":
            loss["mean"], loss["scale"] = mean, 1 / (spread + 1e-4)
        else:
            loss["mean"], loss["scale"] = moments[:, 1].sum() / fit[0], 1
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
                self._parameter.grad = torch.from_numpy(self.team.add(total) / np.float32(count))
                norm = float(nn.utils.clip_grad_norm_([self._parameter], config.grad_clip))
                if not np.isfinite(norm):
                    raise FloatingPointError(f"update {self.updates}: the gradient is {norm}")
                self.optimizer.step()
                norms.append(norm)
                sums += found
        means = sums.sum(0)[:-1] / sums[:, -1].sum()
        told = dict(zip(STATISTICS, means.tolist(), strict=True))
        entropy = STATISTICS.index("entropy")
        if told["approx_kl"] > config.max_kl:
            raise FloatingPointError(
                f"update {self.updates}: the policy moved by {told['approx_kl']:.3g} nats a "
                f"decision, max_kl is {config.max_kl}"
            )
        return {
            **{f"losses/{name}": told[name] for name in STATISTICS if name != "entropy"},
            "losses/grad_norm": float(np.mean(norms)),
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
            "past": [torch.from_numpy(weights) for weights in self.past],
            "optimizer": self.optimizer.state_dict(),
            # (workers of all processes, tables, games, bytes of a record)
            "games": torch.from_numpy(self.team.gather(games).reshape(-1, *games.shape[1:])),
            "updates": self.updates,
            "deals": self.deals,
            "decisions": self.decisions,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self.weights[:] = state["weights"].numpy()
        self.average[:] = state["average"].numpy()
        self.past = [weights.numpy() for weights in state["past"]]
        self.optimizer.load_state_dict(state["optimizer"])
        games = state["games"].numpy()
        for worker, tables in zip(self._workers, self._players, strict=True):
            for players, records in zip(tables, games[worker], strict=True):
                players.resume(records)
        self.updates = state["updates"]
        self.deals = state["deals"]
        self.decisions = state["decisions"]

    def agent(self, rules: Rules, num_players: int) -> NetworkAgent:
        """Return the present network as a player at one of its tables."""
        return NetworkAgent(self.weights.copy(), self.training, "sampled", rules, num_players)
