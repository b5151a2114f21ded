"""Findings of one kind that follow each other closely are one finding with a count."""

from collections.abc import Callable
from dataclasses import dataclass, field

from rebalance_audit import limits
from rebalance_audit.audit.findings.finding import EVIDENCE_LIMIT, MEMBERS_LIMIT, Finding, Severity
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.replay.changes import Position
from rebalance_audit.sentences.reason import CodedReason, because

SERIES_MAX = limits.SERIES.most
"""Series kept at once; beyond that the one quiet for longest is reported, to bound memory."""
_RANKS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}


@dataclass(slots=True)
class _Series:
    """What is kept of a finding and those like it. The worst one gives the sentence."""

    kind: str
    subject: str
    severity: Severity
    began: Position
    """The earliest beginning."""
    last_ms: int
    """The latest end."""
    lasts: bool
    """Whether one of them still lasts."""
    longest_ms: int
    reasons: tuple[CodedReason, ...]
    advice: CodedReason
    times: int = 1
    members: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)

    def finding(self) -> Finding:
        """All of them as one."""
        reasons = self.reasons
        if self.times > 1:
            code = "latest_of" if self.lasts else "worst_of"
            reasons = (*reasons, because(code, times=self.times))
        return Finding(
            self.kind,
            self.severity,
            self.began,
            None if self.lasts else self.last_ms,
            reasons,
            self.advice,
            self.evidence,
            self.members,
            self.topics,
            self.subject,
        )


class Repeats:
    """Holds back findings until none like it can follow. Findings are alike by kind and by what separates cases."""

    _series: dict[str, _Series]
    """Kind and what separates cases -> series."""

    def __init__(self, report: Callable[[Finding], None], pause_ms: int) -> None:
        self._report = report
        self._pause_ms = pause_ms
        self._series = {}

    def add(self, finding: Finding, alike: str) -> None:
        """One more finding, in the order in which they end; `alike` is the same for those that are one."""
        key = f"{finding.kind}/{alike}"
        series = self._series.pop(key, None)
        began_ms = finding.began.record_timestamp_ms
        if series is not None and began_ms - series.last_ms > self._pause_ms:
            self._report(series.finding())
            series = None
        if series is None:
            series = _begin(finding)
            if len(self._series) >= SERIES_MAX:
                self._report(self._series.pop(next(iter(self._series))).finding())
        else:
            _go_on(series, finding)
        self._series[key] = series

    def close(self) -> None:
        """Report all that is held back: the group's life or the log ends."""
        for series in self._series.values():
            self._report(series.finding())
        self._series.clear()


def _begin(finding: Finding) -> _Series:
    began_ms = finding.began.record_timestamp_ms
    ended_ms = began_ms if finding.ended_ms is None else max(began_ms, finding.ended_ms)
    return _Series(
        finding.kind,
        finding.subject,
        finding.severity,
        finding.began,
        ended_ms,
        finding.ended_ms is None,
        ended_ms - began_ms,
        tuple(finding.reasons),
        finding.advice,
        members=list(finding.member_ids[:MEMBERS_LIMIT]),
        topics=list(finding.topics),
        evidence=list(finding.evidence[:EVIDENCE_LIMIT]),
    )


def _go_on(series: _Series, finding: Finding) -> None:
    """Add one: what still lasts says most, then what is more severe, then what lasted longer."""
    new = _begin(finding)
    series.times += 1
    series.last_ms = max(series.last_ms, new.last_ms)
    series.began = min(series.began, new.began, key=lambda began: began.log_offset)
    rank, new_rank = (
        (each.lasts, _RANKS[each.severity], each.longest_ms) for each in (series, new)
    )
    is_worse = new_rank > rank
    first, second = (new, series) if is_worse else (series, new)
    members = list(dict.fromkeys((*first.members, *second.members)))[:MEMBERS_LIMIT]
    half = EVIDENCE_LIMIT // 2
    if len(series.evidence) + len(new.evidence) > EVIDENCE_LIMIT:
        series.evidence = [*series.evidence[:half], *new.evidence[-half:]]
    else:
        series.evidence += new.evidence
    series.topics = sorted({*series.topics, *new.topics})[:MEMBERS_LIMIT]
    series.lasts |= new.lasts
    series.members = members
    series.severity = max(series.severity, new.severity, key=_RANKS.__getitem__)
    if is_worse:
        series.longest_ms, series.reasons = new.longest_ms, new.reasons
