"""KIP-345 as stories: duplicates, departures, and the change between static and dynamic membership.

The language of the tables is explained in tests/coordinator/classic/stage.py.
"""

from tests.coordinator.classic.stage import check


def test_the_replaced_duplicate_is_fenced_everywhere() -> None:
    """Two clients with one instance id: the first one's requests are refused from then on."""
    check(
        """
        join A@i1             |                  | [2] 0 empty @1000
        join B@i2
        wait 6000             | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5    | A synced 0-2     | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                | B synced 3-5
        restart B
        join B                | B joined 1 range | [2] 1 range A: A=0-2 B2=3-5 @7000
        beat B id=B           | B FENCED_INSTANCE_ID
        sync B id=B           | B FENCED_INSTANCE_ID
        join B id=B           | B FENCED_INSTANCE_ID
        commit B id=B foo:3=1 | B FENCED_INSTANCE_ID
        leave B id=B          | B FENCED_INSTANCE_ID
        """
    )


def test_the_replaced_duplicate_is_fenced_while_it_waits_to_join() -> None:
    """Its parked JoinGroup is answered with the fence."""
    check(
        """
        join A@i1    |              | [2] 0 empty @1000
        restart A
        join A       | A FENCED_INSTANCE_ID
        wait 3000    | A joined 1 range of A
        sync A A=0-5 | A synced 0-5 | [2] 1 range A: A=0-5 @4000
        """
    )


def test_the_replaced_duplicate_is_fenced_while_it_waits_to_sync() -> None:
    """Its parked SyncGroup is answered with the fence; the leader may know its old id, so all join again."""
    check(
        """
        join A@i1           |              | [2] 0 empty @1000
        join B@i2
        wait 6000           | A joined 1 range of A,B; B joined 1 range
        sync B
        restart B
        join B              | B FENCED_INSTANCE_ID
        beat A              | A REBALANCE_IN_PROGRESS
        join A              | A joined 2 range of A,B2; B joined 2 range
        sync A A=0-2 B2=3-5 | A synced 0-2 | [2] 2 range A: A=0-2 B2=3-5 @7000
        sync B              | B synced 3-5
        """
    )


def test_unknown_member_id_with_a_held_instance_id_is_fenced() -> None:
    """The instance id is B's."""
    check(
        """
        join A@i1           |              | [2] 0 empty @1000
        join B@i2
        wait 6000           | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5  | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B              | B synced 3-5
        join C@i2 id=absent | C FENCED_INSTANCE_ID
        beat C id=absent    | C FENCED_INSTANCE_ID
        join C@i9 id=absent | C UNKNOWN_MEMBER_ID
        """
    )


def test_a_member_that_is_not_back_in_time_is_removed() -> None:
    """The session timeout decides, as for every member; afterwards the instance is a new member."""
    check(
        """
        join A@i1           |              | [2] 0 empty @1000
        join B@i2
        wait 6000           | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5  | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B              | B synced 3-5
        wait 40000
        beat A              | A ok
        wait 5000
        beat A              | A REBALANCE_IN_PROGRESS
        join A              | A joined 2 range of A
        sync A A=0-5        | A synced 0-5 | [2] 2 range A: A=0-5 @52000
        restart B
        join B
        beat A              | A REBALANCE_IN_PROGRESS
        join A              | A joined 3 range of A,B2; B joined 3 range
        sync A A=0-2 B2=3-5 | A synced 0-2 | [2] 3 range A: A=0-2 B2=3-5 @52000
        sync B              | B synced 3-5
        """
    )


def test_scale_up_makes_one_rebalance() -> None:
    """A new instance id is a new member."""
    check(
        """
        join A@i1                |              | [2] 0 empty @1000
        join B@i2
        wait 6000                | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5       | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                   | B synced 3-5
        join C@i3
        beat A                   | A REBALANCE_IN_PROGRESS
        join A
        join B                   | A joined 2 range of A,B,C; C joined 2 range; B joined 2 range
        sync A A=0-1 B=2-3 C=4-5 | A synced 0-1 | [2] 2 range A: A=0-1 B=2-3 C=4-5 @7000
        sync B                   | B synced 2-3
        sync C                   | C synced 4-5
        """
    )


def test_scale_down_by_an_administrator_makes_one_rebalance() -> None:
    """Instances are removed in one request; an absent one gets an error, and the others go all the same."""
    check(
        """
        join A@i1                |              | [2] 0 empty @1000
        join B@i2
        wait 6000                | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5       | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                   | B synced 3-5
        join C@i3
        join A
        join B                   | A joined 2 range of A,B,C; C joined 2 range; B joined 2 range
        sync A A=0-1 B=2-3 C=4-5 | A synced 0-1 | [2] 2 range A: A=0-1 B=2-3 C=4-5 @7000
        sync B                   | B synced 2-3
        sync C                   | C synced 4-5
        remove @i2,@i3,@i9       | admin ok,ok,UNKNOWN_MEMBER_ID
        beat A                   | A REBALANCE_IN_PROGRESS
        join A                   | A joined 3 range of A
        sync A A=0-5             | A synced 0-5 | [2] 3 range A: A=0-5 @7000
        remove @i1               | admin ok     | [2] 4 empty @7000
        """
    )


