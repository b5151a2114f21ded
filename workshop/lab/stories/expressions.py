"""Regular expressions: the coordinator resolves them by itself, at most every 10 s in one group."""

from typing import Final

from workshop.lab.story import Story

INVALID_REGULAR_EXPRESSION: Final = 128

EXPRESSIONS: Final = (
    Story(
        "consumer-regex-first",
        """
        topic @a 2
        A join regex=@.*            -> group_created+member_joined / 4.3 nothing
        await                       -> regex_resolved / 4.3 regex_resolved+group_created
        settle
        B join regex=@.*            -> member_joined
        """,
    ),
    Story(
        "consumer-regex-of-a-second-member",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.*
        await                       -> regex_resolved
        settle
        """,
    ),
    Story(
        "consumer-regex-matches-nothing",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@z.*
        quiet 2
        B leave                     -> member_left
        """,
    ),
    Story(
        "consumer-regex-matches-what-others-name",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@a.*
        await                       -> regex_resolved
        """,
    ),
    Story(
        "consumer-regex-is-not-valid",
        f"""
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join regex=[ !{INVALID_REGULAR_EXPRESSION}
        A beat
        """,
    ),
    Story(
        "consumer-regex-meets-a-new-topic",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.*
        quiet 10.5
        topic @b 2
        await                       -> regex_resolved
        """,
    ),
    Story(
        "consumer-regex-topic-grows",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@a.*
        await                       -> regex_resolved
        topic @a 4
        A beat                      -> topic_metadata_changed
        quiet 11
        """,
    ),
    Story(
        "consumer-regex-join-finds-a-grown-topic",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        topic @a 4
        B join regex=@z.*           -> topic_metadata_changed
        quiet 1
        """,
    ),
    Story(
        "consumer-regex-unresolved-for-another",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@x.*
        quiet 1
        topic @a 4
        B beat regex=@y.*           -> topic_metadata_changed
        """,
    ),
    Story(
        "consumer-regex-for-one-that-matches-nothing",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.*
        await                       -> regex_resolved
        quiet 10.5
        B beat regex=@z.*
        await                       -> regex_resolved
        """,
    ),
    Story(
        "consumer-regex-for-one-that-others-have",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.*
        await                       -> regex_resolved
        A beat regex=@b.* topics=   -> subscription_changed
        """,
    ),
    Story(
        "consumer-regex-beside-a-name-for-one-that-others-have",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.*
        await                       -> regex_resolved
        A beat regex=@b.*           -> subscription_changed
        """,
    ),
    Story(
        "consumer-regex-is-given-up-for-names",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.*
        await                       -> regex_resolved
        B beat regex= topics=@b     -> subscription_changed
        """,
    ),
    Story(
        "consumer-regex-is-given-up",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join topics=@a regex=@b.* -> member_joined
        await                       -> regex_resolved
        B beat regex=               -> nothing / 4.1 subscription_changed
        """,
    ),
    Story(
        "consumer-regex-is-given-up-unresolved",
        """
        topic @a 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@z.*
        quiet 1
        B beat regex=               -> nothing / 4.1 subscription_changed
        """,
    ),
    # No topic changes here. A loaded group has no deadline for its topics' metadata (ModernGroup: EMPTY), so the next
    # heartbeat computes the subscribed topics anew from the members (GroupMetadataManager: hasMetadataExpired, then
    # computeSubscribedTopicNames), and bumps if that is not what was recorded. All that differs from the record is that
    # B gave up the only expression for @b.
    Story(
        "consumer-regex-dropped-before-a-restart",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.*
        await                       -> regex_resolved
        B beat regex=@z.*
        restart
        await                       -> subscription_changed
        quiet 1
        """,
    ),
    Story(
        "consumer-regex-not-resolved-before-a-restart",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.*
        await                       -> regex_resolved
        restart
        quiet 2
        C join regex=@a.*
        await                       -> regex_resolved
        """,
    ),
    Story(
        "consumer-regex-leaves",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.*
        await                       -> regex_resolved
        B leave                     -> member_left
        A beat
        """,
    ),
    Story(
        "consumer-regex-static-comes-back",
        """
        topic @a 2
        topic @b 2
        A join topics=@a            -> group_created+member_joined
        B join regex=@b.* instance=i
        await                       -> regex_resolved
        settle
        B away
        C join regex=@b.* instance=i
        A beat
        """,
    ),
)
