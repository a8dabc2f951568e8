"""PPO self-play: `python -m training.ppo --config configs/smoke.yaml`.

Every update plays complete deals with the present network in all seats (`training.rollout`),
then improves the network on the decisions it took. Update u draws all its randomness from
(seed, u), so a resumed run goes on as if it had never stopped.

Advantages are centred but stay in units of reward (5 chips from each opponent): they are not
divided by their spread. So the weights of the entropy are temperatures in reward, and once all
have learnt to pass, the little that still happens is not blown up into large steps: normalised,
runs stayed stuck with players who never bid, or bid nothing but misère.

What is logged to TensorBoard and metrics.jsonl, all against decisions trained:

| tag | meaning |
|---|---|
| charts/decisions_per_second | decisions played and trained per second in this update |
| charts/deals | deals played since the start |
| charts/learning_rate | Adam's step; falls to 0 |
| losses/policy | clipped objective, negated; its size means little |
| losses/value | Huber distance between expected and received reward |
| losses/explained_variance | of the returns by the values: 1 foretells them, 0 says nothing |
| losses/advantage_std | spread of the advantages, in reward |
| losses/approx_kl | how far the policy moved in the update, nats per decision; above 0.03 is far |
| losses/clip_fraction | decisions whose probability moved by more than `clip` |
| losses/grad_norm | mean norm of the gradients before clipping |
| nap/entropy_auction | nats per decision where a seat may bid; near 0 it has stopped exploring |
| nap/entropy_play | nats per decision everywhere else |
| nap/decisions_per_deal | of all seats together, without forced moves |
| nap/chips_moved | chips that change hands in a deal, on average |
| nap/passed_out | share of the deals in which nobody bids |
| nap/bid_<name> | share of the deals in which this is the highest bid, so the contract |
| nap/made_<name> | share of those deals in which the bidder wins chips |
"""

import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from nap_env.actions import FIRST_BID, action_id
from nap_env.batch import Batch
from training.arena import enter
from training.checkpoint import Player, save_state, save_weights
from training.config import Config, parse
from training.evaluate import evaluate
from training.network import Network, entropy, log_policy
from training.report import report
from training.rollout import Rollout, advantages, collect


class Trainer:
    """One run: games, network, optimiser, and how far it has come."""

    def __init__(self, config: Config) -> None:
        """Start a run.

        Raises:
            ValueError: rules, options or number of players are impossible.
        """
        self.config = config
        self.games = Batch(
            rules=config.rules,
            options=config.options,
            num_players=config.num_players,
            num_games=config.num_games,
            skip_forced=True,
        )
        try:
            enter(config.against, config.seed, self.games.rules, None, config.num_players)
        except ValueError as error:
            raise ValueError(f"against: {error}") from None
        self.player = Player(
            rules=config.rules,
            options=config.options,
            num_players=config.num_players,
            hidden=config.hidden,
            layout_version=self.games.layout.version,
        )
        generator = torch.Generator().manual_seed(config.seed)
        scale = observation_scale(self.games)
        self.network = Network(scale, self.games.num_actions, config.hidden, generator)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=config.learning_rate, eps=1e-5, fused=True
        )
        self.updates = 0
        self.deals = 0
        self.decisions = 0

    def update(self) -> dict[str, float]:
        """Play and train once; return what to log."""
        config, start = self.config, time.perf_counter()
        left = 1 - self.decisions / config.total_decisions  # from 1 down to 0
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * left

        seed = 2 * (config.seed << 31 | self.updates)  # even: no deal that evaluation uses
        generator = torch.Generator().manual_seed(seed)
        rollout = collect(self.games, self.network, config.deals_per_update, seed, generator)
        rewards = rollout.rewards(self.player.chips_per_reward)  # (M,)
        advantage = advantages(rewards, rollout, config.gae_lambda)  # (M,)
        returns = advantage + rollout.value  # (M,)
        metrics = improve(
            self.network,
            self.optimizer,
            config,
            left,
            rollout,
            torch.from_numpy(advantage - advantage.mean()),
            torch.from_numpy(returns),
            generator,
        )

        self.updates += 1
        self.deals += len(rollout.payments)
        self.decisions += len(rollout.action)
        seconds = time.perf_counter() - start
        return {
            "charts/decisions_per_second": len(rollout.action) / seconds,
            "charts/deals": self.deals,
            "charts/learning_rate": config.learning_rate * left,
            "losses/explained_variance": 1 - advantage.var() / max(returns.var(), 1e-8),
            "losses/advantage_std": advantage.std(),
            **metrics,
            **describe(rollout, [bid.name for bid in self.games.rules.bids]),
        }

    def save(self, run_dir: Path) -> None:
        """Write the weights for others and the state for `--resume`."""
        save_weights(run_dir / "last.safetensors", self.network, self.player)
        state = {
            "player": asdict(self.player),
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "updates": self.updates,
            "deals": self.deals,
            "decisions": self.decisions,
        }
        save_state(run_dir / "state.pt", state)

    def load(self, run_dir: Path) -> None:
        """Go on from what `save` wrote.

        Raises:
            ValueError: the state is of a run with other rules or another network.
        """
        state: dict[str, Any] = torch.load(run_dir / "state.pt")
        if state["player"] != asdict(self.player):
            raise ValueError(
                f"{run_dir}: its state is of {state['player']}, not of {asdict(self.player)}"
            )
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.updates = state["updates"]
        self.deals = state["deals"]
        self.decisions = state["decisions"]


