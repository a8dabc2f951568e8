"""Nap as environments of other libraries' kind."""
