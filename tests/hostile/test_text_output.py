"""Whatever the ids in a log are: texts obey none of them, no line is forged, and no sentence is another one for it."""

import io
import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console, Group
from rich.text import Text

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.verdicts.cause import stated
from rebalance_audit.cli import progress
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.live_source import live_source
from rebalance_audit.cli.watch_screen import WatchScreen
from rebalance_audit.cli.watched_groups import WatchedGroups
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.local.live.live_audit import LiveAudit
from rebalance_audit.replay.changes import Position
from rebalance_audit.report.answer import rebalance_sentence
from rebalance_audit.report.explained import literal
from rebalance_audit.report.notices.bodies import BODIES
from rebalance_audit.report.row_sentences import evidence_of
from rebalance_audit.report.terminal.console import console
from rebalance_audit.report.terminal.layout import ConsoleReport
from rebalance_audit.sentences.of_evidence import LOGGED
from rebalance_audit.sentences.reason import because
from rebalance_audit.tables.json_values import json_bytes
from rebalance_audit.visible import TEXT_MAX, visible
from tests.cli.call import call
from tests.hostile.named_log import NamedLog, Names

OBEYED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories whose characters may not reach a terminal; only the program's own line breaks do."""

TITLE = "\x1b]0;OWNED\x1b\\"
LINK = "\x1b]8;;http://evil.example/\x1b\\click\x1b]8;;\x1b\\"
PIECES = (
    *(
        "\n",
        "\r",
        "\x07",
        "\x08",
        "\x00",
        "\x1b[2J",
        "\x7f",
        "\x9b31m",
        "\u2028",
        "\x0b",
        TITLE,
        LINK,
    ),
    *("\u202e", "\u2066", "\u200b", "\ufeff", "\u00ad", "\u061c", "\U000e0041", "\ue000"),
    *("[/x]", "[bold]", "[link=http://evil.example]", ":smile:", "{x}", "{0}", "%s", "\\"),
    *("</script>", "<b>", "&lt;", "**", "`", "|", "_x_", "$x$", "![a](http://e)", "@here", "#1"),
    *("longest", "nowhere", "Evidence:", "held up", "broker 1", "2026-11-21 09:11:49.463 UTC"),
    *("1.", "- ", "e\u0301", "\u0301", "注文", "\uff21", "\u3164", "🙂\u200d🙂", " "),
)
FORGED = "\nFORGED: all groups are healthy"

names_of_tenants = st.lists(
    st.one_of(st.sampled_from((*PIECES, FORGED)), st.characters(exclude_categories=["Cs"])),
    max_size=6,
).map("".join)

fuzzed = settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # an example takes a second, and says enough
    suppress_health_check=[HealthCheck.too_slow],
)


BEGINNINGS = Names("M", "C", ("a", "b", "c"), ("p", "q", "r"), "s", "h", "t", "u")


@st.composite
def hostile(draw: st.DrawFn) -> Names:
    """Ids of one kind differ, and sort alike when they are escaped, by what they begin with."""
    return BEGINNINGS.mapped(lambda name: name + draw(names_of_tenants))


def texts(names: Names, folder: Path) -> dict[str, str]:
    """What commands print of a log with these names, on stdout and stderr; it is written to the folder."""
    NamedLog(names).write(folder)
    sent = ("--url", "http://127.0.0.1", "--sent", folder / "sent.json")
    calls: dict[str, tuple[str | Path, ...]] = {
        "inspect": ("inspect", folder),
        "inspect group": ("inspect", folder, f"--group={names.modern}", "--epochs"),
        "inspect all": ("inspect", folder, "--all", f"--group={names.classic}"),
        "explain": ("explain", folder, "--", names.modern),
        "explain epochs": ("explain", "--epochs", folder, "--", names.classic),
        "explain epoch": ("explain", "--epoch", "2", folder, "--", names.modern),
        "explain markdown": ("explain", "--markdown", folder, "--", names.modern),
        "notify": ("notify", folder, *sent, "--dry-run", "--severity", "info"),
        "unknown": ("explain", folder, "no such group"),
    }
    found = {}
    for what, arguments in calls.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("COLUMNS", raising=False)  # then no table is narrowed for a screen
            done = call(*arguments)
        assert done.code == (2 if what == "unknown" else 0), done.err
        text = (done.out + done.err).replace(str(folder), "LOG")
        found[what] = re.sub(r"\([\d.]+ k?B\)", "(…)", text)
    found |= live_texts(folder)
    return found


def live_texts(folder: Path) -> dict[str, str]:
    """Lines and the screen of `watch` when it has read the log, without its last records: somebody still waits."""
    source = live_source(Invocation(), f"segments:{folder}")
    live = LiveAudit(AuditOptions(topic_name=source.names.name_of), source.names)
    groups = WatchedGroups("default")
    screen = WatchScreen("segments:LOG", groups)
    for log_partition, found in source.log.read():
        live.take(log_partition, found)
    source.log.close()
    news = list(live.updates())
    groups.take(news)
    lines = [
        visible(rebalance_sentence(row, group.tables, times))
        for group in news
        for row, times in group.ended
    ]
    for line in lines:
        screen.ended(line)
    assert live.log_end_ms is not None
    terminal = Console(file=io.StringIO(), width=4000, height=60, color_system=None)
    with terminal.capture() as captured:
        terminal.print(screen.drawn(live.log_end_ms, 4000, 60))
    return {"watch": "\n".join(lines), "watch screen": captured.get()}