def observation_scale(games: Batch) -> Tensor:
    """Return what the network multiplies each entry of an observation by, float32 (K,)."""
    scale = torch.ones(games.observation_size)
    scale[games.layout.num_bits :] = 1 / 16  # counts and chips
    scale[games.layout.slice("order")] = 0  # card ids: who played what when is in the bits too
    return scale


def improve(
    network: Network,
    optimizer: torch.optim.Optimizer,
    config: Config,
    left: float,
    rollout: Rollout,
    advantage: Tensor,
    returns: Tensor,
    generator: torch.Generator,
) -> dict[str, float]:
    """Train on a rollout's M decisions, in shuffled minibatches.

    Args:
        network: is changed.
        optimizer: of the network.
        config: of the run.
        left: what remains of the run, 1 to 0; the weights of the entropy fall with it.
        rollout: the decisions.
        advantage: (M,) float32, how much better than expected they turned out.
        returns: (M,) float32, what the value network should have said.
        generator: shuffles.

    Returns:
        Mean losses and entropies.
    """
    observation = torch.from_numpy(rollout.observation)  # (M, K) int8
    legal = torch.from_numpy(rollout.legal)  # (M, A) bool
    action = torch.from_numpy(rollout.action)  # (M,)
    old_log_prob = torch.from_numpy(rollout.log_prob)  # (M,)
    may_bid = torch.from_numpy(rollout.may_bid)  # (M,)
    entropy_coef = left * torch.where(may_bid, config.entropy_auction, config.entropy_play)  # (M,)

    rows = len(action)
    sums, steps = torch.zeros(5), 0
    for _ in range(config.epochs):
        order = torch.randperm(rows, generator=generator)
        for batch in order.tensor_split(-(-rows // config.minibatch)):  # (B,) row numbers
            logits, value = network(observation[batch])  # (B, A), (B,)
            log_probs = log_policy(logits, legal[batch])  # (B, A)
            log_ratio = log_probs.gather(1, action[batch, None]).squeeze(1) - old_log_prob[batch]
            ratio = log_ratio.exp()  # (B,), 1 for every row in the first step
            clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
            policy_loss = -torch.min(ratio * advantage[batch], clipped * advantage[batch]).mean()
            value_loss = nn.functional.huber_loss(value, returns[batch])
            bonus = (entropy_coef[batch] * entropy(log_probs, legal[batch])).mean()

            optimizer.zero_grad()
            torch.autograd.backward(policy_loss + config.value_coef * value_loss - bonus)
            grad_norm = nn.utils.clip_grad_norm_(network.parameters(), config.grad_clip)
            optimizer.step()

            with torch.no_grad():
                kl = (ratio - 1 - log_ratio).mean()
                outside = ((ratio - 1).abs() > config.clip).float().mean()
                sums += torch.stack([policy_loss, value_loss, kl, outside, grad_norm])
                steps += 1
    names = ("policy", "value", "approx_kl", "clip_fraction", "grad_norm")
    return {
        f"losses/{name}": mean for name, mean in zip(names, (sums / steps).tolist(), strict=True)
    }


def describe(rollout: Rollout, bids: Sequence[str]) -> dict[str, float]:
    """Return what the players did in a rollout; `bids` are the names of the bids to count."""
    num_deals, num_players = rollout.payments.shape
    deal, seat = np.divmod(rollout.chain, num_players)  # (M,), (M,)
    bid = np.flatnonzero(rollout.action >= FIRST_BID)  # rows that bid: a later bid is higher
    contract, bidder = np.full(num_deals, -1), np.zeros(num_deals, np.int64)
    contract[deal[bid]], bidder[deal[bid]] = rollout.action[bid], seat[bid]
    won = rollout.payments[np.arange(num_deals), bidder] > 0  # (num_deals,)

    metrics = {
        "nap/decisions_per_deal": len(rollout.action) / num_deals,
        "nap/chips_moved": np.abs(rollout.payments).sum() / 2 / num_deals,
        "nap/passed_out": (contract == -1).mean(),
    }
    for phase, rows in (("auction", rollout.may_bid), ("play", ~rollout.may_bid)):
        if rows.any():  # what it takes to foretell an action is, on average, the entropy
            metrics[f"nap/entropy_{phase}"] = -rollout.log_prob[rows].mean()
    for name in bids:
        is_contract = contract == action_id(name)  # (num_deals,)
        metrics[f"nap/bid_{name}"] = is_contract.mean()
        if is_contract.any():
            metrics[f"nap/made_{name}"] = won[is_contract].mean()
    return metrics


@contextmanager
def stopping() -> Iterator[Event]:
    """Turn the first Ctrl-C or SIGTERM into an event; the second one acts as ever."""
    stop = Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in signals]

    def restore() -> None:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)

    def ask(*_: Any) -> None:
        stop.set()
        restore()

    for number in signals:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        restore()


