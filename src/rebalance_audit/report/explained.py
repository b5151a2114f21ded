"""What `explain` says of a group, for Python programs, notebooks, agents, tickets and chats."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import Final, NamedTuple

from rebalance_audit.errors import BadRequest
from rebalance_audit.figures.rows import TableRow, Tables
from rebalance_audit.report.explanation import Explanation, epoch_at, explain_epoch, explain_group
from rebalance_audit.report.names import MemberNames
from rebalance_audit.sentences import words
from rebalance_audit.visible import visible


class ExplainedSection(NamedTuple):
    """One question and the sentences that answer it."""

    title: str
    sentences: list[str]


@dataclass(frozen=True, repr=False)
class Explained:
    """Sentences about a group or about one of its epochs; members have the names under which operators know them."""

    heading: str
    sections: list[ExplainedSection]
    """The first one is the answer; the others have the details."""

    def __str__(self) -> str:
        lines = [self.heading]
        for place, section in enumerate(self.sections):
            lines += ["", section.title] if place else []
            lines += (f"  {sentence}" for sentence in section.sentences)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The sections as HTML, which notebooks show."""
        parts = [f"<p><strong>{escape(self.heading)}</strong></p>"]
        for place, section in enumerate(self.sections):
            parts += [f"<h4>{escape(section.title)}</h4>"] if place else []
            entries = (f"<li>{escape(sentence)}</li>" for sentence in section.sentences)
            parts.append(f"<ul>{''.join(entries)}</ul>")
        return "".join(parts)


def explained(
    own: Tables,
    group_id: str,
    epoch: int | None,
    at_ms: int | None,
    log_end_ms: int | None,
    *,
    has_broker_log: bool = False,
) -> Explained:
    """About the group whose rows `own` holds: as a whole, one epoch by its number, or the epoch of a time (epoch ms).

    `log_end_ms`: when the log ends (epoch ms), if that is known. `has_broker_log`: brokers' logs were read.

    Raises BadRequest for an epoch that the group does not have, for a time before its first one or after the end of
    the log, and where both are given.
    """
    if epoch is not None and at_ms is not None:
        raise BadRequest("Give epoch or at, not both.")
    if at_ms is not None and log_end_ms is not None and at_ms > log_end_ms:
        raise BadRequest(
            f"The log ends at {words.utc(log_end_ms)}, before {words.utc(at_ms)}: what happened then is not in it."
        )
    if not own["epochs"]:
        raise BadRequest(f"The log has no epoch of {group_id!r}, so it cannot be explained.")
    found = explanation_of(own, epoch, at_ms, log_end_ms, has_broker_log=has_broker_log)
    names = MemberNames(own["members"])

    said = with_names(found, lambda sentence: visible(names.in_sentence(group_id, sentence)))
    if log_end_ms is None:
        return said
    return replace(said, heading=f"{said.heading} Log ends at {words.utc(log_end_ms)}.")


def with_names(explanation: Explanation, shown: Callable[[str], str]) -> Explained:
    """Its sentences as `shown` makes them of those with member ids."""
    sections = [
        ExplainedSection(section.title, list(map(shown, section.sentences)))
        for section in explanation.sections
    ]
    return Explained(shown(explanation.heading), sections)


def explanation_of(
    own: Tables,
    epoch: int | None,
    at_ms: int | None,
    end_ms: int | None,
    incarnation: int | None = None,
    *,
    has_broker_log: bool,
) -> Explanation:
    """As `explained`, with whole member ids; `incarnation`: the life of the group id that the epoch's number is of."""
    if at_ms is not None:
        found = epoch_of_moment(own, at_ms)
    elif epoch is not None:
        found = epoch_of_number(own, epoch, incarnation)
    else:
        return explain_group(own, end_ms, has_broker_log=has_broker_log)
    return explain_epoch(own, found, end_ms, at_ms, has_broker_log=has_broker_log)


def epoch_of_moment(own: Tables, at_ms: int) -> TableRow:
    """The epoch of a moment in epoch milliseconds; `own` has one group's rows. Raises BadRequest before the first."""
    epoch = epoch_at(own, at_ms)
    if epoch is None:
        began = words.moment(min(row["started_at"] or row["converged_at"] for row in own["epochs"]))
        raise BadRequest(f"the log's first epoch of this group began at {began} UTC.")
    return epoch


def epoch_of_number(own: Tables, number: int, incarnation: int | None = None) -> TableRow:
    """The epoch or generation of that number, of the last incarnation that has one unless given.

    Raises BadRequest where there is none.
    """
    epochs = [row for row in own["epochs"] if incarnation in (None, row["incarnation"])]
    if not epochs:
        last = max(row["incarnation"] for row in own["epochs"])
        raise BadRequest(f"no incarnation {incarnation}; the last of this group is {last}.")
    found = [row for row in epochs if row["epoch"] == number]
    if not found:
        numbers = sorted({row["epoch"] for row in epochs})
        raise BadRequest(
            f"no epoch {number}; this group has {len(numbers)}, from {numbers[0]} to {numbers[-1]}."
        )
    return max(found, key=lambda row: row["incarnation"])


_SIGNS: Final = re.compile(
    r"""
    (?P<markup> [\\`*_{}\[\]<>|~$] | \#(?!\d) )       # of Markdown, of HTML in it, of a formula
    | (?P<entity> & | :(?=//) | (?i:(?<=\bwww)\.) )  # what readers make a character or a link of
    | (?P<mention> (?<!\w)@(?=\w) | \#(?=\d) )        # what they make a person or a ticket of
    """,
    re.VERBOSE,
)
_NO_WIDTH: Final = "&#8203;"
_OF_A_LIST: Final = re.compile(r"([-+]|\d+[.)])(?=\s|$)")
_BLANKS: Final = re.compile(r" +")


def markdown_of(
    explanation: Explanation, group_id: str, names: MemberNames, log_end_ms: int | None = None
) -> str:
    """The sentences that `explain` prints, under headings; what stands in a name is text and nothing else.

    `log_end_ms`: when the log ends (epoch ms), if that is known.
    """

    def written(sentence: str) -> str:
        return literal(names.in_sentence(group_id, sentence))

    lines = [f"**{written(explanation.heading)}**"]
    for place, section in enumerate(explanation.sections):
        # The answer stands right below the heading, as on a terminal.
        lines += ["", f"### {literal(section.title)}"] if place else []
        lines += ["", *(f"- {written(sentence)}" for sentence in section.sentences)]
    if log_end_ms is not None:
        lines += ["", f"Log ends at {words.utc(log_end_ms)}."]
    return "\n".join(lines) + "\n"


def literal(text: str) -> str:
    """A text of one line that Markdown shows as it is; control characters are escaped first."""
    text = visible(text)
    written = _SIGNS.sub(_escaped, text)
    if found := _OF_A_LIST.match(text):
        return f"{written[: found.end() - 1]}\\{written[found.end() - 1 :]}"
    if found := _BLANKS.match(text):
        return "&#32;" * found.end() + written[found.end() :]
    return written


def _escaped(sign: re.Match[str]) -> str:
    match sign.lastgroup:
        case "markup":
            return f"\\{sign[0]}"
        case "entity":
            return f"&#{ord(sign[0])};"
        case _:
            return ("\\#" if sign[0] == "#" else "@") + _NO_WIDTH
