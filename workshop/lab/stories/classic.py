"""The classic protocol: a join phase, then the leader's assignment. Only the outcome has a record."""

from typing import Final

from workshop.lab.story import Story

CLASSIC: Final = (
    Story(
        "classic-joins-and-leaves",
        """
        topic @a 4
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        B leave                     -> member_left
        A leave                     -> member_left+group_emptied
        C join topics=@a            -> member_joined
        """,
    ),
    Story(
        "classic-leader-leaves",
        """
        topic @a 4
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        A leave reason=the-consumer-is-being-closed -> member_left
        """,
    ),
    Story(
        "classic-rejoins",
        """
        topic @a 4
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        B rejoin
        A rejoin                    -> leader_rejoined
        """,
    ),
    Story(
        "classic-leader-sees-a-grown-topic",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        topic @a 4
        A rejoin                    -> leader_rejoined+topic_metadata_changed
        """,
    ),
    Story(
        "classic-subscription-changes",
        """
        topic @a 4
        topic @b 4
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        B rejoin topics=@a,@b       -> subscription_changed
        A rejoin topics=@b          -> subscription_changed
        """,
    ),
    Story(
        "classic-session-ends",
        """
        topic @a 4
        A join topics=@a            -> group_created+member_joined
        B join topics=@a session=5000 -> member_joined
        B expire                    -> member_session_expired
        """,
    ),
    Story(
        "classic-last-session-ends",
        """
        topic @a 4
        A join topics=@a session=5000 -> group_created+member_joined
        A expire                    -> member_session_expired+group_emptied
        """,
    ),
    Story(
        "classic-member-is-removed",
        """
        topic @a 4
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        B removed                   -> member_removed_by_admin
        """,
    ),
    Story(
        "classic-assignor-changes",
        """
        topic @a 4
        A join topics=@a assignor=range,roundrobin -> group_created+member_joined
        A rejoin assignor=roundrobin,range -> leader_rejoined+assignor_changed
        """,
    ),
    Story(
        "classic-cooperative",
        """
        topic @a 4
        A join topics=@a assignor=cooperative-sticky -> group_created+member_joined
        B join topics=@a assignor=cooperative-sticky -> member_joined
        A rejoin                    -> leader_rejoined+cooperative_follow_up
        """,
    ),
    Story(
        "classic-does-not-rejoin",
        """
        topic @a 4
        A join topics=@a timeout=5000 -> group_created+member_joined
        B join topics=@a timeout=5000 -> member_joined
        A vanish
        C join topics=@a timeout=5000 -> member_joined
        """,
    ),
    Story(
        "classic-broker-restarts",
        """
        topic @a 4
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        restart
        quiet 1
        B leave                     -> member_left
        """,
    ),
    Story(
        "classic-group-is-deleted",
        """
        topic @a 4
        A join topics=@a            -> group_created+member_joined
        A leave                     -> member_left+group_emptied
        delete-group
        B join topics=@a            -> group_created+member_joined
        """,
    ),
    Story(
        "classic-static-comes-back",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a instance=j -> static_member_joined
        B vanish
        C join topics=@a instance=j
        """,
    ),
    Story(
        "classic-static-leader-comes-back",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a instance=j -> static_member_joined
        A vanish
        C join topics=@a instance=i
        """,
    ),
    Story(
        "classic-static-comes-back-with-other-topics",
        """
        topic @a 4
        topic @b 4
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a instance=j -> static_member_joined
        B vanish
        C join topics=@a,@b instance=j
        D join topics=@a            -> member_joined
        """,
    ),
    Story(
        "classic-static-is-removed",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a instance=j -> static_member_joined
        B removed                   -> member_removed_by_admin
        """,
    ),
    Story(
        "classic-static-session-ends",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a instance=j session=5000 -> static_member_joined
        B expire                    -> member_session_expired
        """,
    ),
)
