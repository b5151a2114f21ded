"""The client-side assignment proposal as stories: failures of members, leader, assignment and coordinator.

The language of the tables is explained in tests/coordinator/classic/stage.py.
"""

from tests.coordinator.classic.stage import check


def test_a_silent_follower_is_dropped_after_its_session_timeout() -> None:
    """Heartbeats keep A in; B has been silent for 45 s since its sync."""
    check(
        """
        join A             | A=A                        | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5 | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        wait 44999
        beat A             | A ok
        wait 1
        beat A             | A REBALANCE_IN_PROGRESS
        beat B             | B UNKNOWN_MEMBER_ID
        join A             | A joined 2 range of A
        sync A A=0-5       | A synced 0-5               | [2] 2 range A: A=0-5 @52000
        """
    )


def test_leader_failure_after_the_sync_elects_another() -> None:
    """The session timeout finds the leader gone; who is left joins again and leads."""
    check(
        """
        join A             | A=A                        | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5 | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        wait 30000
        beat B             | B ok
        wait 15000
        beat B             | B REBALANCE_IN_PROGRESS
        join B             | B joined 2 range of B
        sync B B=0-5       | B synced 0-5               | [2] 2 range B: B=0-5 @52000
        """
    )


def test_leader_failure_before_its_sync_voids_the_generation() -> None:
    """Generation 1 never got an assignment and is not on record."""
    check(
        """
        join A       | A=A          | [2] 0 empty @1000
        join A
        join B       | B=B
        join B
        wait 6000    | B joined 1 range; A joined 1 range of A,B
        sync B
        wait 45000   | B REBALANCE_IN_PROGRESS
        join B       | B joined 2 range of B
        sync B B=0-5 | B synced 0-5 | [2] 2 range B: B=0-5 @52000
        """
    )


def test_assignment_failure_ends_with_the_sync_timer() -> None:
    """A leader that lives but cannot assign is dropped after the rebalance timeout; the parked followers join again."""
    check(
        """
        join A rebalance=10000 | A=A          | [2] 0 empty @1000
        join A
        join B rebalance=10000 | B=B
        join B
        wait 9000              | B joined 1 range; A joined 1 range of A,B
        sync B
        wait 5000
        beat A                 | A ok
        wait 5000              | B REBALANCE_IN_PROGRESS
        beat A                 | A UNKNOWN_MEMBER_ID
        join B                 | B joined 2 range of B
        sync B B=0-5           | B synced 0-5 | [2] 2 range B: B=0-5 @20000
        """
    )


def test_a_leader_that_gives_up_leaves() -> None:
    """An assignor's error ends in a departure of the leader, which is passed on to who waits for it."""
    check(
        """
        join A       | A=A          | [2] 0 empty @1000
        join A
        join B       | B=B
        join B
        wait 6000    | B joined 1 range; A joined 1 range of A,B
        sync B
        leave A      | B REBALANCE_IN_PROGRESS; A ok
        join B       | B joined 2 range of B
        sync B B=0-5 | B synced 0-5 | [2] 2 range B: B=0-5 @7000
        """
    )


def test_a_follower_that_never_syncs_is_dropped() -> None:
    """The group is stable, but its generation is not complete: after the rebalance timeout B is out."""
    check(
        """
        join A rebalance=10000 | A=A          | [2] 0 empty @1000
        join A
        join B rebalance=10000 | B=B
        join B
        wait 9000              | B joined 1 range; A joined 1 range of A,B
        sync A A=0-2 B=3-5     | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        wait 6999
        beat A                 | A ok
        wait 1
        beat B                 | B UNKNOWN_MEMBER_ID
        beat A                 | A REBALANCE_IN_PROGRESS
        """
    )


def test_coordinator_failure_before_the_join_phase_is_over() -> None:
    """No member is on record, so all join again as new members."""
    check(
        """
        join A        | A=A          | [2] 0 empty @1000
        join A
        failover
        join A        | A UNKNOWN_MEMBER_ID
        restart A
        join A        | A=A2
        join A
        wait 3000     | A joined 1 range of A2
        sync A A2=0-5 | A synced 0-5 | [2] 1 range A2: A2=0-5 @4000
        """
    )


def test_coordinator_failure_between_join_and_sync() -> None:
    """The generation is lost with the coordinator, and its number is used again."""
    check(
        """
        join A        | A=A          | [2] 0 empty @1000
        join A
        wait 3000     | A joined 1 range of A
        failover
        sync A A=0-5  | A UNKNOWN_MEMBER_ID
        join A        | A UNKNOWN_MEMBER_ID
        restart A
        join A        | A=A2
        join A
        wait 3000     | A joined 1 range of A2
        sync A A2=0-5 | A synced 0-5 | [2] 1 range A2: A2=0-5 @7000
        """
    )


def test_coordinator_failure_between_two_generations() -> None:
    """The recorded generation holds again; it is as good as the members' next join."""
    check(
        """
        join A                    | A=A                        | [2] 0 empty @1000
        join A
        join B                    | B=B
        join B
        wait 6000                 | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5        | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        join C                    | C=C
        join C
        beat A                    | A REBALANCE_IN_PROGRESS
        join A
        failover
        beat A                    | A ok
        sync A                    | A synced 0-2
        beat C gen=2              | C UNKNOWN_MEMBER_ID
        restart C
        join C                    | C=C2
        join C
        join A
        join B                    | B joined 2 range; C joined 2 range; A joined 2 range of A,B,C2
        sync A A=0-1 B=2-3 C2=4-5 | A synced 0-1               | [2] 2 range A: A=0-1 B=2-3 C2=4-5 @7000
        """
    )


def test_coordinator_failure_after_the_assignment_is_stored() -> None:
    """Members that did not get it ask the new coordinator, which answers at once."""
    check(
        """
        join A             | A=A          | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        failover
        sync B             | B synced 3-5
        beat A             | A ok
        beat B             | B ok
        """
    )


def test_sessions_start_again_with_the_load() -> None:
    """44 s of silence before the fail-over do not count."""
    check(
        """
        join A             | A=A                        | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5 | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        wait 44000
        failover
        wait 44000
        beat A             | A ok
        wait 1000
        beat B             | B UNKNOWN_MEMBER_ID
        beat A             | A REBALANCE_IN_PROGRESS
        """
    )


def test_sessions_go_on_with_the_assignment() -> None:
    """A member that waits for the leader is not expected to send heartbeats; its session starts with the answer."""
    check(
        """
        join A             | A=A                        | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync B
        wait 40000
        beat A             | A ok
        wait 40000
        beat A             | A ok
        sync A A=0-2 B=3-5 | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        wait 44999
        beat A             | A ok
        wait 1
        beat A             | A REBALANCE_IN_PROGRESS
        beat B             | B UNKNOWN_MEMBER_ID
        """
    )
