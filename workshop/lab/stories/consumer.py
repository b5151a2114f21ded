"""Dynamic members of the consumer protocol."""

from typing import Final

from workshop.lab.story import Story

CONSUMER: Final = (
    Story(
        "consumer-joins-and-leaves",
        """
        topic @a 4
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        B leave                     -> member_left
        A leave                     -> member_left+group_emptied
        C join topics=@a            -> member_joined
        """,
    ),
    Story(
        "consumer-joins-without-topics-first",
        """
        topic @a 2
        A join                      -> group_created+member_joined / 4.3 nothing
        A beat topics=@a            -> subscription_changed / 4.3 subscription_changed+group_created
        B join
        B beat topics=@a            -> subscription_changed
        """,
    ),
    Story(
        "consumer-comes-and-goes-without-topics",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join
        B beat
        B leave                     -> member_left
        """,
    ),
    Story(
        "consumer-names-change",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        A beat topics=@a
        A beat topics=@a,@b         -> subscription_changed
        A beat topics=@b,@a
        A beat topics=@b            -> subscription_changed
        A beat topics=              -> subscription_changed
        A beat topics=@a            -> subscription_changed
        """,
    ),
    Story(
        "consumer-other-metadata-change",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        A beat rack=r
        A beat timeout=30000
        A beat rack=r2 timeout=20000
        """,
    ),
    Story(
        "consumer-prefers-another-assignor",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        A beat assignor=range       -> nothing / 4.4 assignor_changed
        A beat assignor=uniform     -> nothing / 4.4 assignor_changed
        """,
    ),
    Story(
        "consumer-is-outvoted-on-its-assignor",
        """
        topic @a 3
        A join topics=@a assignor=uniform -> group_created+member_joined
        B join topics=@a assignor=uniform -> member_joined
        C join topics=@a assignor=uniform -> member_joined
        C beat assignor=range
        B beat assignor=range       -> nothing / 4.4 assignor_changed
        """,
    ),
    Story(
        "consumer-topic-grows",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        topic @b 4
        A beat
        topic @a 4
        A beat                      -> topic_metadata_changed
        A beat
        """,
    ),
    Story(
        "consumer-topic-is-deleted-and-made-again",
        """
        topic @a 2
        topic @b 2
        A join topics=@a,@b         -> group_created+member_joined
        settle
        delete @b
        A beat                      -> topic_metadata_changed
        topic @b 2
        A beat                      -> topic_metadata_changed
        """,
    ),
    Story(
        "consumer-waits-for-its-topic",
        """
        A join topics=@a            -> group_created+member_joined
        A beat
        topic @a 2
        A beat                      -> topic_metadata_changed
        """,
    ),
    Story(
        "consumer-empty-join-finds-a-grown-topic",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        topic @a 4
        B join                      -> topic_metadata_changed
        """,
    ),
    Story(
        "consumer-join-meets-a-grown-topic",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        topic @a 4
        B join topics=@a            -> member_joined+topic_metadata_changed
        A beat
        """,
    ),
    Story(
        "consumer-leaves-as-a-topic-has-grown",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        topic @a 4
        B leave                     -> member_left
        A beat
        """,
    ),
    Story(
        "consumer-brings-a-new-topic",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join topics=@a,@b         -> member_joined+subscription_changed
        """,
    ),
    Story(
        "consumer-session-ends",
        """
        topic @a 4
        config consumer.session.timeout.ms=5000 consumer.heartbeat.interval.ms=500
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        B expire                    -> member_session_expired
        settle
        A expire                    -> member_session_expired+group_emptied
        """,
    ),
    Story(
        "consumer-gives-nothing-up",
        """
        topic @a 4
        A join topics=@a timeout=1500 -> group_created+member_joined
        settle
        B join topics=@a            -> member_joined
        A lag                       -> member_rebalance_timeout
        settle
        """,
    ),
    Story(
        "consumer-comes-back-under-its-id",
        """
        topic @a 2
        A join topics=@a id=same-member -> group_created+member_joined
        B join topics=@a            -> member_joined
        A leave                     -> member_left
        A join topics=@a id=same-member -> member_joined
        """,
    ),
    Story(
        "consumer-joins-again-without-leaving",
        """
        topic @a 2
        topic @b 2
        A join topics=@a id=same-member -> group_created+member_joined
        A join topics=@a id=same-member
        A join topics=@b id=same-member -> subscription_changed
        """,
    ),
    Story(
        "consumer-group-is-deleted",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        A leave                     -> member_left+group_emptied
        delete-group
        B join topics=@a            -> group_created+member_joined
        """,
    ),
    Story(
        "consumer-broker-restarts",
        """
        topic @a 2
        topic @b 2
        A join topics=@a,@b         -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        restart
        A beat
        B beat
        A beat topics=@a            -> subscription_changed
        """,
    ),
    Story(
        "consumer-broker-restarts-as-a-topic-has-grown",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        topic @a 4
        restart
        A beat                      -> topic_metadata_changed
        """,
    ),
    Story(
        "consumer-broker-restarts-then-empty-join",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        restart
        B join
        A beat
        """,
    ),
    Story(
        "consumer-session-ends-after-a-restart",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join topics=@a            -> member_joined
        settle
        restart
        config consumer.session.timeout.ms=5000 consumer.heartbeat.interval.ms=500
        A beat
        B beat
        B expire                    -> member_session_expired
        """,
    ),
)
