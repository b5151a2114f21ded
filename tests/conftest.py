"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# A machine that has much else to do is no fault of the code, and neither is a test red today that was green yesterday:
# examples are drawn from the test itself.
settings.register_profile(
    "tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")
