"""The processes that train one network together, started by `torchrun`; one process if it was not.

torchrun tells each process its number by environment variables. On a GPU they talk through NCCL,
else through gloo.
"""

import os
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous


class Team:
    """This process among those that train together.

    Attributes:
        rank: number of this process; the one with 0 writes files.
        size: how many there are.
        device: where this process computes; of several GPUs by number, as threads do not inherit
            torch's current one.
    """

    def __init__(self, device: str = "cpu") -> None:
        """Join the other processes, if there are any.

        Raises:
            ValueError: there is no GPU, or torchrun's environment variables are not all there.
        """
        if device == "cuda" and not torch.cuda.is_available():
            raise ValueError("device=cuda: torch finds no GPU")
        self.rank, self.size = 0, int(os.environ.get("WORLD_SIZE", 1))
        self.device = torch.device(device)
        if self.size > 1:
            if device == "cuda":
                self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
                torch.cuda.set_device(self.device)
            store, self.rank, _ = next(rendezvous("env://"))
            # After a restart the store still knows the addresses of the processes before it.
            attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
            distributed.init_process_group(
                "nccl" if device == "cuda" else "gloo",
                store=PrefixStore(f"attempt {attempt}", store),
                rank=self.rank,
                world_size=self.size,
                timeout=timedelta(days=1),  # the others wait while the first one measures
            )

    def add(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the sum of every process's array, which may be written over."""
        if self.size == 1:
            return array
        total = torch.from_numpy(array).to(self.device)
        distributed.all_reduce(total)
        return total.cpu().numpy()

    def gather(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the arrays of all processes, stacked by rank: (size, ..)."""
        if self.size == 1:
            return array[None]
        mine = torch.from_numpy(array).to(self.device)
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        distributed.all_gather(parts, mine)
        return np.stack([part.cpu().numpy() for part in parts])

    def gather_objects(self, value: Any) -> list[Any]:
        """Return what every process gives, by rank; it can be pickled."""
        values = [value] * self.size
        if self.size > 1:
            distributed.all_gather_object(values, value)
        return values

    def any(self, flag: bool) -> bool:
        """Return whether any process says so."""
        return bool(self.add(np.array([flag], np.int64))[0])

    def leave(self) -> None:
        """Part from the other processes."""
        if self.size > 1:
            distributed.destroy_process_group()
