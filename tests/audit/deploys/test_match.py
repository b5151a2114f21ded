"""Which rebalance belongs to which rollout: a unique pod proves it, names make it likely, the time alone is nothing."""

from typing import Any, NamedTuple

import pytest

from rebalance_audit.audit.deploys.deploy_rows import deploy_rows
from rebalance_audit.audit.deploys.rollout import Pod, Rollout

S = 1000
BEGAN = 1_795_252_000 * S
"""Everything below is in seconds after it."""


def at(seconds: float) -> int:
    """Epoch milliseconds."""
    return BEGAN + round(seconds * S)


def pod(
    name: str,
    created: float | None = None,
    deleted: float | None = None,
    address: str | None = None,
    *,
    own: bool = True,
) -> Pod:
    """A pod by seconds."""
    return Pod(
        name,
        None if created is None else at(created),
        None if deleted is None else at(deleted),
        address,
        own,
    )


def rollout(
    workload: str = "shop",
    started: float = 0,
    ended: float | None = 60,
    pods: tuple[Pod, ...] = (),
    tool: str = "kubernetes",
    **other: Any,
) -> Rollout:
    """A rollout by seconds."""
    revision = other.pop("revision", "7f4c9d8b6c")
    return Rollout(
        tool,
        workload,
        at(started),
        revision,
        ended_ms=None if ended is None else at(ended),
        pods=pods,
        **other,
    )


NEW, OLD = "shop-7f4c9d8b6c-x2x4z", "shop-5577f87457-8bqvz"
DEFAULT = "consumer-orders-1"
"""What a Java client calls itself that was given no name."""


class Member(NamedTuple):
    """What began the rebalance, at 30 s."""

    cause: str = "member_joined"
    client_id: str = DEFAULT
    instance_id: str | None = None
    host: str = "/10.9.9.9"
    certainty: str = "proven"
    alternatives: tuple[str, ...] = ()


def rows_of(
    member: Member,
    deploys: list[Rollout],
    *earlier: float,
    completeness: str = "complete",
    came: float = -900,
) -> list[dict[str, Any]]:
    """Rows of gold.deploys of group `orders` with one rebalance of 2 s; `earlier`: the client had joined then, too."""
    when = 30
    names = {
        "member_id": "m-1",
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.host,
    }
    key = {"group_id": "orders", "incarnation": 0}
    others = [
        {**key, **names, "member_id": f"m-{seen}", "first_seen_at": at(seen)} for seen in earlier
    ]
    took = {
        f"{stem}_{end}_ms": 2 * S for stem in ("duration", "unowned_partition") for end in BOUNDS
    }
    tables = {
        "members": [
            {
                **key,
                **names,
                "first_seen_at": at(when if "join" in member.cause else came),
                "session_timeout_ms": 45 * S,
            },
            *others,
        ],
        "epochs": [{**key, "epoch": 5, "rebalance_seq": 3}],
        "rebalances": [
            {
                **key,
                "rebalance_seq": 3,
                "completeness": completeness,
                "started_at": at(when),
                "ended_at": at(when + 2),
                **took,
                "records_delayed_min": None,
                "records_delayed_max": None,
                "records_delayed_estimate": 40,
                "records_delayed_by": "commit_rate",
            }
        ],
        "rebalance_causes": [
            {
                **key,
                **names,
                "epoch": 5,
                "cause_seq": 0,
                "cause": member.cause,
                "role": "began",
                "certainty": member.certainty,
                "at": at(when),
                "alternatives": list(member.alternatives),
            }
        ],
    }
    return deploy_rows(tables, deploys)


BOUNDS = ("min", "max", "estimate")
CREATED = rollout(pods=(pod(NEW, created=20), pod(OLD, deleted=25)))
OTHER = rollout("cart", 5, 70, revision="6d7d49c47d")
SET = rollout("ledger", pods=(pod("ledger-0", created=20, deleted=10, address="10.1.0.5"),))
PROBABLY = Member("member_left", OLD, certainty="probable")


