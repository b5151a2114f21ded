import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake

from rebalance_audit.bounds import Bounds
from rebalance_audit.cli import exit_codes
from rebalance_audit.figures.rows import is_classic
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.report.html.groups import GROUP_COLUMNS
from rebalance_audit.resources import checkout_root
from tests.cli.audited import audited_once
from tests.cli.call import call, segments
from tests.cli.page import Page
from tests.support.lake_without_spark import arrow_table, write_lake

BLUE = ("--cluster", "blue")
LIBRARY = checkout_root() / "src/rebalance_audit/report/html/files/echarts"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u2028'\"&\u202e"
MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real log with three groups, its coordinator moved twice."""
    path = tmp_path_factory.mktemp("failover")
    audit = audit_segments(segments("failover"))
    write_lake(path, audit.tables, "blue")
    last = {"partition": 0, "last_record_at": audit.facts.last_ms, "run_id": "1", "updated_at": 0}
    progress = arrow_table("meta.progress", [last], "blue")
    write_deltalake(str(path / "meta" / "progress"), progress)
    return path


def report(lake: Path, *arguments: str, cluster: tuple[str, ...] = BLUE) -> Page:
    """The page that a call writes."""
    out = lake / "pages" / "report.html"
    outcome = call("report", "--lake", lake, "--out", out, *cluster, *arguments)
    assert outcome.code == 0, outcome.err
    return Page(out)


@pytest.fixture(scope="module")
def page(lake: Path) -> Page:
    """The page of the real log, with all defaults."""
    return report(lake)


def rows_of(group_id: str, minute: int = 0, **columns: Any) -> dict[str, list[dict[str, Any]]]:
    """One group that was created and had one rebalance of two seconds in a minute of the log."""
    began = 1_790_000_000_000 + minute * MINUTE_MS
    own = {"group_id": group_id, "incarnation": 0, "log_partition": 0, "completeness": "complete"}
    why = {"primary_cause": "member_joined", "primary_certainty": "proven"}
    member = columns.get("member_id", "m-1")
    epoch = own | why | {"epoch": 1, "protocol": "consumer", "outcome": "converged"}
    epoch |= Bounds.exactly(1000).columns("unowned_partition")
    return {
        "epochs": [epoch | {"started_at": began, "converged_at": began + 2000, "members": 1}],
        "rebalance_causes": [
            own
            | {"epoch": 1, "cause_seq": 0, "cause": "member_joined", "certainty": "proven"}
            | {"detail": f"Member {member} joined.", "member_id": member}
        ],
        "convergence": [
            own
            | {"epoch": 1, "member_id": member, "started_at": began, "latency_ms": 2000}
            | {"outcome": "reached"}
        ],
        "rebalances": [
            own
            | why
            | {"rebalance_seq": 0, "protocol": "consumer", "started_at": began, "outcome": "stable"}
            | {"ended_at": began + 2000}
            | Bounds.exactly(1000).columns("unowned_partition")
            | Bounds.exactly(2000).columns("duration")
        ],
        "members": [
            own | {"member_id": member, "client_id": columns.get("client_id", "app")},
        ],
        "ownership": [
            own
            | {"topic": columns.get("topic", "orders"), "topic_id": "t", "topic_partition": 3}
            | {"from_offset": 7, "from_at": began + 2000, "unowned_before_ms": 1000}
            | {"member_id": member}
        ],
        "group_states": [
            own
            | {"from_offset": 7, "protocol": "consumer", "group_state": "Stable", "members": 1}
            | {"from_at": began + 2000}
        ],
        "findings": [
            own
            | {"finding_id": group_id, "kind": "slow_member", "severity": "warning"}
            | {"from_at": began, "detail": f"Member {member} was slow.", "advice": "Look at it."}
        ],
    }


def write_groups(lake: Path, *groups: dict[str, list[dict[str, Any]]]) -> None:
    """A lake with these groups."""
    write_lake(
        lake, {name: [row for group in groups for row in group[name]] for name in groups[0]}, "blue"
    )


def test_a_page_shows_how_often_how_long_why_and_what_to_do(page: Page) -> None:
    """Figures, causes with their meaning, findings with advice, every group with its members and gaps."""
    for expected in (
        "the true time of 9.8 s 31 ms – 14.1 s lies between the two",
        "neu: its longest rebalance took 12.1 s: a move of its coordinator perhaps held it up for all of it.",
        "Cluster blue · 2026-11-21 09:08 to 2026-11-21 09:09",
        "3 groups 11 epochs",
        "11 rebalances",
        "25.0 s rebalancing, over all groups ≥ 15.9 s",
        "31.3 s without owner, over all partitions ≥ 1.6 s",
        "member joined A new dynamic member joined.",
        "warning coordinator moved",
        "Check the brokers, not the clients",
        "consumer · Stable (3) · 5 rebalances · rebalancing for 15.9 s in total",
        "Partitions without owner",
    ):
        assert expected in page.text
    assert page.headings() == [
        "What deserves attention",
        "Over time",
        "Rebalances",
        "Why groups rebalanced",
        "Groups",
        "Groups in detail",
        "How to read this",
    ]
    charted = page.data
    assert sum(sum(counts) for _, _, counts in charted["buckets"]) == 11
    lost_ms = sum(sum(by_cost) for _, by_cost, _ in charted["buckets"])
    assert lost_ms == sum(bar[1] for bars in page.lanes["groups"] for bar in bars)
    pictures = [section["gantt"] for section in page.sections]
    assert [len(picture["epochs"]) for picture in pictures] == [5, 4, 2]
    assert [len(bars) for bars in page.lanes["groups"]] == [5, 4, 2]
    states = {charted["states"][state][0] for _, _, state, *_ in pictures[0]["states"]}
    assert states >= {"Stable", "Reconciling"}


def test_the_page_of_a_log_says_what_the_page_of_its_lake_says(page: Page, tmp_path: Path) -> None:
    """Both have one text and one data, but for the place that is named."""
    out, log = tmp_path / "page.html", str(segments("failover"))
    assert call("report", log, *BLUE, "--out", out).code == 0
    of_log = Page(out)
    lake = next(text for text in page.texts if "Made by" in text).split(" from ")[1].split(".")[0]
    assert lake not in of_log.text
    named = f"--lake {lake} --cluster blue"
    assert of_log.text == page.text.replace(named, log).replace(lake, log)
    assert of_log.data == page.data


def test_a_section_shows_what_the_tables_say_of_members(page: Page) -> None:
    """Its lanes: each stretch of ownership, whoever gave up, whoever waited, for whom; a static member has one lane."""
    tables = audited_once(segments("failover")).tables
    for group, section in zip(page.data["groups"], page.sections, strict=True):
        own = [row for row in tables["ownership"] if row["group_id"] == group["cells"][0]]
        progress = [row for row in tables["convergence"] if row["group_id"] == group["cells"][0]]
        picture = section["gantt"]
        assert len(picture["lanes"]) == len({row["instance_id"] or row["member_id"] for row in own})
        held = sum((to - began) * count for _, began, to, count, *_ in picture["owned"])
        assert held == sum((row["to_at"] or page.data["to"]) - row["from_at"] for row in own)
        assert sum(to - began for _, began, to, *_ in picture["held"]) == held
        if not any(
            is_classic(row) for row in tables["epochs"] if row["group_id"] == group["cells"][0]
        ):
            assert all(certain for *_, certain in (*picture["held"], *picture["owned"]))
        waits = [row for row in progress if row["waited_ms"]]
        assert sum(mark[3] is not None for mark in picture["on_the_way"]) == len(waits)
        given_up = [row for row in progress if row["revoke_started_at"] is not None]
        assert len(picture["giving_up"]) == len(given_up)


def test_lag_has_lanes_where_it_is_known(tmp_path: Path) -> None:
    """Lag and commit rate over all partitions of the group, minute by minute; null where neither is known."""
    tables = rows_of("g")
    began = 1_790_000_000_000 // MINUTE_MS * MINUTE_MS
    known = {"committed_per_second": 20.5, "lag_records_min": 30, "lag_max_ms": 9_000}
    minutes: list[dict[str, Any]] = [
        {**known, "lag_records_max": 30},
        {"committed_per_second": None, "lag_records_min": None, "lag_records_max": None},
    ]
    progress = [
        {
            **columns,
            "group_id": "g",
            "topic": "orders",
            "topic_partition": number,
            "minute": began + place * MINUTE_MS,
            "log_partition": 0,
            "committed_offset": 1,
            "last_commit_at": began,
            "is_transactional": False,
            "commits": 1,
            "handovers": 0,
        }
        for place, columns in enumerate(minutes)
        for number in (0, 1)
    ]
    write_lake(tmp_path, {**tables, "progress": progress}, "blue")
    (section,) = report(tmp_path).sections
    marks = [mark[2:] for mark in section["gantt"]["lag"]]
    assert marks == [
        [
            60,
            "lag of 2 partitions: 60 records, waiting for up to 9.0 s",
            41.0,
            "commits of 2 partitions: 41.0 records a second",
        ],
        [None, "", None, ""],
    ]


def test_a_log_of_two_weeks_names_the_groups_that_got_worse(tmp_path: Path) -> None:
    """By how much longer they were not stable in the last seven days; a shorter log has no such table."""
    week = 7 * 24 * 60
    groups = rows_of("was"), rows_of("is", minute=week + 60), rows_of("end", 2 * week)
    write_groups(tmp_path, *groups)
    said = report(tmp_path).text.partition("against the seven before")[2].partition("best est")[0]
    assert re.search(r"\bend 2\.0 s\s+0 ms 2\.0 s\s+0 1 is 2\.0 s\s+0 ms 2\.0 s\s+0 1 Not", said)
    short = report(tmp_path, "--to", "2026-09-28")
    assert "against the seven before" not in short.text


def test_two_minutes_are_more_than_a_few_bars(page: Page) -> None:
    """Pieces of time are as fine as a hundred bars allow: a minute and a half is shown by the second."""
    assert page.data["bucket_ms"] == 1000


def test_a_page_loads_nothing_and_runs_only_its_own_scripts(page: Page) -> None:
    """No address to fetch from in any tag or style, and a policy that names the hashes of the two scripts."""
    assert {tag for tag, _ in page.tags} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
    } == set()
    assert [
        attributes for _, attributes in page.tags if {"src", "srcset", "data"} & set(attributes)
    ] == []
    assert "url(" not in page.source.partition("</style>")[0]
    assert all(
        (attributes["href"] or "").startswith("#")
        for _, attributes in page.tags
        if "href" in attributes
    )
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert len(re.findall(r"'sha256-[^']+'", policy)) == len(page.scripts) - 3 == 2


def test_names_out_of_the_log_are_text_and_nothing_else(tmp_path: Path) -> None:
    """Whoever joins a group chooses its names: markup, quotes and control characters are shown as text."""
    group = rows_of(HOSTILE, member_id=HOSTILE, client_id=HOSTILE, topic=HOSTILE)
    write_groups(tmp_path, group)
    page = report(tmp_path)
    assert len(page.scripts) == 5
    assert [tag for tag, _ in page.tags if tag == "img"] == []
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    spelled = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\\u2028'\"&\\u202e"
    assert page.text.count(spelled) >= 5
    assert page.data["groups"][0]["cells"][0] == spelled
    assert "\u202e" not in page.source


@pytest.mark.parametrize(
    ("window", "groups"),
    [
        ([], ["early", "late"]),
        (["--from", "2026-09-21T14:30:00Z"], ["late"]),
        (["--to", "2026-09-21T14:30:00Z"], ["early"]),
    ],
)
def test_a_window_leaves_out_what_began_outside_of_it(
    window: list[str], groups: list[str], tmp_path: Path
) -> None:
    """Rebalances, causes, charts; a state lasts, so a group whose state spans the window is counted."""
    write_groups(tmp_path, rows_of("early"), rows_of("late", minute=60))
    page = report(tmp_path, *window)
    rebalances = {row["cells"][0]: row["cells"][3] for row in page.data["groups"]}
    assert [name for name in sorted(rebalances) if rebalances[name] == "1"] == groups
    assert f"{len(groups)} rebalances" in page.text


def test_ten_thousand_groups_make_a_page_that_still_opens(tmp_path: Path) -> None:
    """All can be searched for and opened, five hundred and one asked for by name with members; under 5 MB."""
    write_groups(
        tmp_path, *(rows_of(f"group-{number:05}", number % 600) for number in range(10_000))
    )
    page = report(tmp_path, "--group", "group-09999")
    assert len(page.source) < 5_000_000
    assert "10,000 groups 10,000 epochs" in page.text
    assert len(page.data["groups"]) == 10_000
    assert len(page.sections) == 501
    assert page.data["groups"][-1]["section"] == 0
    assert page.data["groups"][5_000]["section"] is None
    assert all(group["link"] for group in page.data["groups"])
    assert "… and 9,995 more in the table gold.findings" in page.text
    assert len(page.data["buckets"]) <= 100


def test_an_empty_lake_is_a_page_that_says_so(tmp_path: Path) -> None:
    """The cluster's log has no groups yet: no figure, no chart, only a hint."""
    write_lake(tmp_path, dict.fromkeys(rows_of("g"), ()), "blue")
    page = report(tmp_path)
    assert "No group here" in page.text
    assert page.scripts == []


