"""Measurements of speed; run as modules, not part of the package."""
