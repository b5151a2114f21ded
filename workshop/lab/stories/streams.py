"""Streams groups (KIP-1071)."""

from typing import Final

from workshop.lab.story import Story

STREAMS: Final = (
    Story(
        "streams-joins-and-leaves",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        A beat
        B join topics=@a            -> member_joined
        settle
        B leave                     -> member_left
        A leave                     -> member_left+group_emptied
        """,
        "4.1",
    ),
    Story(
        "streams-topic-grows",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        settle
        topic @a 4
        A beat                      -> topic_metadata_changed
        """,
        "4.1",
    ),
    Story(
        "streams-waits-for-its-topic",
        """
        A join topics=@a            -> group_created+member_joined
        A beat
        topic @a 2
        A beat                      -> topic_metadata_changed
        """,
        "4.1",
    ),
    Story(
        "streams-metadata-change",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        A beat tags=zone:1          -> subscription_changed
        A beat rack=r               -> subscription_changed
        A beat process=other        -> subscription_changed
        A beat timeout=20000        -> subscription_changed
        """,
        "4.1",
    ),
    Story(
        "streams-session-ends",
        """
        topic @a 2
        config streams.session.timeout.ms=5000 streams.heartbeat.interval.ms=500
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        B expire                    -> member_session_expired
        """,
        "4.1",
    ),
    Story(
        "streams-standby-replicas-are-asked-for",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        settle
        config streams.num.standby.replicas=1
        A beat                      -> nothing / 4.2 assignment_only
        """,
        "4.1",
    ),
    Story(
        "streams-broker-restarts",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        settle
        restart
        A beat
        quiet 1
        """,
        "4.1",
    ),
    Story(
        # 4.4.0 plans no warm-up tasks: a task that is restored elsewhere changes nothing.
        "streams-second-instance-restores",
        """
        topic @a 4
        topic @log 4
        A join topics=@a:@log process=one   -> group_created+member_joined
        A beat
        B join topics=@a:@log process=two   -> member_joined
        settle
        B beat restored=2:10 ends=2:90000
        B beat restored=2:90000 ends=2:90000
        A beat
        settle
        """,
        "4.4",
    ),
)
