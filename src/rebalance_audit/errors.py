"""Errors that the user of the package can act on. Each message is one sentence."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Final

from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.visible import shortened

_GROUPS_NAMED: Final = 10
_GROUPS_MEANT: Final = 3


class _WithoutCredentials(Exception):  # noqa: N818 - what is common to some
    """Its message may name a location as the user gave it, or cite a storage's own error."""

    def __str__(self) -> str:
        return without_credentials(super().__str__())


class LakeError(_WithoutCredentials):
    """The lake cannot be used."""


class LakeNotReadable(LakeError):  # noqa: N818 - named for what the user reads
    """The lake, or a table in it, cannot be read."""


class LakeNotWritable(LakeError):  # noqa: N818 - as above
    """The lake, or a table in it, cannot be written; nothing was."""


class LakeBusy(LakeError):  # noqa: N818 - as above
    """Another run is at work on the same cluster of the lake."""


def superseded(lake: str) -> LakeBusy:
    """What ends a run or an ingest that was slower than another one where a lake has no locks."""
    return LakeBusy(
        f"Another run or ingest wrote to the lake {lake} at the same time, so this one stopped. Nothing is lost or"
        " doubled; run it again when the other has ended."
    )


def later_release(lake: str) -> LakeNotWritable:
    """What ends a run of a release older than the one that wrote the lake."""
    return LakeNotWritable(
        f"A later release than this one wrote the lake {lake}: install that release, or run into another --lake."
    )


class SparkEnded(Exception):  # noqa: N818 - as above
    """Spark's Java process or a Python worker ended in the middle of the work, which the program does not foresee."""


class NotDelivered(_WithoutCredentials):
    """A webhook did not take what it was sent."""


class JarsNotFetched(Exception):  # noqa: N818 - as above
    """Ivy could not fetch Spark's jars; the message ends with its own words."""


class MissingJava(Exception):  # noqa: N818 - as above
    """There is no Java that Spark runs on."""


class BadRequest(_WithoutCredentials, ValueError):  # noqa: N818 - as above
    """An argument makes no sense: a source, a regular expression, a window, a layer."""


class UnknownTimeZone(BadRequest):
    """The time zone of a broker's log is neither a name such as `Europe/Berlin` nor an offset such as `+02:00`."""


class UnknownGroup(LookupError):  # noqa: N818 - as above
    """A group was asked for that no record names; the message suggests the likely one, or lists them."""

    def __init__(self, group_id: str, known: Collection[str]) -> None:
        super().__init__(group_id, known)
        self.group_id = group_id
        self.known = known

    def __str__(self) -> str:
        if not self.known:
            return f"no group {self.group_id!r}: the log has no groups at all."
        if near := self._near():
            meant = " or ".join(repr(shortened(name)) for name in near)
            return f"no group {self.group_id!r} in this log; did you mean {meant}?"
        some = sorted(self.known)[:_GROUPS_NAMED]
        more = f" and {len(self.known) - len(some):,} more" if len(self.known) > len(some) else ""
        listed = ", ".join(repr(shortened(name)) for name in some)
        return f"no group {self.group_id!r} in this log, which has {listed}{more}."

    def _near(self) -> list[str]:
        """At most three groups: those whose names begin with what was asked for, then similar names."""
        begun = [
            name for name in sorted(self.known) if self.group_id and name.startswith(self.group_id)
        ]
        similar = get_close_matches(self.group_id, self.known, n=_GROUPS_MEANT)
        return list(dict.fromkeys([*begun, *similar]))[:_GROUPS_MEANT]


class AbsentGroup(UnknownGroup):
    """A group was asked for that records name, but that does not exist at the moment in question."""

    def __init__(self, group_id: str, at: str | None) -> None:
        """`at`: the moment in words; None for the end of the log."""
        super().__init__(group_id, ())
        self.args = (group_id, at)
        self.at = at

    def __str__(self) -> str:
        when = "at the end of the log" if self.at is None else f"at {self.at}"
        later = "" if self.at is None else ", or it was created later"
        return (
            f"group {shortened(self.group_id)!r} does not exist {when}: the log has records of it, but it was deleted"
            f" or its offsets expired{later}."
        )


class UnknownPartition(LookupError):  # noqa: N818 - as above
    """A partition of `__consumer_offsets` was asked for that the folder does not hold."""

    def __init__(self, missing: Sequence[int], present: Sequence[int]) -> None:
        super().__init__(missing, present)
        self.missing = missing
        self.present = present

    def __str__(self) -> str:
        missing, present = (", ".join(map(str, numbers)) for numbers in self.args)
        return f"no partition {missing} here, only {present}."


class MissingExtra(ImportError):  # noqa: N818 - as above
    """A package that an extra of ours brings is not installed; the message names both."""


def two_histories(group_id: str, partitions: Collection[int]) -> str:
    """The sentence about a group with records in several partitions of the log, as none has in Kafka.

    A group's partition follows from its id and the number of partitions (`GroupCoordinator.partitionFor`).
    """
    listed = " and ".join(map(str, sorted(partitions)))
    return (
        f"Group {shortened(group_id)} has records in partitions {listed} of __consumer_offsets: partitions were added"
        " to it, and the group began anew in another one. Two histories of a group are not mixed, so it is not audited:"
        " give a copy of one of these partitions to audit it."
    )


def two_partition_counts(added: Collection[int]) -> str:
    """The sentence about partitions of the log that were not there before."""
    listed = ", ".join(map(str, sorted(added)))
    return (
        f"Partitions were added to __consumer_offsets since the last ingest: {listed}. Kafka looks for a group in a"
        " partition that follows from their number, so groups begin again elsewhere."
    )


def require_known(wanted: Collection[str], known: Collection[str]) -> None:
    """Raises UnknownGroup for the first wanted group that is not known."""
    for group_id in wanted:
        if group_id not in known:
            raise UnknownGroup(group_id, known)
