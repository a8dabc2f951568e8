"""Measurements of speed; run as modules, not part of the package."""

import training  # noqa: F401 - says what to install if something is missing
