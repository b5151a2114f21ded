"""The figures of a comparison, for terminals, programs and docs/accuracy.md."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from workshop.accuracy import captured, end_tables, findings, predictions, reliability, simulated
from workshop.accuracy.tally import Tally, measures, share

SOURCES: Final = (
    simulated.WHOLE,
    simulated.ORDINARY,
    simulated.WITH_BROKER_LOG,
    simulated.COMPACTED,
    simulated.APPEND_TIME,
    captured.RECORDS,
    captured.WITH_BROKER_LOG,
    captured.COMPACTED,
)
FROM_SEEDS: Final = frozenset({simulated.WHOLE, simulated.ORDINARY, simulated.APPEND_TIME})
"""Sources with one log per seed."""
CERTAINTIES: Final = ("proven", "probable", "possible")
HEARTBEAT_MS: Final = 5_000

Row = tuple[str, ...]
Table = list[Row]


def proven_and_wrong(tally: Tally) -> int:
    """Causes that were called proven and are not true, anywhere."""
    return sum(
        times
        for what, times in tally.counts.items()
        if what[0] == "claim" and what[-2:] == ("proven", "wrong")
    )


def epochs_table(tally: Tally) -> Table:
    """How often the primary cause was right, and the true cause named, per source and protocol."""
    rows: Table = [
        (
            *("source", "protocol", "epochs", "primary right", "of these undecided"),
            "primary beside",
            *("named", "proven and right", "proven and wrong", "proven and beside", "marked gap"),
        )
    ]
    for source in SOURCES:
        for protocol in tally.next_names("epochs", source):
            complete = tally.get("epochs", source, protocol, "complete")
            right = {
                what: tally.get("right", source, protocol, "complete", what)
                for what in ("primary", "exact", "beside", "named", "proven")
            }
            wrong, beside = (
                sum(
                    tally.get("claim", source, protocol, cause, "proven", kind)
                    for cause in tally.next_names("claim", source, protocol)
                )
                for kind in ("wrong", "beside")
            )
            rows.append(
                (
                    source,
                    protocol,
                    str(complete),
                    share(right["primary"], complete),
                    share(right["primary"] - right["exact"], complete),
                    share(right["beside"], complete),
                    share(right["named"], complete),
                    share(right["proven"], complete),
                    str(wrong),
                    str(beside),
                    str(tally.get("epochs", source, protocol, "gap")),
                )
            )
    return rows


def causes_table(tally: Tally, source: str) -> Table:
    """Per true cause: how the audit's causes stood to it."""
    kinds = ("happened", "primary", "undecided", "also", "alternative", "missed")
    rows: Table = [("protocol", "cause", *kinds)]
    for protocol in tally.next_names("cause", source):
        for cause in tally.next_names("cause", source, protocol):
            counted = (str(tally.get("cause", source, protocol, cause, kind)) for kind in kinds)
            rows.append((protocol, cause, *counted))
    return rows


def claims_table(tally: Tally, source: str) -> Table:
    """Per cause that was wrongly claimed: how often it was claimed, and how often wrongly."""
    rows: Table = [("protocol", "cause", *CERTAINTIES)]
    for protocol in tally.next_names("claim", source):
        for cause in tally.next_names("claim", source, protocol):
            cells = []
            for certainty in CERTAINTIES:
                made = tally.get("claim", source, protocol, cause, certainty, "made")
                said = {
                    kind: tally.get("claim", source, protocol, cause, certainty, kind)
                    for kind in ("wrong", "beside")
                }
                also = ", ".join(f"{times} {kind}" for kind, times in said.items() if times)
                cells.append(f"{made} ({also})" if also else str(made) if made else "")
            if any("(" in cell for cell in cells):
                rows.append((protocol, cause, *cells))
    return rows


def times_table(tally: Tally) -> Table:
    """Per measure: values that equal the truth, and the rest."""
    rows: Table = [("source", "protocol", "time", "compared", "equal", "worst ms", "not found")]
    for source in SOURCES:
        for measure, errors in measures(tally, source):
            if measure.protocol == "client":
                continue
            lost = errors.missing + errors.invented
            rows.append(
                (
                    source,
                    measure.protocol,
                    measure.name,
                    str(errors.compared),
                    share(errors.equal, errors.compared),
                    str(errors.worst_ms()),
                    str(lost),
                )
            )
    return rows


def sweeps_table(tally: Tally) -> Table:
    """Per kind of damage: what was proven of damaged logs, what of it the whole logs do not have, what was marked."""
    rows: Table = [
        (
            "damage",
            "trials",
            "proven",
            "not in the whole log",
            "hidden, not marked",
            "epochs marked",
            "intervals off",
            "epochs off",
            "below 0",
        )
    ]
    counts = ("trials", "proven", "new", "unmarked", "marked", "interval", "epoch", "negative")
    for kind in tally.next_names("sweep"):
        counted = (str(tally.get("sweep", kind, what)) for what in counts)
        rows.append((kind, *counted))
    return rows


