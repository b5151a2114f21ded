"""The client-side assignment proposal as stories: two phases, departures, changes of subscription and strategy.

The language of the tables is explained in tests/coordinator/classic/stage.py.
"""

from tests.coordinator.classic.stage import check


def test_phase_1_joins_and_phase_2_synchronises() -> None:
    """The group is recorded when it comes to be and when its leader's assignment is stored, and never in between."""
    check(
        """
        join A             | A=A                        | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5 | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        """
    )


def test_the_assignment_waits_for_the_leader_whoever_syncs_first() -> None:
    """A follower that syncs before the leader is parked, one that comes after it is answered at once."""
    check(
        """
        join A                   | A=A                        | [2] 0 empty @1000
        join A
        join B                   | B=B
        join B
        join C                   | C=C
        join C
        wait 9000                | B joined 1 range; C joined 1 range; A joined 1 range of A,B,C
        sync B
        sync A A=0-1 B=2-3 C=4-5 | B synced 2-3; A synced 0-1 | [2] 1 range A: A=0-1 B=2-3 C=4-5 @7000
        sync C                   | C synced 4-5
        # again: the stored state is returned as often as it is asked for
        sync C                   | C synced 4-5
        """
    )


def test_a_member_without_an_assignment_gets_an_empty_one() -> None:
    """The leader names B only; A's part is stored as empty bytes."""
    check(
        """
        join A       | A=A        | [2] 0 empty @1000
        join A
        join B       | B=B
        join B
        wait 6000    | B joined 1 range; A joined 1 range of A,B
        sync A B=0-5 | A synced - | [2] 1 range A: A=- B=0-5 @7000
        sync B       | B synced 0-5
        sync A       | A synced -
        """
    )


def test_a_new_member_makes_everybody_join_again() -> None:
    """Heartbeats announce the rebalance to the others; it ends with the last of them."""
    check(
        """
        join A                   | A=A                        | [2] 0 empty @1000
        join A
        join B                   | B=B
        join B
        wait 6000                | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5       | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        join C                   | C=C
        join C
        beat A                   | A REBALANCE_IN_PROGRESS
        join A
        sync A gen=1             | A REBALANCE_IN_PROGRESS
        beat B                   | B REBALANCE_IN_PROGRESS
        join B                   | B joined 2 range; C joined 2 range; A joined 2 range of A,B,C
        sync A A=0-1 B=2-3 C=4-5 | A synced 0-1               | [2] 2 range A: A=0-1 B=2-3 C=4-5 @7000
        sync B                   | B synced 2-3
        sync C                   | C synced 4-5
        beat C                   | C ok
        """
    )


def test_a_member_leaves_and_the_last_one_empties_the_group() -> None:
    """A departure is recorded with the next generation, the last one at once."""
    check(
        """
        join A             | A=A                        | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5 | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        leave B            | B ok
        beat A             | A REBALANCE_IN_PROGRESS
        join A             | A joined 2 range of A
        sync A A=0-5       | A synced 0-5               | [2] 2 range A: A=0-5 @7000
        leave A            | A ok                       | [2] 3 empty @7000
        join A             | A UNKNOWN_MEMBER_ID
        restart A
        join A             | A=A2
        join A
        wait 3000          | A joined 4 range of A2
        sync A A2=0-5      | A synced 0-5               | [2] 4 range A2: A2=0-5 @10000
        """
    )


def test_subscription_change_of_a_follower_makes_everybody_join_again() -> None:
    """The same subscription again does not."""
    check(
        """
        join A                | A=A                        | [2] 0 empty @1000
        join A
        join B                | B=B
        join B
        wait 6000             | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5    | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        join B                | B joined 1 range
        beat A                | A ok
        join B topics=foo,bar
        beat A                | A REBALANCE_IN_PROGRESS
        join A                | B joined 2 range; A joined 2 range of A,B
        sync A A=0-2 B=3-5    | A synced 0-2               | [2] 2 range A: A=0-2 B=3-5 @7000
        sync B                | B synced 3-5
        """
    )


