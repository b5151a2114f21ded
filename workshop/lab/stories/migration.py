"""Members of both protocols in one group."""

from typing import Final

from workshop.lab.story import Story

MIGRATION: Final = (
    Story(
        "consumer-upgrade",
        """
        topic @a 4
        A join-classic topics=@a    -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        A rejoin
        A leave                     -> member_left
        """,
    ),
    Story(
        "consumer-upgrade-of-an-empty-group",
        """
        topic @a 4
        A join-classic topics=@a    -> group_created+member_joined
        A leave                     -> member_left+group_emptied
        renew
        B join topics=@a            -> group_created+member_joined
        """,
    ),
    Story(
        "consumer-upgrade-then-changes",
        """
        topic @a 4
        topic @b 4
        A join-classic topics=@a    -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        A rejoin topics=@a,@b       -> subscription_changed
        topic @a 6
        B beat                      -> topic_metadata_changed
        """,
    ),
    Story(
        "consumer-upgrade-and-back",
        """
        topic @a 4
        A join-classic topics=@a    -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        B leave                     -> protocol_downgraded
        """,
    ),
    Story(
        "consumer-is-joined-by-a-classic-member",
        """
        topic @a 4
        A join topics=@a            -> group_created+member_joined
        B join-classic topics=@a    -> member_joined
        settle
        B leave                     -> member_left
        """,
    ),
    Story(
        "consumer-upgrade-without-topics",
        """
        topic @a 4
        A join-classic topics=@a    -> group_created+member_joined
        B join
        B beat topics=@a            -> subscription_changed
        """,
    ),
    Story(
        "consumer-upgrade-of-a-static-member",
        """
        topic @a 4
        A join-classic topics=@a instance=i -> group_created+static_member_joined
        A vanish
        B join topics=@a instance=i
        """,
    ),
    Story(
        "consumer-static-goes-back-to-classic",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        A away
        B join-classic topics=@a instance=i
        """,
    ),
    Story(
        "consumer-upgrade-then-the-classic-member-expires",
        """
        topic @a 4
        A join-classic topics=@a session=5000 -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        A expire                    -> member_session_expired
        """,
    ),
)
