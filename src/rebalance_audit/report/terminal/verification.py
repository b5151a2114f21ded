"""What `verify` found, for people: the answer first, then each partition with problems, then the shape of all."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console

from rebalance_audit.report.terminal.layout import ConsoleReport, cell
from rebalance_audit.sentences import words
from rebalance_audit.verify.loading import GroupAtEnd, Loading, Notice, Verification
from rebalance_audit.verify.shape import load_time_of
from rebalance_audit.visible import shortened

GROUPS_SHOWN: Final = 10
NOTICES_SHOWN: Final = 5
PARTITIONS_SHOWN: Final = 60
_TO_THE_MINUTE: Final = len("2026-11-21 09:12")
_SOURCE_ONLY: Final = (
    "No broker of this release was tested: the rules come from its source code only."
)


def print_verification(console: Console, found: Verification) -> None:
    """All of it."""
    layout = ConsoleReport(console)
    for sentence in load_answers(found):
        layout.line(cell(sentence, "bold"))
    if found.unknown:
        layout.paragraph(f"Unknown from this source: {', '.join(found.unknown)}.", indent=0)
    if not found.is_tested:
        layout.paragraph(_SOURCE_ONLY, indent=0)
    for loading in found.partitions:
        if loading.has_findings or loading.groups:
            layout.title(f"Partition {loading.log_partition}")
            for sentence in _partition(loading):
                layout.paragraph(sentence, indent=2)
    _shapes(layout, found.partitions)


def load_answers(found: Verification) -> Iterator[str]:
    """A sentence for each partition that would not load, and one for those that would."""
    kafka = f"Kafka {found.coordinator}"
    wrong = [loading for loading in found.partitions if loading.outcome != "loads"]
    sound = len(found.partitions) - len(wrong)
    left_out = _left_out([loading for loading in found.partitions if loading.outcome == "loads"])
    if not wrong:
        yield f"{words.counted(sound, 'partition')} would load on {kafka}{left_out}."
    for loading in wrong:
        yield f"Partition {loading.log_partition} {_verdict(loading, kafka)}"
    if wrong and sound:
        yield f"{words.counted(sound, 'other partition')} would load{left_out}."


def _left_out(loadings: Sequence[Loading]) -> str:
    skipped = sum(loading.skipped_count for loading in loadings)
    hidden = sum(end.hidden_bytes for loading in loadings for end in loading.log_ends)
    what = [f"{words.counted(skipped, 'record')} skipped"] * bool(skipped)
    what += [f"{words.size(hidden)} never read"] * bool(hidden)
    return f", with {' and '.join(what)}" if what else ""


def _verdict(loading: Loading, kafka: str) -> str:
    if loading.failure is None:
        return f"may not load on {kafka}: it is damaged, and what the loader would read there is unknown."
    at = loading.failed_at_offset
    where = "" if at is None else f" at offset {at:,}"
    lost = words.counted(len(loading.lost_groups), "group")
    if loading.serves_nothing:
        return (
            f"would not load on {kafka}: it fails{where}, and is then served as if it were empty,"
            f" which loses {lost}."
        )
    return f"would not load on {kafka}: it fails{where} and takes {lost} with it."


def _partition(loading: Loading) -> Iterator[str]:
    if loading.failure is not None:
        rule, case = loading.failure.applied
        yield f"{rule.sentence} ({rule.rule_id}; {case.source})"
        yield _noticed(loading.failure)
    crash = loading.after_crash
    if crash is not None:
        cut = sum(end.hidden_bytes for end in crash.log_ends)
        of_cut = f"; recovery truncates the log by {words.size(cut)} first" if cut else ""
        ending = "" if crash.failed_at_offset is None else f" at offset {crash.failed_at_offset}"
        yield f"After a crash instead of a clean shutdown: {crash.outcome}{ending}{of_cut}."
    for end in loading.log_ends:
        yield f"{words.size(end.hidden_bytes)} at the end of a segment is never read: what it holds is lost."
    for damage in loading.damage[:NOTICES_SHOWN]:
        yield f"Damaged: {damage.detail}"
    yield from _notices("skipped", loading.skipped_count, loading.skipped)
    yield from _notices("applied, with a loss", loading.tolerated_count, loading.tolerated)
    for open_one in loading.open_transactions[:NOTICES_SHOWN]:
        commits = words.counted(open_one.commit_count, "commit")
        groups = ", ".join(map(shortened, open_one.group_ids)) or "no group"
        yield (
            f"Open transaction of producer {open_one.producer_id} since offset {open_one.first_offset},"
            f" {words.utc(open_one.started_ms)}: {commits} of {groups}"
        )
    if loading.lost_groups:
        is_loaded = loading.outcome == "loads"
        lost = "Lost except for their committed offsets" if is_loaded else "Lost"
        yield from _groups(lost, loading.lost_groups)
    elif loading.groups:
        yield from _groups("Groups", loading.groups)


def _notices(what: str, count: int, first: Sequence[Notice]) -> Iterator[str]:
    if not count:
        return
    yield f"{words.counted(count, 'record')} {what}:"
    rules = {notice.rule_id: notice.applied.rule for notice in first}
    for rule in rules.values():
        loses = f" Lost: {rule.loses}" if rule.loses else ""
        yield f"{rule.sentence} ({rule.rule_id}){loses}"
    for notice in first[:NOTICES_SHOWN]:
        yield _noticed(notice)
    if count > NOTICES_SHOWN:
        yield f"  and {count - NOTICES_SHOWN:,} more; --json lists them."


def _noticed(notice: Notice) -> str:
    at = [
        *([f"offset {notice.log_offset}"] if notice.log_offset >= 0 else ()),
        *([f"group {shortened(notice.group_id)}"] if notice.group_id is not None else ()),
    ]
    return f"  {', '.join(at)}{': ' * bool(at)}{shortened(notice.detail)}"


def _groups(title: str, groups: Sequence[GroupAtEnd]) -> Iterator[str]:
    yield f"{title}: {words.counted(len(groups), 'group')}"
    for group in groups[:GROUPS_SHOWN]:
        offsets = [
            f"{topic}-{number}={at}"
            for topic, of_topic in group.offsets.items()
            for number, at in of_topic.items()
        ]
        more = f", {len(offsets) - GROUPS_SHOWN:,} more" if len(offsets) > GROUPS_SHOWN else ""
        committed = ", ".join(map(shortened, offsets[:GROUPS_SHOWN])) or "no committed offset"
        yield (
            f"  {shortened(group.group_id)} ({group.group_type}, {words.counted(group.member_count, 'member')}):"
            f" {committed}{more}"
        )
    if len(groups) > GROUPS_SHOWN:
        yield f"  and {len(groups) - GROUPS_SHOWN:,} more; --json lists them."


def _shapes(layout: ConsoleReport, loadings: Sequence[Loading]) -> None:
    numbers = ("Partition", "Records", "Size", "Keys", "Dead", "Older", "Groups", "Load")
    table = layout.table(*numbers, "Span", "Last record", right=numbers)
    filled = [each for each in loadings if each.shape.record_count]
    if not filled:
        return
    for loading in filled[:PARTITIONS_SHOWN]:
        shape = loading.shape
        first_ms, last_ms = shape.first_ms, shape.last_ms
        table.add_row(
            str(loading.log_partition),
            f"{shape.record_count:,}",
            words.size(shape.size_bytes),
            words.number(shape.key_count),
            words.number(shape.dead_key_count),
            words.number(shape.superseded_count),
            f"{shape.group_count:,}",
            load_time_of(shape, loading.coordinator).text,
            words.duration(None if first_ms is None or last_ms is None else last_ms - first_ms),
            words.moment(last_ms)[:_TO_THE_MINUTE],
        )
    layout.title("Shape")
    layout.print_table(table)
    layout.line(
        "Dead: keys whose last record is a tombstone. Older: records with a later one for the same key."
    )
    if len(filled) > PARTITIONS_SHOWN:
        layout.line(f"and {len(filled) - PARTITIONS_SHOWN:,} more; --json lists them.")
