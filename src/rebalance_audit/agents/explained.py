"""Explanations of a group, from an audit or from a lake."""

from rebalance_audit.audit.rows import GOLD_OF_GROUP
from rebalance_audit.errors import BadRequest, require_known
from rebalance_audit.local.audit import Audit
from rebalance_audit.moment_text import moment_ms
from rebalance_audit.readers.group import group_ids, group_tables
from rebalance_audit.readers.lake_reader import LakeReader
from rebalance_audit.report.asked_epoch import epoch_of_moment, epoch_of_number
from rebalance_audit.report.explanation import Explanation, explain_epoch, explain_group
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.summary import Tables
from rebalance_audit.tables.gold_rows import GoldRows
from rebalance_audit.visible import visible


def explained(
    rows: GoldRows, group_id: str, epoch: int | None = None, at: str | None = None
) -> dict[str, object]:
    """Heading and sections of sentences, about the group as a whole, one of its epochs, or the epoch of a moment.

    Raises UnknownGroup, LakeNotReadable, also for a lake of several clusters of which none was chosen, and BadRequest
    for an epoch that the group does not have.
    """
    own = _rows_of_group(rows, group_id)
    if not own["epochs"]:
        raise BadRequest(f"The log has no epoch of {group_id!r}, so there is nothing to explain.")
    found = _explanation(own, epoch, at)
    names = MemberNames(own["members"])
    return {
        "heading": visible(names.in_sentence(group_id, found.heading)),
        "sections": [
            {
                "title": section.title,
                "sentences": [
                    visible(names.in_sentence(group_id, each)) for each in section.sentences
                ],
            }
            for section in found.sections
        ],
    }


def _explanation(own: Tables, epoch: int | None, at: str | None) -> Explanation:
    at_ms = moment_ms(at)
    if at_ms is not None:
        return explain_epoch(own, epoch_of_moment(own, at_ms), at_ms)
    return explain_group(own) if epoch is None else explain_epoch(own, epoch_of_number(own, epoch))


def _rows_of_group(rows: GoldRows, group_id: str) -> Tables:
    if isinstance(rows, LakeReader):
        cluster = rows.one_cluster()
        require_known([group_id], group_ids(rows.path, cluster))
        return group_tables(rows.path, cluster, group_id)
    assert isinstance(rows, Audit)
    require_known([group_id], rows.group_ids)
    return {
        name: [row for row in rows.tables[name] if row["group_id"] == group_id]
        for name in GOLD_OF_GROUP
    }
