"""Which client libraries the members of a group have, as far as its records tell."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rebalance_audit.audit.commits.libraries import (
    ClientLibrary,
    library_of_member_id,
    library_of_subscription,
)
from rebalance_audit.replay.classic.group import ClassicMember


class MemberLibrary(NamedTuple):
    """The library of a member."""

    library: ClientLibrary
    is_shown: bool
    """By its own records; else it is that of its fellows, as the members of a group are mostly one application."""


def libraries_of(
    member_ids: Iterable[str], classic: Mapping[str, ClassicMember]
) -> Mapping[str, MemberLibrary]:
    """The library of each member; `classic`: members of the classic protocol, with what they said of themselves."""
    shown = {
        member_id: library_of_subscription(classic[member_id].subscription)
        if member_id in classic
        else library_of_member_id(member_id)
        for member_id in member_ids
    }
    known = {library for library in shown.values() if library is not ClientLibrary.UNKNOWN}
    shared = known.pop() if len(known) == 1 else ClientLibrary.UNKNOWN
    return {
        member_id: MemberLibrary(shared, False)
        if library is ClientLibrary.UNKNOWN
        else MemberLibrary(library, True)
        for member_id, library in shown.items()
    }
