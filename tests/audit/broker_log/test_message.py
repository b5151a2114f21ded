"""From a coordinator's words to facts: the table of wordings, against lines of real brokers and of releases' source."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.audit.broker_log.fact import MEANINGS, FactKind
from rebalance_audit.audit.broker_log.message import read_message
from rebalance_audit.audit.broker_log.wordings import PLAIN, SCOPED, Wording
from tests.support.examples import examples

K = FactKind

LINES = [
    # release, message, kind, fields besides the group
    (
        "2.0",
        "Preparing to rebalance group g with old generation 3 (__consumer_offsets-12)",
        K.REBALANCE_PREPARED,
        {"epoch": 3, "log_partition": 12},
    ),
    (
        "2.3",
        (
            "Preparing to rebalance group g in state PreparingRebalance with old generation 3 (__consumer_offsets-12) "
            "(reason: Adding new member a-1 with group instanceid None)"
        ),
        K.REBALANCE_PREPARED,
        {
            "epoch": 3,
            "log_partition": 12,
            "text": "Adding new member a-1 with group instanceid None",
        },
    ),
    (
        "3.9",
        (
            "Preparing to rebalance group g in state PreparingRebalance with old generation 3 "
            "(reason: removing member a-1 on heartbeat expiration.)."
        ),
        K.REBALANCE_PREPARED,
        {"epoch": 3, "text": "removing member a-1 on heartbeat expiration"},
    ),
    (
        "2.0",
        "Stabilized group g generation 4 (__consumer_offsets-12)",
        K.GENERATION_STABILIZED,
        {"epoch": 4, "log_partition": 12},
    ),
    (
        "3.3",
        "Stabilized group g generation 4 (__consumer_offsets-12) with 2 members",
        K.GENERATION_STABILIZED,
        {"epoch": 4, "log_partition": 12, "size": 2},
    ),
    (
        "4.3",
        "Stabilized group g generation 4 with 2 members.",
        K.GENERATION_STABILIZED,
        {"epoch": 4, "size": 2},
    ),
    (
        "3.3",
        "Group g with generation 5 is now empty (__consumer_offsets-1)",
        K.GROUP_EMPTIED,
        {"epoch": 5, "log_partition": 1},
    ),
    ("4.3", "Group g with generation 5 is now empty.", K.GROUP_EMPTIED, {"epoch": 5}),
    (
        "2.7",
        "Assignment received from leader for group g for generation 4",
        K.ASSIGNMENT_RECEIVED,
        {"epoch": 4},
    ),
    (
        "4.3",
        (
            "Assignment received from leader a-1 for group g for generation 4. The group has 3 members, 1 of which are "
            "static."
        ),
        K.ASSIGNMENT_RECEIVED,
        {"epoch": 4, "member_id": "a-1", "size": 3},
    ),
    (
        "3.3",
        (
            "Dynamic member with unknown member id joins group g in Stable state. Created a new member id a-1 and "
            "request the member to rejoin with this id."
        ),
        K.MEMBER_ID_GIVEN,
        {"member_id": "a-1"},
    ),
    (
        "4.3",
        "Pending dynamic member with id a-1 joins group g in Stable state. Adding to the group now.",
        K.MEMBER_JOINED,
        {"member_id": "a-1"},
    ),
    (
        "3.7",
        (
            "Dynamic member with unknown member id joins group g in state Stable. Created a new member id a-1 and "
            "added the member to the group."
        ),
        K.MEMBER_JOINED,
        {"member_id": "a-1"},
    ),
    (
        "3.3",
        (
            "Static member with groupInstanceId=i and unknown member id joins group g in Stable state. Created a new "
            "member id i-1 for this member and add to the group."
        ),
        K.MEMBER_JOINED,
        {"instance_id": "i", "member_id": "i-1"},
    ),
    (
        "4.3",
        (
            "Static member with groupInstanceId=i and unknown member id joins group g in Stable state. Replacing "
            "previously mapped member i-0 with this groupInstanceId."
        ),
        K.STATIC_MEMBER_REPLACED,
        {"instance_id": "i", "old_member_id": "i-0"},
    ),
    (
        "2.8",
        (
            "Static member Some(i) of group g with unknown member id rejoins, assigning new member id i-1, while old "
            "member id i-0 will be removed."
        ),
        K.STATIC_MEMBER_REPLACED,
        {"instance_id": "i", "member_id": "i-1", "old_member_id": "i-0"},
    ),
    (
        "3.3",
        "Member a-1 in group g has failed, removing it from the group",
        K.MEMBER_EXPIRED,
        {"member_id": "a-1"},
    ),
    (
        "2.3",
        "Member a-1 in group g has left, removing it from the group",
        K.MEMBER_LEFT_BY_REQUEST,
        {"member_id": "a-1"},
    ),
    (
        "3.3",
        (
            "Member MemberMetadata(memberId=i-1, groupInstanceId=Some(i), clientId=c, clientHost=/10.0.0.1, "
            "sessionTimeoutMs=6000, rebalanceTimeoutMs=60000, supportedProtocols=List(range)) has left group g through "
            "explicit `LeaveGroup`; client reason: scaled down"
        ),
        K.MEMBER_LEFT_BY_REQUEST,
        {"member_id": "i-1", "instance_id": "i", "text": "scaled down"},
    ),
    (
        "4.3",
        "[Group g] Member a-1 has left group through explicit `LeaveGroup` request; client reason: not provided",
        K.MEMBER_LEFT_BY_REQUEST,
        {"member_id": "a-1", "text": "not provided"},
    ),
    (
        "4.3",
        (
            "[GroupId g] Static member  with instance id i has left group through explicit `LeaveGroup` request; "
            "client reason: scaled down"
        ),
        K.MEMBER_LEFT_BY_REQUEST,
        {"member_id": None, "instance_id": "i", "text": "scaled down"},
    ),
    (
        "3.3",
        "Group g removed dynamic members who haven't joined: Set(a-1, a-2)",
        K.MEMBERS_NOT_REJOINED,
        {"members": ("a-1", "a-2")},
    ),
    (
        "4.3",
        "Group g removed dynamic members who haven't joined: [a-1]",
        K.MEMBERS_NOT_REJOINED,
        {"members": ("a-1",)},
    ),
    (
        "4.3",
        "Group g removed members who haven't sent their sync requests: [a-1, a-2]",
        K.MEMBERS_NOT_REJOINED,
        {"members": ("a-1", "a-2")},
    ),
    (
        "3.3",
        "Group g removed members who haven't sent their sync request: Set(a-1)",
        K.MEMBERS_NOT_REJOINED,
        {"members": ("a-1",)},
    ),
    (
        "3.7",
        "[GroupId g] Member a joins the consumer group.",
        K.MEMBER_JOINED,
        {"member_id": "a"},
    ),
    (
        "4.3",
        "[GroupId g] Static member a with instance id i joins the consumer group using the consumer protocol.",
        K.MEMBER_JOINED,
        {"member_id": "a", "instance_id": "i"},
    ),
    (
        "4.1",
        "[GroupId g][MemberId a] Member joins the streams group.",
        K.MEMBER_JOINED,
        {"member_id": "a"},
    ),
    (
        "4.3",
        (
            "[GroupId g] Static member with instance id i re-joins the consumer group using the consumer protocol. "
            "Created a new member b to replace the existing member a."
        ),
        K.STATIC_MEMBER_REPLACED,
        {"instance_id": "i", "member_id": "b", "old_member_id": "a"},
    ),
    (
        "3.7",
        "[GroupId g] Static member b with instance id i re-joins the consumer group.",
        K.STATIC_MEMBER_REPLACED,
        {"instance_id": "i", "member_id": "b"},
    ),
    ("4.3", "[GroupId g] Member a left the consumer group.", K.MEMBER_LEFT, {"member_id": "a"}),
    (
        "4.3",
        "[GroupId g] Static Member a with instance id i left the consumer group.",
        K.MEMBER_LEFT,
        {"member_id": "a", "instance_id": "i"},
    ),
    (
        "4.3",
        "[GroupId g] Static member a with instance id i temporarily left the consumer group.",
        K.MEMBER_AWAY,
        {"member_id": "a", "instance_id": "i"},
    ),
    (
        "3.9",
        "[GroupId g] Member a fenced from the group because the member session expired..",
        K.MEMBER_FENCED,
        {"member_id": "a", "text": "the member session expired"},
    ),
    (
        "4.3",
        "[GroupId g] Member a fenced from the group because it failed to transition from epoch 2 within 6000ms.",
        K.MEMBER_FENCED,
        {"member_id": "a", "text": "it failed to transition from epoch 2 within 6000ms"},
    ),
    (
        "4.3",
        (
            "[GroupId g] Static member b with instance id i cannot join the group because the instance id is owned by "
            "member a."
        ),
        K.MEMBER_REFUSED,
        {"member_id": "b", "instance_id": "i", "old_member_id": "a"},
    ),
    ("4.0", "[GroupId g] Bumped group epoch to 7.", K.EPOCH_BUMPED, {"epoch": 7}),
    (
        "4.3",
        "[GroupId g] Bumped group epoch to 7 with metadata hash -12.",
        K.EPOCH_BUMPED,
        {"epoch": 7, "metadata_hash": -12},
    ),
    (
        "4.3",
        "[GroupId g] Scanned 4 topics to refresh regular expressions [^a.*] in 6ms.",
        K.REGEXES_SCANNED,
        {"text": "[^a.*]"},
    ),
    ("4.3", "[GroupId g] Converted the classic group to a consumer group.", K.GROUP_UPGRADED, {}),
    ("4.3", "[GroupId g] Converted the consumer group to a classic group.", K.GROUP_DOWNGRADED, {}),
    ("4.3", "Loaded classic group g with 3 members.", K.GROUP_LOADED, {"size": 3}),
    (
        "3.9",
        "[GroupId=g] Unloaded group metadata for group epoch 7.",
        K.GROUP_UNLOADED,
        {"epoch": 7},
    ),
]
"""Every line was written by a broker of that release, or by its source where no capture has one; ids are shortened."""


@pytest.mark.parametrize(("release", "message", "kind", "fields"), LINES)
def test_a_line_is_read(release: str, message: str, kind: FactKind, fields: object) -> None:
    """Kind, group and every field of a wording, in whatever release."""
    del release
    found = read_message(message)
    assert found is not None
    assert (found.kind, found.fields) == (kind, {"group_id": "g", **dict(fields)})  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "message",
    [
        "Preparing to rebalance",
        "Rolled a new segment.",
        "",
    ],
)
def test_other_messages_are_passed_over(message: str) -> None:
    """A message that matches no wording decides nothing."""
    assert read_message(message) is None


def test_deleted_groups_are_listed() -> None:
    """One line may be about several groups."""
    text = "The following groups were deleted: a, b c. A total of 7 offsets were removed."
    found = read_message(text)
    assert found is not None
    assert found.fields == {"members": ("a", "b c"), "size": 7}


_IDS = st.text(string.ascii_letters + string.digits + "-_.ß日 ", min_size=1, max_size=12).map(
    lambda text: f"x{text}x"
)
_SAMPLES = {
    "epoch": st.integers(0, 2**31 - 1),
    "size": st.integers(0, 10_000),
    "metadata_hash": st.integers(-(2**63), 2**63 - 1),
    "log_partition": st.integers(0, 49),
}


@settings(max_examples=examples(6))
@given(st.data())
@pytest.mark.parametrize("wording", [*PLAIN, *SCOPED], ids=lambda wording: wording.pattern[:60])
def test_no_wording_hides_another(wording: Wording, data: st.DataObject) -> None:
    """Each row of the table, filled in with odd ids, is read as what it says and gives its ids back."""
    given_values: dict[str, object] = {}

    def fill(found: re.Match[str]) -> str:
        name = found[1]
        if name in {"…", "word"}:
            return "some"
        if name == "members":
            given_values[name] = ("m-1", "m-2")
            return "[m-1, m-2]"
        given_values[name] = data.draw(_SAMPLES.get(name, _IDS))
        return str(given_values[name])

    text = re.sub(r"\{([\w…]+)\}", fill, wording.pattern)
    if wording in SCOPED:
        given_values["group_id"] = data.draw(_IDS)
        text = f"[GroupId {given_values['group_id']}] {text}"
    found = read_message(text)
    assert found is not None, text
    assert found.kind is wording.kind, text
    for name, value in given_values.items():
        assert found.fields[name] == value, (text, name)


def test_every_kind_has_its_meaning_and_a_wording() -> None:
    """The list of facts is the list of what the tables can say, each with a sentence."""
    kinds = {wording.kind for wording in (*PLAIN, *SCOPED)} - {None}
    assert kinds == set(FactKind) == set(MEANINGS)
