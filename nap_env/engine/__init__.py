"""The game itself: one structured record a game, kernels that move it from decision to decision."""