def intervals_table(tally: Tally) -> Table:
    """What is no single time: bounds of the join phase, ownership, ends of members."""
    rows: Table = [("source", "what", "right", "wrong", "open")]
    for source in SOURCES:
        held, missed = (
            tally.get("bounds", source, f"{kind} the truth") for kind in ("hold", "miss")
        )
        if held or missed:
            none = tally.get("bounds", source, "not given")
            name = "bounds of the join phase"
            rows.append((source, name, str(held), str(missed), f"{none} not given"))
        equal = tally.get("ownership", source, "equal")
        if equal:
            off = tally.get("ownership", source, "missing")
            off += tally.get("ownership", source, "invented")
            rows.append((source, "intervals of ownership", str(equal), str(off), ""))
        ends = {name: tally.get("members", source, name) for name in _ends(tally, source)}
        if ends:
            wrong = sum(times for name, times in ends.items() if name.startswith("wrong"))
            undecided = f"{ends.get('undecided', 0)} undecided"
            name = "ends of members"
            rows.append((source, name, str(ends.get("equal", 0)), str(wrong), undecided))
    return rows


def estimates_table(tally: Tally) -> Table:
    """How near the estimates of long classic rebalances are."""
    rows: Table = [("source", "generations", "near", "share")]
    for source in SOURCES:
        near, far = (tally.get("estimates", source, name) for name in ("near", "far"))
        if near or far:
            rows.append((source, str(near + far), str(near), f"{100 * near / (near + far):.0f} %"))
    return rows


def _ends(tally: Tally, source: str) -> list[str]:
    return tally.next_names("members", source)


def client_sentence(tally: Tally) -> str:
    """How long after the record clients began to use what they had got."""
    parts = []
    for measure, errors in measures(tally, simulated.WHOLE):
        if measure.protocol == "client":
            near = errors.within(HEARTBEAT_MS)
            parts.append(
                f"{share(near, errors.compared)} of {errors.compared} times within a heartbeat interval "
                f"({HEARTBEAT_MS} ms)"
            )
    return "; ".join(parts)


def _plain(table: Table) -> Iterator[str]:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _markdown(table: Table) -> Iterator[str]:
    head, *rows = table
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def sections(tally: Tally) -> Sequence[tuple[str, str, Table]]:
    """Title, explanation and table of everything."""
    return (
        (
            "Causes",
            (
                "*Primary right*: the first cause is one of the true ones. *Undecided*: it is `member_departed`, which "
                "by its definition leaves open whether the member left or expired, and one of the two is true. "
                "*Beside*: it happened in the epoch or its join phase, but something else began that; a classic "
                "group's records do not distinguish the two. *Named*: the cause that began it is the first, or among "
                "the others or the alternatives."
            ),
            epochs_table(tally),
        ),
        (
            "Times",
            (
                "Against the truth by the coordinator's clock; *not found*: only one of the two has the time. With "
                "LogAppendTime, records carry the time of the append, which is late by up to the linger. Not listed: "
                "times that are always equal."
            ),
            _differing(times_table(tally)),
        ),
        (
            "Intervals",
            "Ownership by the coordinator's clock, to the millisecond at both ends; bounds hold the truth or miss it.",
            intervals_table(tally),
        ),
        (
            "Estimates of classic rebalances",
            (
                "Generations that took two seconds or more, from the begin of the join phase to their record. No "
                "record says when a join phase began; commits, sessions and timeouts suggest it. *Near*: within 25 % "
                "or one second."
            ),
            estimates_table(tally),
        ),
        (
            f"Ends of members ({simulated.WHOLE})",
            (
                "By whether the member ever committed, by its library and what makes it commit, and by how much there "
                "had to commit. *Undecided*: member departed. A removal by an administrator is a leave in a member's "
                "name; for dynamic members only commits can separate the two, and often do not."
            ),
            end_tables.ends_table(tally, simulated.WHOLE),
        ),
        (
            "Ends of members by how much happens",
            (
                f"Members that committed at least once. *{simulated.WHOLE}*: clusters in which something happens all "
                "the time, so that most ends fall into a join phase that something else began, on a network that "
                f"loses, doubles and delays messages; *{simulated.ORDINARY}*: the same mixture on a sound network, a "
                f"fault every {24 * 60 // simulated.ORDINARY_FAULTS} minutes in each group. A deploy counts as one, "
                "and ends all members of its group, one after another."
            ),
            end_tables.densities_table(tally),
        ),
        (
            f"Ends of members ({simulated.ORDINARY})",
            f"As above, of the {simulated.ORDINARY.removeprefix('simulated, ')}.",
            end_tables.ends_table(tally, simulated.ORDINARY),
        ),
        (
            "How members of each client ended",
            (
                "Logs of real clients, a group each, against what the brokers logged, and simulated clusters on which "
                "nothing was fitted, whose clients commit as measured ones do. *Undecided*: no end is likelier than "
                "0.95, so it is `member_departed`. *Named right*: how often *probable* was right. The simulated "
                "clusters have far more faults than real ones; leaves that the network lost count as leaves."
            ),
            reliability.clients_table(tally),
        ),
        (
            "How much a probability is worth",
            "The same ends by the probability of the likeliest one; see [departures.md](departures.md).",
            reliability.reliability_table(tally),
        ),
        (
            "Departures in the captures",
            (
                "Members that are gone, by the records alone, against what the brokers logged of them; by whether a "
                "commit is among the evidence."
            ),
            end_tables.departures_table(tally),
        ),
        (
            "Sweeps",
            (
                "The captures and simulated logs, each damaged at places all over it: a write lost, a hole of eight "
                "writes, all before the place cleaned, with and without its tombstones, times that fall together, "
                "requests that change places within a millisecond, a clock 5 s behind or ahead after a fail-over. "
                "Counted: causes called proven that the whole log does not have for that epoch, with any certainty; "
                "*hidden*: epochs that name none of the causes that the whole log proves, and are not marked; epochs "
                "marked because records before them may be missing; intervals of ownership and epochs that are not "
                "marked and have a duration that differs from the one in the whole log; durations "
                "below 0, in any table. *none*: the same logs, undamaged."
            ),
            sweeps_table(tally),
        ),
        (
            f"Each true cause ({simulated.WHOLE})",
            (
                "*also*: a cause of the epoch, not the first; *alternative*: named as one; *missed*: neither. An epoch "
                "may have several true causes."
            ),
            causes_table(tally, simulated.WHOLE),
        ),
        (
            f"Each claim ({simulated.WHOLE})",
            "How often a cause was claimed with each certainty, and how often it was not true.",
            claims_table(tally, simulated.WHOLE),
        ),
        (
            "What would have been",
            predictions.explanation(tally),
            predictions.table(tally),
        ),
        *findings.sections(tally),
    )