def test_the_summary_is_what_the_page_shows(lake: Path, tmp_path: Path) -> None:
    """For programs: --json and --summary have the figures of the page and where it is."""
    out, summary = tmp_path / "page.html", tmp_path / "summary.json"
    outcome = call("report", "--lake", lake, *BLUE, "--out", out, "--json", "--summary", summary)
    printed = json.loads(outcome.out)
    assert printed == json.loads(summary.read_text())
    assert (printed["groups"], printed["rebalances"], printed["not_stable_min_ms"]) == (
        3,
        11,
        15895,
    )
    # One generation follows a move of the coordinator: its join phase has no known upper bound.
    assert printed["not_stable_max_ms"] is None
    assert printed["not_stable_ms"] is None
    assert printed["not_stable_min_ms"] < printed["not_stable_estimate_ms"]
    assert printed["bytes"] == out.stat().st_size
    assert printed["groups_in_detail"] == ["neu", "klassik", "ortsfest"]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (
            ["--lake", "/nowhere"],
            exit_codes.NOT_READABLE,
            "/nowhere does not exist: --lake is the folder",
        ),
        ([], exit_codes.BAD_ARGUMENTS, "No source given: give SEGMENTS or --lake DIR."),
        (
            ["--lake", "LAKE", "--cluster", "b"],
            exit_codes.NOT_READABLE,
            "no run of cluster b; it has blue.",
        ),
        (["--lake", "LAKE", "--group", "nue"], exit_codes.BAD_ARGUMENTS, "did you mean 'neu'"),
        (
            ["--lake", "LAKE", "--from", "2026-11-22", "--to", "2026-11-21"],
            2,
            "The window is empty",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence_and_no_page(
    arguments: list[str], code: int, sentence: str, lake: Path, tmp_path: Path
) -> None:
    """A folder that is no lake, no lake at all, a cluster and a group that it lacks, an empty window."""
    out = tmp_path / "page.html"
    placed = [str(lake) if argument == "LAKE" else argument for argument in arguments]
    outcome = call("report", "--out", out, *BLUE, *placed)
    assert (outcome.code, outcome.out) == (code, "")
    assert sentence in outcome.err
    assert not out.exists()


def test_a_lake_of_one_cluster_needs_no_name_of_it(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That cluster is taken where nothing names one; what is named counts, wherever it is named."""
    assert "Cluster blue" in report(lake, cluster=()).text
    explained = call("explain", "--lake", lake, "neu", "--json")
    assert '"cluster": "blue"' in explained.out
    file = tmp_path / "own.toml"
    file.write_text('cluster = "default"\n')
    unknown = f"{lake} has no run of cluster default; it has blue."
    assert unknown in call("explain", "--lake", lake, "missing", "--config", file).err
    monkeypatch.setenv("REBALANCE_AUDIT_CLUSTER", "default")
    assert unknown in call("report", "--lake", lake, "--out", tmp_path / "page.html").err


def test_the_chart_library_is_the_one_that_its_provenance_names() -> None:
    """The checksum of the file is the recorded one, so an edited or half-replaced copy is noticed."""
    named = re.search(r"`([0-9a-f]{64})`", (LIBRARY / "PROVENANCE.md").read_text())
    assert named is not None
    assert hashlib.sha256((LIBRARY / "echarts.min.js").read_bytes()).hexdigest() == named[1]


def test_a_section_begins_with_who_held_the_longest_rebalance_up(tmp_path: Path) -> None:
    """As `explain` says it, and in the table of those that held the group up."""
    write_lake(tmp_path, audit_segments(segments("consumer-protocol"), ("stuck",)).tables, "blue")
    said = report(tmp_path).text.partition("How to read this")[2]
    assert "stuck-0 at 127.0.0.1 held it up for" in said.partition("Who held it up")[0]
    assert re.search(r"Longest\s+Why\s+stuck-0\s", said)


def test_a_picture_for_a_ticket(lake: Path, tmp_path: Path) -> None:
    """From segments and from a lake; of a group that is there."""
    for source in ([segments("failover")], ["--lake", lake, *BLUE]):
        out = tmp_path / "folder" / "neu.png"
        outcome = call("report", *source, "--png", "neu", "--out", out)
        assert (outcome.code, outcome.out) == (0, f"{out}\n"), outcome.err
        assert out.read_bytes().startswith(b"\x89PNG")
        out.unlink()
    wrong = call("report", segments("failover"), "--png", "ne", "--out", tmp_path / "x.png")
    assert (wrong.code, (tmp_path / "x.png").exists()) == (2, False)
    assert "did you mean 'neu'?" in wrong.err


def test_a_unit_stays_on_the_line_of_its_number(tmp_path: Path) -> None:
    """However narrow the page is. What links and filters compare with keeps its blanks."""
    write_groups(tmp_path, rows_of("every 5 min"))
    page = report(tmp_path)
    assert "2.0\N{NO-BREAK SPACE}s" in page.texts
    assert not [text for text in page.texts if re.search(r"\d (ms|s|min)\b", text)]
    assert "every 5 min" in {value for _, attributes in page.tags for value in attributes.values()}


def test_a_share_group_is_not_said_to_have_owners(tmp_path: Path) -> None:
    """Members have partitions in common: lanes say *at least*, and a time without owner is not known, not 0."""
    out = tmp_path / "page.html"
    assert call("report", segments("share-streams"), "--out", out).code == 0
    page = Page(out)
    column = [heading for heading, _ in GROUP_COLUMNS].index("Without owner")
    cells = {group["cells"][0]: group["cells"] for group in page.data["groups"]}
    sections = {group["cells"][0]: group["section"] for group in page.data["groups"]}
    owned = {name: page.sections[at]["gantt"] for name, at in sections.items()}
    for name, shared in (("sharers", True), ("short-share", True), ("plain", False)):
        assert (cells[name][column] == ["unknown", ""]) == shared
        assert ("in common" in owned[name]["note"]) == shared
        for *_, text, _ in owned[name]["owned"]:
            assert text.startswith("had at least " if shared else "owned ")
    assert "for unknown" not in page.text
    printed = call("explain", segments("share-streams"), "sharers").out
    assert "rebalancing for 3.3 s" in printed
    assert "without owner for" not in printed
