"""KIP-345 as stories: a static member that comes back.

The language of the tables is explained in tests/coordinator/classic/stage.py.
"""

import pytest

from rebalance_audit.coordinator.handling import CoordinatorConfig
from rebalance_audit.coordinator.requests.classic import JoinGroupResponse
from tests.coordinator.classic.stage import check


def test_a_new_instance_joins_without_a_second_round() -> None:
    """Static members never get MEMBER_ID_REQUIRED."""
    check(
        """
        join A@i1          |              | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        """
    )


def test_a_follower_comes_back_without_a_rebalance() -> None:
    """It keeps its assignment under a new member id, in the same generation; the other members notice nothing."""
    check(
        """
        join A@i1          |                  | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2     | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        wait 1000
        restart B
        join B             | B joined 1 range | [2] 1 range A: A=0-2 B2=3-5 @7000
        sync B             | B synced 3-5
        beat B             | B ok
        beat A             | A ok
        """
    )


def test_the_new_timeouts_of_a_returning_member_are_recorded() -> None:
    """The first session after the return still has the old length; the next ones have the new."""
    check(
        """
        join A@i1            |                  | [2] 0 empty @1000
        join B@i2
        wait 6000            | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5   | A synced 0-2     | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B               | B synced 3-5
        restart B
        join B session=20000 | B joined 1 range | [2] 1 range A: A=0-2 B2=3-5 @7000
        wait 30000
        beat A               | A ok
        beat B               | B ok
        wait 19999
        beat A               | A ok
        wait 1
        beat A               | A REBALANCE_IN_PROGRESS
        """
    )


def test_the_leader_comes_back_without_a_rebalance() -> None:
    """From version 9 on the answer has the members and says to skip the assignment; before, that another one leads."""
    check(
        """
        join A@i1          |                                | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2                   | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        restart A
        join A             | A joined 1 range of A2,B skips | [2] 1 range A2: A2=0-2 B=3-5 @7000
        sync A             | A synced 0-2
        beat B             | B ok
        restart A
        join A v=8         | A joined 1 range               | [2] 1 range A3: A3=0-2 B=3-5 @7000
        sync A             | A synced 0-2
        beat B             | B ok
        """
    )


def test_a_leader_that_joins_with_its_member_id_means_a_rebalance() -> None:
    """It is no restart: the leader has something to assign."""
    check(
        """
        join A@i1          |              | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        join A
        beat B             | B REBALANCE_IN_PROGRESS
        join B             | A joined 2 range of A,B; B joined 2 range
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 2 range A: A=0-2 B=3-5 @7000
        """
    )


def test_a_follower_that_joins_with_its_member_id_changes_nothing() -> None:
    """Same id, same subscription: it gets the generation as it is."""
    check(
        """
        join A@i1          |              | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        join B             | B joined 1 range
        sync B             | B synced 3-5
        beat A             | A ok
        """
    )


def test_a_member_comes_back_during_the_join_phase() -> None:
    """It takes its old place among those who are waited for."""
    check(
        """
        join A@i1                 |              | [2] 0 empty @1000
        join B@i2
        wait 6000                 | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5        | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                    | B synced 3-5
        join C@i3
        restart B
        join B
        beat A                    | A REBALANCE_IN_PROGRESS
        join A                    | A joined 2 range of A,B2,C; C joined 2 range; B joined 2 range
        sync A A=0-1 B2=2-3 C=4-5 | A synced 0-1 | [2] 2 range A: A=0-1 B2=2-3 C=4-5 @7000
        """
    )


def test_a_return_that_changes_the_protocol_means_a_rebalance() -> None:
    """The group must agree on another strategy, so the cached assignment is no good."""
    check(
        """
        join A@i1 protocols=range,sticky |              | [2] 0 empty @1000
        join B@i2 protocols=range,sticky
        wait 6000                        | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5               | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                           | B synced 3-5
        restart B
        join B protocols=sticky
        beat A                           | A REBALANCE_IN_PROGRESS
        join A                           | A joined 2 sticky of A,B2; B joined 2 sticky
        sync A A=0-2 B2=3-5              | A synced 0-2 | [2] 2 sticky A: A=0-2 B2=3-5 @7000
        sync B                           | B synced 3-5
        """
    )


def test_a_return_with_another_subscription_but_the_same_protocol_does_not() -> None:
    """The broker compares the protocol only; the new subscription is recorded and used by the next rebalance."""
    check(
        """
        join A@i1          |                  | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2     | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        restart B
        join B topics=bar  | B joined 1 range | [2] 1 range A: A=0-2 B2=3-5 @7000
        sync B             | B synced 3-5
        beat A             | A ok
        """
    )


def test_rolling_bounce_makes_no_rebalance() -> None:
    """Each instance restarts within its session timeout."""
    check(
        """
        join A@i1          |                                | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2                   | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        wait 5000
        restart A
        wait 20000
        join A             | A joined 1 range of A2,B skips | [2] 1 range A2: A2=0-2 B=3-5 @7000
        sync A             | A synced 0-2
        beat B             | B ok
        restart B
        wait 20000
        join B             | B joined 1 range               | [2] 1 range A2: A2=0-2 B2=3-5 @7000
        sync B             | B synced 3-5
        beat A             | A ok
        """
    )


def test_no_room_for_a_return_to_a_full_group() -> None:
    """As in Kafka, who comes without member id counts as one more."""
    check(
        """
        join A@i1          |              | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2 | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        restart B
        join B             | B GROUP_MAX_SIZE_REACHED
        """,
        CoordinatorConfig(group_max_size=2),
    )


@pytest.mark.parametrize(("version", "knows_itself_as_leader"), [(9, True), (8, False)])
def test_who_leads_in_the_answer_to_a_returning_leader(
    version: int, knows_itself_as_leader: bool
) -> None:
    """A client too old to skip the assignment is named the leader of before, so that it does not assign again."""
    stage = check(
        """
        join A@i1          |              | [2] 0 empty @1000
        wait 3000          | A joined 1 range of A
        sync A A=0-5       | A synced 0-5 | [2] 1 range A: A=0-5 @4000
        restart A
        """
    )
    old_member_id = next(iter(stage.driver.group().members))  # type: ignore[union-attr]
    stage.play(f"join A v={version}")
    response = stage.driver.replies[max(stage.driver.replies)]
    assert isinstance(response, JoinGroupResponse)
    leader = response.member_id if knows_itself_as_leader else old_member_id
    assert (response.leader, response.skip_assignment) == (leader, knows_itself_as_leader)
