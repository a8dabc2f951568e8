"""Where a measurement comes from: the machine, the commit, the versions."""

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nap_env.engine.compiler import vector_bits

ROOT = Path(__file__).resolve().parent.parent


def machine() -> dict[str, Any]:
    """Return the processor, its cores, the vectors used, how busy it is, and the system."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line for line in lines if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "vector_bits": vector_bits(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
    }


def commit() -> dict[str, Any]:
    """Return the commit of this checkout and whether files differ; None outside a checkout."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return None
        return done.stdout.strip()

    if not (ROOT / ".git").exists():  # installed somewhere inside another checkout, perhaps
        return {"commit": None, "dirty": None}
    status = git("status", "--porcelain")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if status is None else bool(status)}


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the versions of Python and of packages, None for what is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