def train(trainer: Trainer, run_dir: Path) -> bool:
    """Train to the end of the run, or until Ctrl-C or SIGTERM; say whether it is at its end."""
    total = trainer.config.total_decisions
    trainer.save(run_dir)
    with (
        stopping() as stop,
        SummaryWriter(run_dir, purge_step=trainer.decisions + 1) as board,
        (run_dir / "metrics.jsonl").open("a") as lines,
        tqdm(total=total, initial=trainer.decisions, unit=" decisions", disable=None) as bar,
    ):
        while trainer.decisions < total and not stop.is_set():
            metrics = {name: float(value) for name, value in trainer.update().items()}
            for name, value in metrics.items():
                board.add_scalar(name, value, trainer.decisions)
            lines.write(json.dumps({"decisions": trainer.decisions} | metrics) + "\n")
            lines.flush()
            bar.update(min(trainer.decisions, total) - bar.n)
            if trainer.updates % trainer.config.save_every == 0:
                trainer.save(run_dir)
    trainer.save(run_dir)
    return trainer.decisions >= total


def open_run(trainer: Trainer) -> Path:
    """Return the folder of the run: made for a new one, taken up where it stopped to resume one.

    Raises:
        ValueError: the folder holds another run.
        OSError: the folder cannot be made, or there is nothing in it to resume.
    """
    config = trainer.config
    if config.resume:
        trainer.load(config.resume)
        path = config.resume / "metrics.jsonl"
        lines = path.read_text().splitlines()[: trainer.updates]  # later ones will come again
        path.write_text("".join(f"{line}\n" for line in lines))
        return config.resume
    name = config.config.stem if config.config else "default"
    run_dir = config.run_dir or Path(
        "runs", f"{name}-{config.seed}-{time.strftime('%Y%m%d-%H%M%S')}"
    )
    if (run_dir / "state.pt").exists():
        raise ValueError(f"run_dir={run_dir}: holds a run; --resume goes on with it")
    run_dir.mkdir(parents=True, exist_ok=True)
    config.save(run_dir / "config.yaml")
    (run_dir / "metrics.jsonl").touch()
    return run_dir


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command.

    Raises:
        SystemExit: with status 2 for options that cannot be used, before anything is trained.
    """
    start = time.perf_counter()
    config = parse(sys.argv[1:] if argv is None else argv)
    torch.set_num_threads(config.threads)
    try:
        trainer = Trainer(config)
        run_dir = open_run(trainer)
    except (ValueError, NotImplementedError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    finished = train(trainer, run_dir)
    weights = run_dir / "last.safetensors"
    # The same deals after every run, so that runs compare.
    results = evaluate(str(weights), config.against, sets=config.eval_sets) if finished else []
    report(
        results,
        run_dir=str(run_dir),
        finished=finished,
        decisions=trainer.decisions,
        deals=trainer.deals,
        seconds=round(time.perf_counter() - start, 1),
    )


if __name__ == "__main__":
    main()