@pytest.mark.parametrize(
    ("story", "member", "deploys", "expected"),
    [
        (
            "a new pod's name in the client id",
            Member(client_id=NEW),
            [CREATED],
            "shop proven pod_name",
        ),
        (
            "the name with what Kafka Streams appends",
            Member(client_id=f"{NEW}-StreamThread-2-consumer"),
            [CREATED],
            "shop proven pod_name",
        ),
        (
            "the name as instance id",
            Member("static_member_joined", instance_id=NEW),
            [CREATED],
            "shop proven pod_name",
        ),
        ("an old pod's member left", Member("member_left", OLD), [CREATED], "shop proven pod_name"),
        (
            "it may have crashed before",
            Member("member_session_expired", OLD),
            [CREATED],
            "shop likely pod_name",
        ),
        (
            "its last heartbeat was after the deletion",
            Member("member_session_expired", OLD),
            [rollout(pods=(pod(OLD, deleted=-16),), started=-20)],
            "shop proven pod_name",
        ),
        (
            "an administrator removed it",
            Member("member_removed_by_admin", OLD),
            [CREATED],
            "shop likely pod_name",
        ),
        (
            "it is open how it left",
            PROBABLY._replace(alternatives=("member_session_expired",)),
            [CREATED],
            "shop likely pod_name",
        ),
        (
            "something else may have begun it",
            PROBABLY._replace(alternatives=("subscription_changed",)),
            [CREATED],
            "shop likely pod_name",
        ),
        (
            "a longer name: not by whole segments",
            Member(client_id=f"{NEW}9"),
            [CREATED],
            "shop likely workload_name",
        ),
        (
            "another workload: not by whole segments",
            Member(client_id=f"e{NEW}"),
            [CREATED],
            "shop during time",
        ),
        (
            "another pod of the workload",
            Member(client_id="shop-7f4c9d8b6c-k7wdp"),
            [CREATED],
            "shop likely workload_name",
        ),
        (
            "a pod of the old ReplicaSet joined",
            Member(client_id="shop-5577f87457-k7wdp"),
            [CREATED],
            "shop during time",
        ),
        ("the old pod's member joined", Member(client_id=OLD), [CREATED], "shop during time"),
        (
            "the host is the pod's address",
            Member(host="/10.1.0.5"),
            [SET],
            "ledger proven pod_address",
        ),
        (
            "the address of the new pod, but a member left",
            Member("member_left", host="/10.1.0.5"),
            [SET],
            "ledger during time",
        ),
        (
            "IPv6, as Java writes it",
            Member(host="/fd00:0:0:0:0:0:0:a"),
            [rollout(pods=(pod(NEW, created=20, address="fd00::a"),))],
            "shop proven pod_address",
        ),
        (
            "the address of the pod's node",
            Member(host="/10.0.0.8"),
            [rollout(pods=(pod(NEW, created=20, address="10.0.0.8", own=False),))],
            "shop likely pod_address",
        ),
        ("the address of a NAT gateway", Member(host="/192.0.2.1"), [CREATED], "shop during time"),
        (
            "a StatefulSet's pod as instance id",
            Member("static_member_joined", instance_id="ledger-0"),
            [SET],
            "ledger likely pod_name",
        ),
        (
            "its name as client id may be a number of the application's own",
            Member(client_id="ledger-0"),
            [SET],
            "ledger likely pod_name",
        ),
        (
            "with an address that agrees",
            Member(client_id="ledger-0", host="/10.1.0.5"),
            [SET],
            "ledger proven pod_address",
        ),
        ("of another application", Member(client_id="my-ledger-0"), [SET], "ledger during time"),
        (
            "two pods: the name says one, the address the other",
            Member(client_id=NEW, host="/10.1.0.5"),
            [CREATED, SET],
            "ledger likely pod_address; shop likely pod_name",
        ),
        (
            "the same name in two namespaces",
            Member("static_member_joined", instance_id="ledger-0"),
            [
                rollout("ledger", namespace="a", pods=(pod("ledger-0", created=20),)),
                rollout("ledger", namespace="b", pods=(pod("ledger-0", created=25),)),
            ],
            "ledger likely pod_name; ledger likely pod_name",
        ),
        (
            "the pod was created 20 minutes ago",
            Member(client_id=NEW),
            [rollout(pods=(pod(NEW, created=-1200),))],
            "shop likely workload_name",
        ),
        (
            "overlapping rollouts: the pod decides",
            Member(client_id=NEW),
            [CREATED, OTHER],
            "shop proven pod_name",
        ),
        (
            "overlapping rollouts, nothing decides",
            Member(),
            [CREATED, OTHER],
            "cart during time; shop during time",
        ),
        (
            "no pods: the workload's name",
            Member(client_id="shop-3"),
            [rollout(tool="helm", ended=None)],
            "shop likely workload_name",
        ),
        (
            "no pods: the name is only alike",
            Member(client_id="shop-audit-3"),
            [rollout(tool="helm", ended=None)],
            "shop during time",
        ),
        ("no end: ten minutes", Member(), [rollout(started=-500, ended=None)], "shop during time"),
        ("no end: longer ago", Member(), [rollout(started=-700, ended=None)], ""),
        ("ended long before", Member(client_id="shop-3"), [rollout(started=-900, ended=-600)], ""),
        (
            "a clock 4 s ahead",
            Member(client_id=NEW),
            [rollout(started=34, pods=(pod(NEW, created=34),))],
            "shop proven pod_name",
        ),
        (
            "a later rollout of the workload takes its place",
            Member(client_id="shop-3"),
            [rollout(tool="csv", revision="1"), rollout(tool="csv", revision="2", started=10)],
            "shop likely workload_name",
        ),
        (
            "the file names the group",
            Member(),
            [rollout(tool="csv", group_pattern="ord*")],
            "shop likely file",
        ),
        (
            "the file names another group",
            Member(client_id="shop-3"),
            [rollout(tool="csv", group_pattern="pay*")],
            "",
        ),
        (
            "the file names the clients",
            Member(),
            [rollout(tool="csv", client_pattern="consumer-*")],
            "shop likely file",
        ),
        (
            "the file names other clients",
            Member(),
            [rollout(tool="csv", client_pattern="x-*")],
            "shop during time",
        ),
        (
            "a proven cause of another kind",
            Member("topic_metadata_changed", client_id="shop-3"),
            [rollout(tool="csv", group_pattern="*")],
            "shop during time",
        ),
    ],
)
def test_certainty(story: str, member: Member, deploys: list[Rollout], expected: str) -> None:
    """Proven only where one pod of one rollout can be that of the member that is proven to have begun it."""
    found = [
        f"{row['workload']} {row['certainty']} {row['evidence'][0]['matched_by']}"
        for row in rows_of(member, deploys)
    ]
    assert "; ".join(sorted(found)) == expected, story


