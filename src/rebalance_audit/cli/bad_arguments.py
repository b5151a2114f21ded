"""What the user named and the log does not have, as errors of the command line."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from rebalance_audit.errors import UnknownGroup, UnknownPartition, UnknownTimeZone


@contextmanager
def bad_arguments(group: str = "--group") -> Iterator[None]:
    """Raises click.UsageError for what `errors` calls unknown; `group` is the argument that names a group."""
    try:
        yield
    except UnknownGroup as error:
        raise click.BadParameter(str(error), param_hint=group) from error
    except UnknownPartition as error:
        raise click.BadParameter(str(error), param_hint="--partition") from error
    except UnknownTimeZone as error:
        raise click.UsageError(str(error)) from error
