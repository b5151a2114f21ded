"""Share groups (KIP-932)."""

from typing import Final

from workshop.lab.story import Story

INVALID_REQUEST: Final = 42

SHARE: Final = (
    Story(
        "share-joins-and-leaves",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        await                       -> assignment_only+topic_metadata_changed
        B join topics=@a            -> member_joined
        B leave                     -> member_left
        A leave                     -> member_left+group_emptied
        """,
        "4.1",
    ),
    Story(
        "share-may-not-join-without-topics",
        f"""
        topic @a 2
        A join !{INVALID_REQUEST}
        A join topics=@a            -> group_created+member_joined
        await                       -> assignment_only+topic_metadata_changed
        """,
        "4.1",
    ),
    Story(
        "share-partitions-of-one-that-left",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        await                       -> assignment_only+topic_metadata_changed
        B join topics=@a            -> member_joined
        topic @a 8
        A beat                      -> topic_metadata_changed
        await                       -> assignment_only+topic_metadata_changed
        B leave                     -> member_left
        A beat                      -> assignment_only+topic_metadata_changed / 4.3 nothing
        A beat
        """,
        "4.1",
    ),
    Story(
        "share-names-change",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        await                       -> assignment_only+topic_metadata_changed
        A beat rack=r
        A beat topics=@a,@b         -> subscription_changed
        await                       -> assignment_only+topic_metadata_changed
        """,
        "4.1",
    ),
    Story(
        "share-topic-grows",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        await                       -> assignment_only+topic_metadata_changed
        topic @a 4
        A beat                      -> topic_metadata_changed
        await                       -> assignment_only+topic_metadata_changed
        """,
        "4.1",
    ),
    Story(
        "share-session-ends",
        """
        topic @a 1
        config share.session.timeout.ms=5000 share.heartbeat.interval.ms=500
        A join topics=@a            -> group_created+member_joined
        await                       -> assignment_only+topic_metadata_changed
        B join topics=@a            -> member_joined
        B expire                    -> member_session_expired
        """,
        "4.1",
    ),
    Story(
        "share-broker-restarts",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        await                       -> assignment_only+topic_metadata_changed
        restart
        A beat
        quiet 1
        """,
        "4.1",
    ),
    Story(
        "share-offsets-are-altered",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        await                       -> assignment_only+topic_metadata_changed
        A leave                     -> member_left+group_emptied
        alter @a
        B join topics=@a            -> member_joined
        """,
        "4.1",
    ),
    Story(
        "share-altered-before-its-first-member",
        """
        topic @a 2
        alter @a
        A join topics=@a            -> group_created+member_joined
        A beat
        """,
        "4.2",
    ),
    Story(
        "share-altered-and-never-joined",
        """
        topic @a 2
        alter @a
        """,
        "4.2",
    ),
)
