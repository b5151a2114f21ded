"""Which members get into a classic group, and how long the others wait: initial delay, pending members, size limit.

The language of the tables is explained in stage.py.
"""

from rebalance_audit.coordinator.handling import CoordinatorConfig
from tests.coordinator.classic.stage import check


def test_who_does_not_join_in_time_is_left_out() -> None:
    """The join phase lasts as long as the longest rebalance timeout of the members, then goes on without B."""
    check(
        """
        join A rebalance=10000 | A=A          | [2] 0 empty @1000
        join A
        join B rebalance=20000 | B=B
        join B
        wait 6000              | B joined 1 range; A joined 1 range of A,B
        sync A A=0-2 B=3-5     | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                 | B synced 3-5
        join A
        wait 10000
        beat B                 | B REBALANCE_IN_PROGRESS
        wait 9999
        beat B                 | B REBALANCE_IN_PROGRESS
        wait 1                 | A joined 2 range of A
        sync A A=0-5           | A synced 0-5 | [2] 2 range A: A=0-5 @27000
        beat B                 | B UNKNOWN_MEMBER_ID
        """
    )


def test_initial_delay_is_extended_while_members_arrive() -> None:
    """Each part of the delay in which a member joined is followed by another, up to the rebalance timeout."""
    check(
        """
        join A rebalance=8000 | A=A | [2] 0 empty @1000
        join A
        wait 2999
        join B rebalance=8000 | B=B
        join B
        # 4000: B came, so up to 3000 more
        wait 2001
        join C rebalance=8000 | C=C
        join C
        # 7000: C came; 2000 are left of the 8000
        wait 2000
        join D rebalance=8000 | D=D
        join D
        wait 999
        wait 1                | B joined 1 range; C joined 1 range; A joined 1 range of A,B,C,D; D joined 1 range
        """
    )


def test_initial_delay_without_newcomers_is_not_extended() -> None:
    """A alone waits for the delay once."""
    check(
        """
        join A    | A=A | [2] 0 empty @1000
        join A
        wait 2999
        wait 1    | A joined 1 range of A
        """
    )


def test_without_initial_delay_the_first_member_goes_ahead() -> None:
    """The delay can be switched off."""
    check(
        """
        join A | A=A | [2] 0 empty @1000
        join A
        wait 0 | A joined 1 range of A
        """,
        CoordinatorConfig(group_initial_rebalance_delay_ms=0),
    )


def test_a_pending_member_holds_the_join_phase_until_its_session_timeout() -> None:
    """C got an id and did not come back; the others wait for it as for a member."""
    check(
        """
        join A                | A=A                        | [2] 0 empty @1000
        join A
        join B                | B=B
        join B
        wait 6000             | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5    | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        join C session=10000  | C=C
        join A
        join B topics=foo,bar
        wait 9999
        wait 1                | B joined 2 range; A joined 2 range of A,B
        sync A A=0-2 B=3-5    | A synced 0-2               | [2] 2 range A: A=0-2 B=3-5 @17000
        """
    )


def test_a_pending_member_can_leave() -> None:
    """A client that closed between its two JoinGroups leaves, and the others no longer wait for it."""
    check(
        """
        join A               | A=A                        | [2] 0 empty @1000
        join A
        join B               | B=B
        join B
        wait 6000            | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5   | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        join C session=10000 | C=C
        join A
        join B
        leave C              | B joined 2 range; A joined 2 range of A,B; C ok
        sync A A=0-2 B=3-5   | A synced 0-2               | [2] 2 range A: A=0-2 B=3-5 @7000
        """
    )


def test_an_old_client_joins_without_a_second_round() -> None:
    """Before version 4 of JoinGroup a new member is admitted at once."""
    check(
        """
        join A v=3 |  | [2] 0 empty @1000
        wait 3000  | A joined 1 range of A
        """
    )


def test_a_new_members_parked_join_times_out() -> None:
    """A first JoinGroup that has been parked for five minutes is given up: its sender may be gone."""
    check(
        """
        join A rebalance=900000 session=600000 | A=A          | [2] 0 empty @1000
        join A
        wait 3000                              | A joined 1 range of A
        sync A A=0-5                           | A synced 0-5 | [2] 1 range A: A=0-5 @4000
        join B rebalance=900000                | B=B
        join B
        wait 299999
        wait 1                                 | B UNKNOWN_MEMBER_ID
        beat A                                 | A REBALANCE_IN_PROGRESS
        join A                                 | A joined 2 range of A
        """
    )


def test_a_full_group_refuses_members() -> None:
    """Members of the group may still come and go."""
    check(
        """
        join A             | A=A                        | [2] 0 empty @1000
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5 | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        join C             | C GROUP_MAX_SIZE_REACHED
        join B             | B joined 1 range
        join A
        join C             | C=C
        leave B            | B ok
        join C             | C joined 2 range; A joined 2 range of A,C
        join C             | C joined 2 range
        """,
        CoordinatorConfig(group_max_size=2),
    )


def test_the_old_coordinator_records_no_creation() -> None:
    """Up to release 3.9 a group is first recorded with its first generation."""
    check(
        """
        join A             | A=A
        join A
        join B             | B=B
        join B
        wait 6000          | B joined 1 range; A joined 1 range of A,B
        sync B
        sync A A=0-2 B=3-5 | B synced 3-5; A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        """,
        CoordinatorConfig(classic_creation_recorded=False),
    )


def test_a_group_above_its_size_after_a_load_loses_the_last_to_join() -> None:
    """The limit was lowered: the load starts a rebalance, and only two members get in."""
    stage = check(
        """
        join A@i1                |              | [2] 0 empty @1000
        join B@i2
        join C@i3
        wait 9000                | A joined 1 range of A,B,C; C joined 1 range; B joined 1 range
        sync A A=0-1 B=2-3 C=4-5 | A synced 0-1 | [2] 1 range A: A=0-1 B=2-3 C=4-5 @7000
        """
    )
    stage.driver.config.group_max_size = 2
    stage.continue_with(
        """
        failover
        beat A             | A REBALANCE_IN_PROGRESS
        join A
        join B
        join C             | C GROUP_MAX_SIZE_REACHED
        wait 300000        | A joined 2 range of A,B; B joined 2 range
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 2 range A: A=0-2 B=3-5 @310000
        """
    )
