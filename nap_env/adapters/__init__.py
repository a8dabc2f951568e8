"""Nap as other libraries want it: each module imports its library, and this package none."""
