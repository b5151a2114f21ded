"""`check` as far as it can be tested without Spark; tests/quality and tests/cluster have the rest."""

from rebalance_audit.cli import exit_codes
from tests.cli.call import call


def test_without_a_lake_there_is_nothing_to_check() -> None:
    """Bad arguments are reported before Spark and the suites' library are imported."""
    done = call("check")
    assert done.code == exit_codes.BAD_ARGUMENTS
    assert "No lake: give --lake DIR." in done.err


def test_help_says_what_the_exit_code_means() -> None:
    """The operator of a scheduler looks here first."""
    assert "Exit code 4: an expectation of severity fail is not met." in call("check", "-h").out
