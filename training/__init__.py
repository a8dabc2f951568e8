"""PPO self-play on `nap_env.Batch`, and how strong what it makes is."""
