"""Which members are one deployment, as far as records show: they have no more than names.

Processes of one deployment have client ids (static members: instance ids) that are alike up to their own number or
hash: `orders-app-7d9f8b6c5d-x2x4z`, `consumer-orders-3`.
"""

import re

from rebalance_audit.audit.members.stint import Identity
from rebalance_audit.audit.rows import Row

_PARTS = re.compile(r"([-_.:/@ ]+)")
_DIGIT = re.compile(r"\d")
_HASH = re.compile(r"[0-9a-f]{8,}")


def deployment_of(identity: Identity) -> str:
    """The name of the member's deployment; members without names of their own are one deployment."""
    return common_name(identity.instance_id or identity.client_id)


def deployment_of_row(row: Row) -> str:
    """The name of the deployment in a row of gold.members."""
    return common_name(row["instance_id"] or row["client_id"])


def common_name(name: str) -> str:
    """What a process's name shares with those of its deployment: all before the first part with a digit.

    The first part may have digits, as in `app2-consumer-1`, unless it is a hash or a number itself.
    """
    first, *rest = _PARTS.split(name)
    if first.isdigit() or _HASH.fullmatch(first):
        return ""
    common = first
    for separator, part in zip(rest[::2], rest[1::2], strict=True):
        if _DIGIT.search(part):
            break
        common += separator + part
    return common
