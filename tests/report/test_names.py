from typing import Any

import pytest

from rebalance_audit.report.names import MemberNames
from rebalance_audit.sentences.render import filled


def member(member_id: str, client_id: str, instance_id: str | None = None) -> dict[str, Any]:
    """A row of gold.members, with what names need."""
    return {
        "group_id": "g",
        "member_id": member_id,
        "client_id": client_id,
        "instance_id": instance_id,
    }


NAMES = MemberNames(
    [
        member("pod-0-1111", "pod", "pod-0"),
        member("pod-0-2222", "pod", "pod-0"),
        member("app-a-3333", "app"),
        member("app-b-4444", "app"),
        member("lone-5555", "lone"),
        member("nameless-6666", ""),
    ]
)


def test_a_static_member_keeps_its_name_over_its_member_ids() -> None:
    """Restarts of one instance read as one member."""
    assert NAMES.of("g", "pod-0-1111") == NAMES.of("g", "pod-0-2222") == "pod-0"


def test_members_of_one_client_id_differ_by_the_end_of_their_id() -> None:
    """A library's default client id is the same for every member."""
    assert [NAMES.of("g", "app-a-3333"), NAMES.of("g", "app-b-4444")] == ["app …3333", "app …4444"]


def test_a_client_id_of_its_own_is_enough() -> None:
    """A unique name needs no id."""
    assert NAMES.of("g", "lone-5555") == "lone"


def test_the_id_stands_where_nothing_else_is_known() -> None:
    """No client id, a member without a row, another group's member; and a dash for no member."""
    assert NAMES.of("g", "nameless-6666") == "nameless-6666"
    assert NAMES.of("g", "who") == "who"
    assert NAMES.of("other", "lone-5555") == "lone-5555"
    assert NAMES.of("g", None) == "–"


def test_sentences_speak_of_members_by_name() -> None:
    """A member in a sentence is a part of it; no word is taken for one, however a member is called."""
    names = MemberNames([member("longest", "evil"), member("it", "evil 2")])
    sentence = filled(
        "The longest rebalance: it held it up, {first:member} and {second:member} least.",
        {"first": "it", "second": "unknown"},
        first="longest",  # comes before the row's
    )
    expected = "The longest rebalance: it held it up, {} and unknown least."
    assert names.in_sentence("g", sentence) == expected.format("evil")
    assert sentence == expected.format("longest")


@pytest.mark.parametrize(
    ("later_ms", "age"), [(None, ""), (500, " (0 ms ago)"), (90_500, " (1 min 30 s ago)"), (-1, "")]
)
def test_the_first_moment_of_a_sentence_has_its_age(later_ms: int | None, age: str) -> None:
    """Where it is known what time it is, unless the log's clock is ahead; an id is no moment."""
    moment_ms = 1_795_252_309_463
    sentence = filled(
        "{who:member} from {first:moment} to {last:moment}",
        who="2026-11-21 09:00:00.000 UTC",
        first=moment_ms,
        last=moment_ms + 10_537,
    )
    expected = f"2026-11-21 09:00:00.000 UTC from 2026-11-21 09:11:49.463 UTC{age} to 2026-11-21 09:12:00.000 UTC"
    assert sentence.aged(None if later_ms is None else moment_ms + later_ms) == expected
