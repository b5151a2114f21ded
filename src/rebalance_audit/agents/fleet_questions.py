"""Whole questions about all groups, as SQL over the gold tables: the worst rebalances, and two windows compared."""

from typing import Final

from rebalance_audit.errors import BadRequest
from rebalance_audit.moment_text import moment_ms
from rebalance_audit.moments import FIRST_MS, LAST_MS

_BEGAN: Final = """
with timed as (
    select *, likely_ms as lasted_ms from figures.rebalances
    where ($group is null or group_id = $group) and ($cluster is null or cluster = $cluster)
)"""

WORST_REBALANCES: Final = f"""{_BEGAN}
select cluster, group_id, protocol, first_epoch, last_epoch,
    strftime(make_timestamp(began_ms * 1000), '%Y-%m-%dT%H:%M:%S.%gZ') as started_at, ended_at, outcome,
    primary_cause as cause, primary_certainty as certainty, duration_min_ms, duration_max_ms,
    duration_estimate_ms, lasted_ms, unowned_partition_estimate_ms, partitions_moved,
    held_up_by[1] || coalesce((
        select ' …' || right(timed.held_up_member_ids[1], 4)
        from gold.members m
        where m.cluster = timed.cluster and m.group_id = timed.group_id and m.client_id = timed.held_up_by[1]
            and m.instance_id is null
        having count(distinct m.member_id) > 1 and bool_or(m.member_id = timed.held_up_member_ids[1])
    ), '') as held_up_by,
    held_up_why[1] as held_up_why, held_up_certainty, completeness
from timed
where began_ms < $to_ms and coalesce(epoch_ms(ended_at), {LAST_MS}) >= $from_ms
order by ended_at is not null, lasted_ms desc, lasted_min_ms desc, began_ms, cluster,
    group_id, incarnation
limit $most
"""  # noqa: S608 - our own names
"""Those that go on first, then the longest, by the estimate, then by what is certain.

A client id that several members share is followed by the end of the member id, as in `report.names`.
"""

_IN_WINDOW: Final = """case
        when began_ms >= $first_from_ms and began_ms < $first_to_ms then 'first'
        when began_ms >= $second_from_ms and began_ms < $second_to_ms then 'second'
    end"""

COMPARED_GROUPS: Final = f"""{_BEGAN}, windowed as (
    select *, {_IN_WINDOW} as side from timed where {_IN_WINDOW} is not null
)
select cluster, group_id,
    count(*) filter (where side = 'first') as rebalances_first,
    count(*) filter (where side = 'second') as rebalances_second,
    coalesce(sum(lasted_ms) filter (where side = 'first'), 0)::bigint as not_stable_estimate_ms_first,
    coalesce(sum(lasted_ms) filter (where side = 'second'), 0)::bigint as not_stable_estimate_ms_second,
    mode(primary_cause order by primary_cause) filter (where side = 'first') as commonest_cause_first,
    mode(primary_cause order by primary_cause) filter (where side = 'second') as commonest_cause_second
from windowed group by cluster, group_id
order by abs(not_stable_estimate_ms_second - not_stable_estimate_ms_first) desc,
    abs(rebalances_second - rebalances_first) desc, cluster, group_id
limit $most
"""  # noqa: S608 - our own names

COMPARED_CAUSES: Final = f"""{_BEGAN}
select coalesce(primary_cause, 'unknown') as cause,
    count(*) filter (where {_IN_WINDOW} = 'first') as rebalances_first,
    count(*) filter (where {_IN_WINDOW} = 'second') as rebalances_second,
    coalesce(sum(lasted_ms) filter (where {_IN_WINDOW} = 'first'), 0)::bigint
        as not_stable_estimate_ms_first,
    coalesce(sum(lasted_ms) filter (where {_IN_WINDOW} = 'second'), 0)::bigint
        as not_stable_estimate_ms_second
from timed where {_IN_WINDOW} is not null group by all
order by abs(rebalances_second - rebalances_first) desc, cause
limit $most
"""  # noqa: S608 - our own names


def window_ms(text: str) -> tuple[int, int]:
    """From and to (epoch ms) of `2026-11-21T09:00Z/2026-11-21T10:00Z`; an end that is left out is open.

    Raises BadRequest.
    """
    start, slash, end = text.partition("/")
    if not slash:
        raise BadRequest(
            f"{text!r} is no window: write START/END, such as 2026-11-21T09:00Z/2026-11-21T10:00Z."
        )
    return bounds_ms(start.strip() or None, end.strip() or None)


def bounds_ms(start: str | None, end: str | None) -> tuple[int, int]:
    """Start and end in epoch milliseconds; None is open. Raises BadRequest for an end that is not after the start."""
    from_ms, to_ms = moment_ms(start), moment_ms(end)
    found = FIRST_MS if from_ms is None else from_ms, LAST_MS if to_ms is None else to_ms
    if found[0] >= found[1]:
        raise BadRequest(
            f"The window from {start} to {end} is empty: its end is not after its start."
        )
    return found
