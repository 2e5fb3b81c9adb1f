"""How long to fuzz: a few examples of each property in the test suite, as many as `EXAMPLES` says by hand."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "lmrbench",
    max_examples=int(os.environ.get("EXAMPLES", "25")),
    # Under bounds of their own; a busy machine is no failure.
    deadline=None,
    # The same examples every time in the test suite; new ones by hand.
    derandomize="EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    print_blob=True,
)
settings.load_profile("lmrbench")
