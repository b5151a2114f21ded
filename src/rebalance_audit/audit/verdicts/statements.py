"""What the audit says in a row: reasons and evidence as the columns that cause and finding rows share."""

from collections.abc import Sequence

from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.sentences.reason import CodedReason
from rebalance_audit.sentences.render import facts_text, reason_text


def stated(
    reasons: Sequence[CodedReason], evidence: Sequence[Evidence], advice: Sequence[CodedReason] = ()
) -> Row:
    """`reason`, `facts`, `detail` and `evidence`; and `advice`, if there is one."""
    facts = {"detail": reasons, "evidence": [item.fact for item in evidence]}
    if advice:
        facts["advice"] = advice
    row = {
        "detail": reason_text(*reasons),
        "evidence": [
            {
                "partition": item.log_partition,
                "offset": item.log_offset,
                "at": item.at_ms,
                "fact": reason_text(item.fact),
            }
            for item in evidence
        ],
        "reason": reasons[0].code if reasons else None,
        "facts": facts_text(**facts),
    }
    if advice:
        row["advice"] = reason_text(*advice)
    return row