def text(tally: Tally, examples: int) -> str:
    """Everything for a terminal."""
    lines: list[str] = []
    for title, explanation, table in sections(tally):
        lines += [title, explanation.replace("*", "").replace("`", ""), "", *_plain(table), ""]
    lines.append(f"Clients used what they got: {client_sentence(tally)}.")
    lines.append(f"Proven and wrong: {proven_and_wrong(tally)}")
    for kind, found in sorted(tally.examples.items()):
        if examples:
            lines += ["", kind, *(f"  {each}" for each in found[:examples])]
    return "\n".join(lines) + "\n"


def page(tally: Tally, command: str) -> str:
    """docs/accuracy.md."""
    seeds = sum(tally.get("seeds", release) for release in tally.next_names("seeds"))
    releases = ", ".join(
        f"{release} ({tally.get('seeds', release)})" for release in tally.next_names("seeds")
    )
    epochs = sum(
        times
        for what, times in tally.counts.items()
        if what[0] == "epochs" and what[1] in FROM_SEEDS
    )
    lines = [
        "# Accuracy",
        "",
        (
            f"Written by {command}: {seeds} simulated clusters with {epochs} epochs in the layouts of releases "
            f"{releases}, audited as they were written, some with the brokers' logs, some after a log "
            "cleaner; and the captures of real brokers in `tests/golden/captures`, against what those logged. "
            f"**Proven and wrong: {proven_and_wrong(tally)}.**"
        ),
        "",
        (
            "The simulator knows why every epoch began, since it caused each of them: members crash, freeze, leave, "
            "are cut off, removed, deployed and scaled; coordinators move, topics grow and vanish. No rule of the "
            "audit sees that truth."
        ),
        "",
    ]
    for title, explanation, table in sections(tally):
        lines += [f"## {title}", "", explanation, "", *_markdown(table), ""]
    lines += [
        "## At the members",
        "",
        f"How soon a client began to use a partition after the record that gave it: {client_sentence(tally)}.",
        "",
    ]
    return "\n".join(lines)


def _differing(times: Table) -> Table:
    """Without the times that are found and equal in each comparison."""
    return [row for row in times if row[-3:] != ("100 %", "0", "0")]


def as_json(tally: Tally) -> dict[str, Any]:
    """Everything counted, for programs."""
    return {
        "proven_and_wrong": proven_and_wrong(tally),
        "counts": [
            {"what": list(what), "times": tally.counts[what]} for what in sorted(tally.counts)
        ],
        "times": [
            {
                "source": measure.source,
                "protocol": measure.protocol,
                "time": measure.name,
                "equal": errors.equal,
                "off": {str(error_ms): errors.off[error_ms] for error_ms in sorted(errors.off)},
                "missing": errors.missing,
                "invented": errors.invented,
            }
            for measure, errors in sorted(tally.errors.items())
        ],
        "examples": dict(sorted(tally.examples.items())),
    }
