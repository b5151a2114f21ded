"""Static members of the consumer protocol."""

from typing import Final

from workshop.lab.story import Story

UNRELEASED_INSTANCE_ID: Final = 111

STATIC: Final = (
    Story(
        "consumer-static-joins-and-leaves",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a instance=j -> static_member_joined
        settle
        B leave                     -> member_left
        A leave                     -> member_left+group_emptied
        """,
    ),
    Story(
        "consumer-static-comes-back",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a            -> member_joined
        settle
        A away
        C join topics=@a instance=i
        B beat
        settle
        """,
    ),
    Story(
        "consumer-static-comes-back-with-other-topics",
        """
        topic @a 4
        topic @b 4
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a            -> member_joined
        settle
        A away
        C join topics=@b instance=i -> subscription_changed
        """,
    ),
    Story(
        "consumer-static-comes-back-with-another-assignor",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        A away
        B join topics=@a instance=i assignor=range -> nothing / 4.4 assignor_changed
        """,
    ),
    Story(
        "consumer-static-comes-back-as-a-topic-has-grown",
        """
        topic @a 2
        A join topics=@a instance=i -> group_created+static_member_joined
        A away
        topic @a 4
        B join topics=@a instance=i -> topic_metadata_changed
        """,
    ),
    Story(
        "consumer-static-comes-back-without-topics",
        """
        topic @a 2
        A join topics=@a instance=i -> group_created+static_member_joined
        A away
        B join instance=i           -> subscription_changed
        B beat topics=@a            -> subscription_changed
        """,
    ),
    Story(
        "consumer-static-stays-away",
        """
        topic @a 4
        config consumer.session.timeout.ms=5000 consumer.heartbeat.interval.ms=500
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a            -> member_joined
        settle
        A away
        A expire                    -> static_member_expired
        """,
    ),
    Story(
        "consumer-static-is-killed",
        f"""
        topic @a 4
        config consumer.session.timeout.ms=5000 consumer.heartbeat.interval.ms=500
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a            -> member_joined
        settle
        C join topics=@a instance=i !{UNRELEASED_INSTANCE_ID}
        A expire                    -> member_session_expired
        C join topics=@a instance=i -> static_member_joined
        """,
    ),
    Story(
        "consumer-static-is-removed",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        B join topics=@a            -> member_joined
        settle
        A removed                   -> member_removed_by_admin
        """,
    ),
    Story(
        "consumer-static-comes-back-after-a-restart",
        """
        topic @a 4
        A join topics=@a instance=i -> group_created+static_member_joined
        A away
        restart
        B join topics=@a instance=i
        B beat
        """,
    ),
)