def test_topic_metadata_change_is_the_leaders_to_announce() -> None:
    """The leader joins again with the same subscription, and that is enough."""
    check(
        """
        join A             | A=A                        | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5 | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        join A
        beat B             | B REBALANCE_IN_PROGRESS
        join B             | B joined 2 range; A joined 2 range of A,B
        sync A A=0-2 B=3-5 | A synced 0-2               | [2] 2 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        """
    )


def test_a_join_with_something_new_aborts_the_sync_phase() -> None:
    """B changes its mind while A assigns; A's generation is void and its sync comes too late."""
    check(
        """
        join A                | A=A          | [2] 0 empty @1000
        join A
        join B                | B=B
        join B
        wait 6000             | B joined 1 range; A joined 1 range of A,B
        join B topics=foo,bar
        sync A A=0-2 B=3-5    | A REBALANCE_IN_PROGRESS
        join A                | B joined 2 range; A joined 2 range of A,B
        sync A A=0-2 B=3-5    | A synced 0-2 | [2] 2 range A: A=0-2 B=3-5 @7000
        """
    )


def test_a_lost_join_answer_is_repeated_in_the_sync_phase() -> None:
    """The same JoinGroup again is answered with the generation as it is, to the leader with the members."""
    check(
        """
        join A             | A=A          | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        join B             | B joined 1 range
        join A             | A joined 1 range of A,B
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        """
    )


def test_rolling_change_of_the_strategy() -> None:
    """The old strategy is used until the last member knows the new one; then the old one can be dropped, one by one."""
    check(
        """
        join A protocols=range        | A=A          | [2] 0 empty @1000
        join A
        join B protocols=range        | B=B
        join B
        wait 6000                     | B joined 1 range; A joined 1 range of A,B
        sync A A=0-2 B=3-5            | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                        | B synced 3-5
        # first roll: both strategies
        join B protocols=sticky,range
        join A                        | B joined 2 range; A joined 2 range of A,B
        sync A A=0-2 B=3-5            | A synced 0-2 | [2] 2 range A: A=0-2 B=3-5 @7000
        sync B                        | B synced 3-5
        join A protocols=sticky,range
        join B                        | B joined 3 sticky; A joined 3 sticky of A,B
        sync A A=0-2 B=3-5            | A synced 0-2 | [2] 3 sticky A: A=0-2 B=3-5 @7000
        sync B                        | B synced 3-5
        # second roll: the new one alone
        join A protocols=sticky
        join B                        | B joined 4 sticky; A joined 4 sticky of A,B
        sync A A=0-2 B=3-5            | A synced 0-2 | [2] 4 sticky A: A=0-2 B=3-5 @7000
        sync B                        | B synced 3-5
        # who is late with the roll finds no common strategy
        join C protocols=range        | C INCONSISTENT_GROUP_PROTOCOL
        """
    )


def test_the_protocol_that_most_members_prefer_wins() -> None:
    """All support both; two of three have sticky first."""
    check(
        """
        join A protocols=range,sticky | A=A | [2] 0 empty @1000
        join A
        join B protocols=sticky,range | B=B
        join B
        join C protocols=sticky,range | C=C
        join C
        wait 9000                     | B joined 1 sticky; C joined 1 sticky; A joined 1 sticky of A,B,C
        """
    )


def test_every_member_votes_for_the_first_that_all_support() -> None:
    """B and C would like sticky best, but A does not know it."""
    check(
        """
        join A protocols=range,other        | A=A | [2] 0 empty @1000
        join A
        join B protocols=sticky,other,range | B=B
        join B
        join C protocols=sticky,other,range | C=C
        join C
        wait 9000                           | B joined 1 other; C joined 1 other; A joined 1 other of A,B,C
        """
    )
