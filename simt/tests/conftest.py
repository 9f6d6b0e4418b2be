"""A test is as right on a slow or busy machine as on an idle one: Hypothesis has no deadline."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("any machine")
