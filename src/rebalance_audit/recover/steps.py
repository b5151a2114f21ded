"""What to do, in order: sentences, and the commands of Kafka's own tools."""

import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

from rebalance_audit.recover.plan import RecoveryPlan, file_name
from rebalance_audit.recover.reset_file import ResetFile
from rebalance_audit.visible import visible
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC


def shell_word(text: str) -> str:
    r"""`text` as one word: `a`, `'a b'`, or `$'a\nb'` where a terminal would not show it as it is."""
    if visible(text) == text:
        return shlex.quote(text)
    return f"$'{''.join(map(_written, text))}'"


def _written(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if " " <= char <= "~":
        return char
    number = ord(char)
    # Of \x, bash takes two digits at most, of \u four: what follows cannot join them.
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


TOOL: Final = 'kafka-consumer-groups.sh --bootstrap-server "$BOOTSTRAP"'
DRY_RUN: Final = "dry-run"
EXECUTE: Final = "execute"
COMPARE: Final = "compare"


class RecoveryStep(NamedTuple):
    """One step."""

    name: str
    title: str
    sentences: tuple[str, ...]
    commands: tuple[str, ...] = ()
    changes_cluster: bool = False
    """Whether its commands write."""


_ANOTHER_COPY: Final = (
    "Another replica may be intact: run `rebalance-audit verify` on a copy of its folder. If it loads, stop the"
    " broker with the damaged copy; an in-sync replica takes over and loads its own. Then remove {folders} from"
    " the stopped broker and start it again: it fetches the partition from the new leader."
)
_LATER_RELEASE: Final = (
    "A later release may load it: `rebalance-audit verify SEGMENTS --as RELEASE`. If one does, upgrade the brokers that"
    " host the partition, and stop here."
)
_STOP_CLIENTS: Final = (
    "They keep retrying. As soon as the partition is back and empty, they join and start from `auto.offset.reset`:"
    " at the end of their topics, by default."
)
_NO_TOOL: Final = (
    f"No Kafka tool can remove a single record from {OFFSETS_TOPIC}: `kafka-delete-records.sh` refuses internal topics,"
    " and deleting the topic deletes the offsets of all groups."
)
_MOVE_FOLDERS: Final = (
    "Stop all brokers with a replica of {partitions}, move {folders} out of the log directory of each, keep the"
    " folders, and start the brokers again. That empties {partitions}: the groups are gone."
)
_WANTED_EMPTY: Final = (
    "None of the groups below should be listed, unless its state is Empty. `--reset-offsets` skips a group that has"
    " members: it prints an error, continues with the next, and exits with 0."
)
_WHAT_IT_MOVES: Final = (
    "An offset outside its partition's range is moved to the start or end, with only a warning: compare"
    " NEW-OFFSET with the file. A topic that does not exist fails the whole command: remove its lines."
)
_NOISE: Final = (
    "If a file has several groups, the tool prints `InvalidFormatException` and a stack trace for each: it tries the"
    " format for one group first. That is not a failure; a line that starts with `Error:` is."
)


def steps_of(plan: RecoveryPlan) -> Iterator[RecoveryStep]:
    """All steps of a plan."""
    log_partitions = [each.account.log_partition for each in plan.partitions]
    numbers = ", ".join(map(str, log_partitions))
    partitions = f"partition{'s' * (len(log_partitions) != 1)} {numbers}"
    folders = ", ".join(f"`{OFFSETS_TOPIC}-{number}`" for number in log_partitions)
    yield RecoveryStep(
        "another-copy",
        "Look for a way to lose nothing",
        (_ANOTHER_COPY.format(folders=folders), _LATER_RELEASE),
    )
    yield RecoveryStep("stop-clients", "Stop the clients of all groups below", (_STOP_CLIENTS,))
    yield RecoveryStep(
        "clear-partition",
        "Clear the damaged partition",
        (_NO_TOOL, _MOVE_FOLDERS.format(partitions=partitions, folders=folders)),
    )
    if not plan.files:
        return
    yield RecoveryStep(
        "check-empty",
        "Check that the groups have no members",
        (_WANTED_EMPTY,),
        (f"{TOOL} --list --state",),
    )
    noise = [_NOISE] if any(len(file.group_ids) > 1 for file in plan.files) else []
    yield RecoveryStep(
        DRY_RUN,
        "Check what would be set",
        (_WHAT_IT_MOVES, *noise),
        tuple(_resets(plan, "--dry-run")),
    )
    yield RecoveryStep(
        EXECUTE, "Set the offsets", (), tuple(_resets(plan, "--execute")), changes_cluster=True
    )
    yield RecoveryStep(
        COMPARE,
        "Compare CURRENT-OFFSET with the files",
        ("Start the clients once they match.",),
        tuple(f"{TOOL} --describe{_groups(file)}" for file in plan.files),
    )


def _resets(plan: RecoveryPlan, mode: str) -> Iterator[str]:
    for place, file in enumerate(plan.files):
        yield f"{TOOL} --reset-offsets --from-file {file_name(place)}{_groups(file)} {mode}"


def _groups(file: ResetFile) -> str:
    return "".join(f" --group {shell_word(group_id)}" for group_id in file.group_ids)