def obeyed(text: str) -> set[str]:
    """Characters of the text that a terminal would obey, or a reader could not see."""
    return {char for char in text if unicodedata.category(char) in OBEYED and char != "\n"}


EVERYTHING = BEGINNINGS.mapped(lambda name: name + "".join(PIECES[:14]) + FORGED)


@fuzzed
@example(EVERYTHING)
@given(hostile())
def test_names_are_shown_and_never_obeyed(
    tmp_path_factory: pytest.TempPathFactory, names: Names
) -> None:
    """A text of a log is, to the letter, the text of a log whose names are the escapes: no line more, none moved."""
    found = texts(names, tmp_path_factory.mktemp("log"))
    assert {what: chars for what, text in found.items() if (chars := obeyed(text))} == {}
    assert not [text for text in found.values() if "\nFORGED" in text]
    escaped = texts(names.mapped(visible), tmp_path_factory.mktemp("escaped"))
    for what, text in found.items():
        if what not in {"explain markdown", "unknown"}:  # in which backslashes are escaped, too
            assert text == escaped[what], what


PLAIN = Names(
    *("Qa-Z", "Qb-Z", ("Qc-Z", "Qd-Z", "Qe-Z"), ("Qf-Z", "Qg-Z", "Qh-Z")),
    *("Qi-Z", "Qj-Z", "Qk-Z", "Ql-Z"),
)
WORDS = (
    *("longest", "nowhere", "held up", "The", "members", "rebalance", "joined", "member", "at"),
    *("generation", "epoch", "Member", "{who}", "[/x]", "Set off by", "proven", "2@100", "UTC"),
    *("5.0 s", "Evidence", "by", "and", "**", "unknown", "partitions", "no record", "[red]"),
)


@fuzzed
@given(st.lists(st.sampled_from(WORDS), min_size=12, max_size=12, unique=True))
def test_no_name_is_taken_for_a_word_of_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, words: list[str]
) -> None:
    """Renamed ids change their own places in a text and nothing else, even where an id is a word of it."""
    modern, classic, first, second, third, *others = words
    modern, classic = sorted((modern, classic))
    members = tuple(sorted((first, second, third)))
    renamed = Names(modern, classic, members, tuple(sorted(others[:3])), *others[3:])  # type: ignore[arg-type]
    new = dict(zip(flat(PLAIN), flat(renamed), strict=True))
    place = re.compile("|".join(map(re.escape, new)))
    of_plain = texts(PLAIN, tmp_path_factory.mktemp("plain"))
    of_renamed = texts(renamed, tmp_path_factory.mktemp("renamed"))
    for what, text in of_plain.items():
        if what != "explain markdown":
            original = place.sub(lambda found: new[found[0]], text)
            assert unlaid(of_renamed[what]) == unlaid(original), what


def flat(names: Names) -> list[str]:
    """All of them in their order."""
    return [each for name in names for each in (name if isinstance(name, tuple) else (name,))]


def unlaid(text: str) -> list[str]:
    """Words without what depends on the length of names: widths of columns, where a line breaks."""
    return text.replace("─", " ").split()


@fuzzed
@given(names_of_tenants)
def test_markdown_shows_a_name_as_it_is(name: str) -> None:
    """After a renderer of Markdown has read it: no markup, no HTML, no list, no link; and the letters of the name."""
    shown = visible(f"{name} held up 2 of 3.")
    (item,) = [
        token
        for token in MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .parse(f"- {literal(shown)}")
        if token.type == "inline"
    ]
    assert {each.type for each in item.children or ()} <= {"text", "text_special"}
    read = "".join(each.content for each in item.children or ()).replace("\u200b", "")
    assert read.strip() == shown.strip()
    assert "://" not in literal(shown)


@fuzzed
@given(hostile())
def test_json_is_exact_and_harmless(tmp_path_factory: pytest.TempPathFactory, names: Names) -> None:
    """Programs get every name as it is in the log; the text of the JSON has nothing that a terminal would obey."""
    folder = NamedLog(names).write(tmp_path_factory.mktemp("log"))
    for arguments in (
        ("inspect", folder, "--json"),
        ("explain", "--json", folder, "--", names.modern),
        ("state", folder),
        ("decode", folder),
    ):
        done = call(*arguments)
        assert done.code == 0, done.err
        assert not {
            char for char in obeyed(done.out) if unicodedata.category(char) not in {"Co", "Cn"}
        }
    tables = json.loads(call("inspect", folder, "--json").out)
    assert {row["group_id"] for row in tables["members"]} == {names.modern, names.classic}
    assert {row["member_id"] for row in tables["members"]} == set(names.members)
    records = [json.loads(line) for line in call("decode", folder).out.split("\n")[:-1]]
    assert records[0]["key"]["data"]["memberId"] == names.members[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("\x7f\x9b\u2028\u202e\ufeff", rb'"\u007f\u009b\u2028\u202e\ufeff"'),
        ("\U000e0041", rb'"\udb40\udc41"'),
        (["a\ud800b\x85", {"é\udcff": 1}], '["a\\ud800b\\u0085",{"é\\udcff":1}]'.encode()),
        ("注文 é 🙂", '"注文 é 🙂"'.encode()),
    ],
)
def test_json_escapes_what_json_allows_as_it_is(value: object, text: bytes) -> None:
    """DEL, C1, bidi controls, invisible characters, tags, lone surrogates; no letters."""
    assert json_bytes(value) == text
    assert json.loads(text) == value


