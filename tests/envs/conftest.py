"""What the tests of the environments have in common."""

import pytest


@pytest.fixture(autouse=True)
def nobody_watches(monkeypatch):
    """Let `human` mode show one picture after the other without a pause, and without a display."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("nap_env.picture.RENDER_FPS", 0)