def test_a_rebalance_does_not_wait_for_a_static_member_longer_than_its_timeout() -> None:
    """B stays a member until its session ends, and keeps its place in the new generation without having joined."""
    check(
        """
        join A@i1 rebalance=10000               |                  | [2] 0 empty @1000
        join B@i2 rebalance=10000 session=60000
        join C@i3 rebalance=10000
        wait 10000                              | A joined 1 range of A,B,C; C joined 1 range; B joined 1 range
        sync A A=0-1 B=2-3 C=4-5                | A synced 0-1     | [2] 1 range A: A=0-1 B=2-3 C=4-5 @7000
        sync B                                  | B synced 2-3
        sync C                                  | C synced 4-5
        leave C                                 | C ok
        join A
        wait 9999
        wait 1                                  | A joined 2 range of A,B
        sync A A=0-2 B=3-5                      | A synced 0-2     | [2] 2 range A: A=0-2 B=3-5 @21000
        wait 5000
        restart B
        join B                                  | B joined 2 range | [2] 2 range A: A=0-2 B2=3-5 @21000
        sync B                                  | B synced 3-5
        wait 10000
        beat A                                  | A ok
        """
    )


def test_a_static_member_that_stays_away_from_the_sync_is_removed() -> None:
    """It was carried over into the new generation, but must sync in the rebalance timeout."""
    check(
        """
        join A@i1 rebalance=10000               |              | [2] 0 empty @1000
        join B@i2 rebalance=10000 session=60000
        wait 6000                               | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5                      | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                                  | B synced 3-5
        join A
        wait 10000                              | A joined 2 range of A,B
        sync A A=0-2 B=3-5                      | A synced 0-2 | [2] 2 range A: A=0-2 B=3-5 @17000
        wait 10000
        beat A                                  | A REBALANCE_IN_PROGRESS
        join A                                  | A joined 3 range of A
        sync A A=0-5                            | A synced 0-5 | [2] 3 range A: A=0-5 @27000
        """
    )


def test_a_static_leader_that_does_not_join_is_replaced_as_leader() -> None:
    """It stays a member; one that joined leads."""
    check(
        """
        join A@i1 rebalance=10000 session=60000 |              | [2] 0 empty @1000
        join B@i2 rebalance=10000
        wait 10000                              | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5                      | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                                  | B synced 3-5
        join B topics=foo,bar
        wait 10000                              | B joined 2 range of A,B
        sync B A=0-2 B=3-5                      | B synced 3-5 | [2] 2 range B: A=0-2 B=3-5 @21000
        """
    )


def test_the_join_phase_goes_on_while_only_absent_static_members_are_left() -> None:
    """No member could lead; it ends when the sessions do."""
    check(
        """
        join A@i1 rebalance=10000 session=25000 |              | [2] 0 empty @1000
        wait 3000                               | A joined 1 range of A
        sync A A=0-5                            | A synced 0-5 | [2] 1 range A: A=0-5 @4000
        join B                                  | B=B
        join B rebalance=10000
        leave B                                 | B UNKNOWN_MEMBER_ID; B ok
        wait 10000
        wait 14999
        wait 1                                  |              | [2] 2 empty @29000
        """
    )


def test_static_to_dynamic_by_leaving_without_the_instance_id() -> None:
    """A LeaveGroup by member id alone removes the static member with its instance id."""
    check(
        """
        join A@i1          |              | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        leave C id=B       | C ok
        beat B             | B UNKNOWN_MEMBER_ID
        join C             | C=C
        join C
        beat A             | A REBALANCE_IN_PROGRESS
        join A             | A joined 2 range of A,C; C joined 2 range
        sync A A=0-2 C=3-5 | A synced 0-2 | [2] 2 range A: A=0-2 C=3-5 @7000
        """
    )


def test_static_to_dynamic_by_a_rolling_restart() -> None:
    """The old instance stays until its session ends."""
    check(
        """
        join A@i1          |              | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        join C             | C=C
        join C
        join A
        wait 44999
        wait 1             | A joined 2 range of A,C; C joined 2 range
        sync A A=0-2 C=3-5 | A synced 0-2 | [2] 2 range A: A=0-2 C=3-5 @52000
        """
    )


def test_dynamic_to_static_needs_a_new_member_id() -> None:
    """A member id that joined without the instance id does not hold it."""
    check(
        """
        join A        | A=A          | [2] 0 empty @1000
        join A
        wait 3000     | A joined 1 range of A
        sync A A=0-5  | A synced 0-5 | [2] 1 range A: A=0-5 @4000
        join A@i1     | A UNKNOWN_MEMBER_ID
        restart A
        join A
        wait 45000    | A joined 2 range of A2
        sync A A2=0-5 | A synced 0-5 | [2] 2 range A2: A2=0-5 @49000
        """
    )


def test_static_membership_survives_a_fail_over() -> None:
    """The record holds the instance ids, so the new coordinator fences and gives back as the old one did."""
    check(
        """
        join A@i1          |                  | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2     | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        failover
        beat B id=absent   | B FENCED_INSTANCE_ID
        restart B
        join B             | B joined 1 range | [2] 1 range A: A=0-2 B2=3-5 @7000
        sync B             | B synced 3-5
        failover
        beat B             | B ok
        beat B id=B        | B FENCED_INSTANCE_ID
        """
    )