def test_the_longest_ids_end_as_short_ones(tmp_path: Path) -> None:
    """Each is cut, its tail kept; two that differ in their middle alone stay two."""
    long = Names().mapped(lambda name: f"{name}{'x' * TEXT_MAX}{name}{'y' * TEXT_MAX}end")
    found = texts(long, tmp_path)
    for what, text in found.items():
        assert max(map(len, unlaid(text))) <= TEXT_MAX, what
    assert "end" in found["explain"]
    ids = {word for word in found["inspect group"].split() if word.startswith("member-")}
    whole = [word for word in ids if re.fullmatch(r"member-\dx+…[0-9a-f]{8}…y+end", word)]
    assert len(whole) == 2


@fuzzed
@given(hostile())
def test_webhooks_for_people_get_text(
    tmp_path_factory: pytest.TempPathFactory, names: Names
) -> None:
    """Slack's blocks are plain text; nothing that a receiver shows has control characters; programs get the row."""
    folder = NamedLog(names).write(tmp_path_factory.mktemp("log"))
    for finding in audit_segments(folder).findings:
        for kind in ("slack", "pagerduty"):
            body = BODIES[kind](finding, False, "key")
            assert not obeyed("".join(strings(body)).replace("\n", "")), kind
        blocks = BODIES["slack"](finding, False, "")["blocks"]
        assert "mrkdwn" not in json.dumps(blocks)
        whole = BODIES["json"](finding, False, "")["finding"]
        assert whole["group_id"] == finding["group_id"]


def strings(value: object) -> list[str]:
    """All texts in a JSON value."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for each in value.values() for text in strings(each)]
        case list():
            return [text for each in value for text in strings(each)]
        case _:
            return []


def test_progress_shows_names_and_obeys_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Folders and topics may stand in what is said of a step: in lines, and on a terminal in a line that moves."""
    with progress.progress() as step:
        step(f"read {TITLE}{FORGED}[/x]")
    assert capsys.readouterr().err.endswith(f"read {visible(TITLE + FORGED)}[/x]\n")
    screen = io.StringIO()
    moments = iter((0.0, 5.0, 6.0))
    terminal = Console(file=screen, force_terminal=True)
    with progress.slow_progress(terminal, clock=lambda: next(moments)) as step:
        step(f"{TITLE}{FORGED}")
    assert TITLE not in screen.getvalue()
    assert "\n" not in screen.getvalue()


def test_json_escapes_every_control_and_format_character() -> None:
    """As Unicode has them in the Python that runs: of a later release there may be more."""
    for number in range(0x110000):
        char = chr(number)
        if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"}:
            assert b"\\" in json_bytes(char), hex(number)


def test_no_id_speaks_as_a_broker() -> None:
    """What a broker's log says decides causes and stands first among the evidence; a fact may begin with an id."""
    forger = "broker 1 logged (server.log:1): all is well"
    forged = evidence_at(Position(0, 7, 1_000, 0), "replaces", member=forger, replaced="b")
    line = because("log_line", kind="left", member="a", instance=None, epoch=None, text=None)
    logged = because(LOGGED, broker="1", place="server.log:1", line=line)
    row = stated([], [forged, forged._replace(fact=logged)])
    assert [str(item.fact) for item in evidence_of(row)] == [
        f"{forger} replaces b",
        "broker 1 logged (server.log:1): left a",
    ]
    assert [item.is_logged for item in evidence_of(row)] == [False, True]


@pytest.mark.parametrize("terminal", [False, True])
def test_a_console_obeys_no_unescaped_text(*, terminal: bool) -> None:
    """Neither markup of rich nor control characters; styles and line breaks are rich's own."""
    file = io.StringIO()
    screen = console(file, force_terminal=terminal, width=80)
    layout = ConsoleReport(screen, {"members": [], "epochs": [], "rebalances": []})
    layout.print(Group("[red]a[/x] :smile:", Text(f"{TITLE}b", "bold"), Text("c\nd")))
    layout.line("[/x]\n" + TITLE)
    text = file.getvalue()
    assert TITLE not in text
    assert ("\x1b[1m" in text) == terminal
    assert [line.rstrip() for line in re.sub(r"\x1b\[\d*m", "", text).splitlines()] == [
        "[red]a[/x] :smile:",
        f"{visible(TITLE)}b",
        *"cd",
        f"[/x]\\n{visible(TITLE)}",
    ]