@pytest.mark.parametrize(
    ("story", "member", "deploys", "earlier", "expected"),
    [
        (
            "a new pod's second start within minutes",
            Member(client_id=NEW),
            [CREATED],
            [22],
            "shop likely pod_name",
        ),
        (
            "the name of a StatefulSet's pod that has returned already",
            Member("static_member_joined", instance_id="ledger-0"),
            [SET],
            [22],
            "ledger likely workload_name",
        ),
        (
            "a client of the old pod that had crashed and returned",
            Member("member_left", OLD),
            [CREATED],
            [-500],
            "shop likely pod_name",
        ),
        (
            "before the rollout that name was there as well",
            Member("static_member_joined", instance_id="ledger-0"),
            [SET],
            [-600],
            "ledger likely pod_name",
        ),
    ],
)
def test_only_the_first_member_of_a_pod_is_its_start(
    story: str, member: Member, deploys: list[Rollout], earlier: list[float], expected: str
) -> None:
    """A client that comes back later may have crashed, or been restarted by hand."""
    (row,) = rows_of(member, deploys, *earlier)
    found = f"{row['workload']} {row['certainty']} {row['evidence'][0]['matched_by']}"
    assert found == expected, story


def test_a_member_that_came_after_a_pod_was_deleted_was_not_in_it() -> None:
    """The pod's next member leaves for reasons of its own."""
    late = rollout("ledger", pods=(pod("ledger-0", created=-895, deleted=-902),), started=-902)
    member = Member("member_left", instance_id="ledger-0")
    (row,) = rows_of(member, [late])
    assert (row["certainty"], row["evidence"][0]["matched_by"]) == ("likely", "workload_name")


def test_nothing_is_proven_where_records_are_missing() -> None:
    """Compaction may have removed the member that was first."""
    (row,) = rows_of(Member(client_id=NEW), [CREATED], completeness="gap")
    assert row["certainty"] == "likely"


def test_a_row_has_the_cost_and_the_evidence() -> None:
    """Both clocks are used: the broker's for the member, the cluster's for the pod."""
    (row,) = rows_of(Member(client_id=NEW), [CREATED])
    assert row["deploy_id"] == "kubernetes:shop@7f4c9d8b6c"
    assert (row["rebalances"], row["rebalance_seqs"]) == (1, [3])
    assert [row[f"not_stable_{end}_ms"] for end in BOUNDS] == [2 * S] * 3
    assert (row["records_delayed_estimate"], row["records_delayed_max"]) == (40, None)
    assert row["evidence"] == [
        {
            "rebalance_seq": 3,
            "matched_by": "pod_name",
            "member_id": "m-1",
            "change": "joined",
            "at": at(30),
            "pod": NEW,
            "pod_change": "created",
            "pod_at": at(20),
        }
    ]
