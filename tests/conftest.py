import os

from hypothesis import settings

# The first example of a test may compile kernels for seconds, so there is no deadline. In CI the
# examples are the same in every run.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
