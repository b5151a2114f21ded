import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import click
import pytest
from rich.console import Console

from rebalance_audit.cli import exit_codes, main
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.progress import progress, slow_progress, slow_step
from rebalance_audit.cli.source import DEFAULTS, AuditSettings
from rebalance_audit.config import load_config
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.version import __version__
from tests.cli.call import PROGRAM, call, process, segments

BIG_ENOUGH = 16 << 20
"""Four times what justifies a second process; the output is a thousand times what a pipe holds."""


@pytest.mark.parametrize("flags", [(), ("-h",), ("--help",)])
def test_help_lists_every_command_with_examples(flags: tuple[str, ...]) -> None:
    """A newcomer who types only the name learns what there is, how to begin and what the exit codes mean."""
    outcome = call(*flags)
    assert outcome.code == 0
    for command, summary in main.COMMANDS.items():
        assert f"  {command} " in outcome.out
        assert summary in " ".join(outcome.out.split())
    assert "Examples:" in outcome.out
    assert "3 source or lake not" in outcome.out


@pytest.mark.parametrize("command", main.COMMANDS)
def test_every_command_has_help_with_examples(command: str) -> None:
    """Each command says what it does and shows a command line that works."""
    outcome = call(command, "--help")
    assert outcome.code == 0
    assert "Examples:" in outcome.out
    assert f"rebalance-audit {command}" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 100


def test_version() -> None:
    """The version alone, for scripts and bug reports."""
    assert call("--version") == (0, f"rebalance-audit {__version__}\n", "")


def test_every_named_error_exists() -> None:
    """The table of exit codes names classes by path; each path leads to a class."""
    for path in exit_codes.CODE_BY_ERROR:
        module, _, name = path.rpartition(".")
        assert issubclass(getattr(import_module(module), name), Exception)


def test_defaults_without_configuration_are_those_of_the_configuration() -> None:
    """The quick path around loading the configuration gives the same as loading it."""
    config = load_config()
    rules, thresholds = config.audit.departure_rules(), config.findings.finding_rules()
    zone = config.audit.broker_log_time_zone
    assert AuditSettings(config.cluster, rules, thresholds, zone) == DEFAULTS


# --- what goes wrong -----------------------------------------------------------------------------


def other_topic(tmp_path: Path) -> Path:
    """A folder with a segment of another topic."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(b"")
    return folder


def unreadable(tmp_path: Path) -> Path:
    """A folder whose only segment is a broken link: not even root can read it."""
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / f"{0:020}.log").symlink_to(tmp_path / "gone")
    return tmp_path


def empty(tmp_path: Path) -> Path:
    """A folder with nothing in it."""
    return tmp_path


def text(tmp_path: Path) -> Path:
    """A text file under the name of a segment."""
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_text("no segment\n" * 99)
    return tmp_path


def garbage(tmp_path: Path) -> Path:
    """Bytes without a batch where a segment should be."""
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(bytes(range(255, 0, -1)) * 40)
    return tmp_path


def missing(tmp_path: Path) -> Path:
    """A path where there is nothing."""
    return tmp_path / "nothing"


@pytest.mark.parametrize("command", ["decode", "state", "inspect"])
@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        (missing, r"Error: \S+/nothing does not exist\."),
        (empty, r"Error: \S+ holds no segments of __consumer_offsets; looked for .*\."),
        (
            other_topic,
            r"Error: \S+/orders-0 is a partition folder of topic orders, not of __con.*\.",
        ),
        (text, r"Error: \S+/__consumer_offsets-0/0{20}\.log is a text file, not a segment\."),
        (garbage, r"Error: \S+/0{20}\.log holds no batch of records: it is not a segment\."),
        (unreadable, r"Error: \S+/__consumer_offsets-0/0{20}\.log cannot be read: .*\."),
    ],
)
def test_a_source_that_cannot_be_read_is_one_sentence_and_a_3(
    command: str, folder: Callable[[Path], Path], sentence: str, tmp_path: Path
) -> None:
    """The sentence names the path and what was expected; stdout stays empty."""
    outcome = call(command, folder(tmp_path))
    assert (outcome.code, outcome.out) == (exit_codes.NOT_READABLE, "")
    assert re.fullmatch(sentence, outcome.err.strip())


def test_a_lake_that_is_not_there_is_one_sentence_and_a_3(tmp_path: Path) -> None:
    """The same for a lake as for a source."""
    for cluster in ((), ("--cluster", "blue")):
        for place, sentence in (
            (tmp_path / "lake", "does not exist: --lake is the folder that"),
            (tmp_path, "is no lake: it has no table meta.runs,"),
            (segments("failover"), "holds segments and is no lake: leave --lake out."),
        ):
            outcome = call("state", "--lake", place, *cluster)
            assert (outcome.code, outcome.out) == (exit_codes.NOT_READABLE, "")
            assert outcome.err.startswith(f"Error: {place} {sentence}")
            assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "No such command 'nonsense'."),
        (["inspcet"], "No such command 'inspcet'. Did you mean 'inspect' or 'ingest'?"),
        (["inspect", "LOG", "--table", "epochs"], "--table and --versioned go with --json."),
        (["inspect", "LOG", "--versioned"], "--table and --versioned go with --json."),
        (
            ["inspect", "LOG", "--from", "2026-12-01", "--to", "2026-11-01"],
            "--from has to be before",
        ),
        (["inspect", "LOG", "--limit", "3", "--all"], "Give --all or --limit, not both."),
        (["decode"], "Missing argument 'SEGMENTS'."),
        (["inspect", "LOG", "--group", "bet"], "no group 'bet' in this log; did you mean 'beta'?"),
        (
            ["inspect", "LOG", "--group", "payments-of-no-one"],
            "which has 'alpha', 'beta', 'brief', 'client-regex', 'regex', 'slow', 'stall', 'stuck'.",
        ),
        (["state", "LOG", "--group", "bet"], "no group 'bet' in this log; did you mean 'beta'?"),
        (
            ["state", "LOG", "--at", "yesterday"],
            "'yesterday' is not a time. Write 2026-11-21T03:12Z",
        ),
        (["decode", "LOG", "--from", "24:61"], "'24:61' is not a time."),
        (["decode", "LOG", "--type", "offsets"], "'offsets' is not a record type: give 0 to 24"),
        (["decode", "LOG", "--partition", "17"], "no partition 17 here, only 0, 1, 2, 3."),
        (["--config", "nowhere.toml", "--print-config"], "nowhere.toml: No such file or directory"),
        (["--config", "nowhere.toml", "inspect", "LOG"], "nowhere.toml: No such file or directory"),
    ],
)
def test_bad_arguments_are_a_2_and_say_what_would_do(arguments: list[str], sentence: str) -> None:
    """The message names the argument and, where it can be guessed, what was probably meant."""
    log = str(segments("consumer-protocol"))
    outcome = call(*(log if argument == "LOG" else argument for argument in arguments))
    assert (outcome.code, outcome.out) == (exit_codes.BAD_ARGUMENTS, "")
    assert sentence in outcome.err


def test_a_program_that_asks_for_json_gets_its_error_as_json() -> None:
    """On stdout, where it expects an object; the sentence for people stays on stderr."""
    log = segments("classic-static")
    for arguments, kind, code in (
        (["inspect", "nowhere"], "SourceNotReadable", exit_codes.NOT_READABLE),
        (["explain", log, "flet"], "BadParameter", exit_codes.BAD_ARGUMENTS),
        (["inspect", log, "--table", "epoch"], "BadRequest", exit_codes.BAD_ARGUMENTS),
        (["state", "nowhere"], "SourceNotReadable", exit_codes.NOT_READABLE),
        (["decode", log, "--partition", "99"], "BadParameter", exit_codes.BAD_ARGUMENTS),
    ):
        outcome = call(*arguments, "--json")
        printed = json.loads(outcome.out)
        assert (outcome.code, printed["error"]["exit_code"], printed["error"]["kind"]) == (
            code,
            code,
            kind,
        )
        assert printed["schema_version"] == 1
        assert printed["error"]["message"] in outcome.err


def test_a_program_can_ask_for_some_rows() -> None:
    """Tables, a window and a number of rows; the shape stays that of everything."""
    log = segments("classic-static")
    everything = json.loads(call("inspect", log, "--json").out)
    window = ("--from", "2026-11-21T09:06Z", "--to", "2026-11-21T09:07Z")
    tables = ("--table", "rebalances", "--table", "gold.topics")
    some = json.loads(call("inspect", log, "--json", *tables, *window).out)
    assert list(some) == ["rebalances", "topics"]
    assert some["topics"] == everything["topics"]
    assert some["rebalances"] == [
        row for row in everything["rebalances"] if row["started_at"].startswith("2026-11-21T09:06")
    ]
    assert 0 < len(some["rebalances"]) < len(everything["rebalances"])
    first = json.loads(call("inspect", log, "--json", "--limit", "1").out)
    assert first == {name: rows[:1] for name, rows in everything.items()}


def test_a_shell_can_complete_commands() -> None:
    """As docs/running.md says: the program prints what the shell evaluates, and answers what that asks.

    SEGMENTS is a path for the shell to complete.
    """
    script = process(env={**os.environ, "_REBALANCE_AUDIT_COMPLETE": "bash_source"})
    assert "_REBALANCE_AUDIT_COMPLETE=bash_complete" in script.stdout
    asked = {"COMP_WORDS": "rebalance-audit insp", "COMP_CWORD": "1"}
    answered = process(env={**os.environ, **asked, "_REBALANCE_AUDIT_COMPLETE": "bash_complete"})
    assert answered.stdout == "plain,inspect\n"
    for command in ("inspect", "explain", "watch", "decode"):
        asked = {"COMP_WORDS": f"rebalance-audit {command} co", "COMP_CWORD": "2"}
        answered = process(
            env={**os.environ, **asked, "_REBALANCE_AUDIT_COMPLETE": "bash_complete"}
        )
        assert answered.stdout == "file,co\n"


@pytest.mark.parametrize(("quiet", "printed"), [(True, ""), (False, "starting Spark")])
def test_quiet_leaves_progress_out(
    quiet: bool, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps are for whoever waits; a scheduler keeps its log short."""
    invocation = Invocation(quiet=quiet)
    with click.Context(main.commands, obj=invocation), progress() as step:
        step("starting Spark")
    assert capsys.readouterr().err.rpartition("  ")[2].strip() == printed


@pytest.mark.parametrize(
    ("terminal", "passed_s", "is_shown"),
    [(True, 1.9, False), (True, 2.1, True), (False, 2.1, False)],
)
def test_progress_is_shown_only_after_two_seconds_of_waiting(
    terminal: bool, passed_s: float, is_shown: bool
) -> None:
    """And only at a terminal, whose line is empty afterwards."""
    console = Console(file=io.StringIO(), force_terminal=terminal)
    moments = iter((0.0, passed_s, passed_s))
    with slow_progress(console, lambda: next(moments)) as step:
        step("reading the log: 7 records")
    assert isinstance(console.file, io.StringIO)
    assert ("reading the log: 7 records …" in console.file.getvalue()) == is_shown


@pytest.mark.parametrize(
    ("terminal", "patience_s", "is_shown"), [(True, 60, False), (True, 0, True), (False, 0, False)]
)
def test_a_long_step_is_named_while_it_lasts(
    terminal: bool, patience_s: float, is_shown: bool
) -> None:
    """By a thread, since the step itself says nothing; nothing of it stays."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal)
    deadline = time.monotonic() + 20
    with slow_step("making the page", console, patience_s):
        while (
            is_shown and "making the page …" not in file.getvalue() and time.monotonic() < deadline
        ):
            time.sleep(0.01)
    assert ("making the page …" in file.getvalue()) == is_shown


def test_an_audit_reports_how_far_it_is() -> None:
    """What is read, and which partition is audited."""
    steps: list[str] = []
    audit_segments(segments("failover"), on_progress=steps.append)
    assert any(re.fullmatch(r"reading the log: \d+ records", step) for step in steps)
    assert steps[-1].startswith("auditing partition ")


def test_an_unknown_key_in_the_environment_is_a_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configuration is checked even where a command reads little of it."""
    monkeypatch.setenv("REBALANCE_AUDIT_CLUSTR", "blue")
    outcome = call("inspect", segments("failover"))
    assert outcome.code == exit_codes.BAD_ARGUMENTS
    assert "did you mean cluster?" in outcome.err


def test_cluster_comes_from_flag_then_environment_then_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file sets the name, the environment overrides it, the flag overrides both; before or after the command."""
    file = tmp_path / "own.toml"
    file.write_text('cluster = "from-file"\n')
    log = segments("failover")
    assert '"cluster":"from-file"' in call("inspect", log, "--json", "--config", file).out
    assert '"cluster":"from-file"' in call("--config", file, "inspect", log, "--json").out
    monkeypatch.setenv("REBALANCE_AUDIT_CLUSTER", "from-environment")
    assert '"cluster":"from-environment"' in call("--config", file, "inspect", log, "--json").out
    flagged = call("--config", file, "inspect", log, "--json", "--cluster", "from-flag")
    assert '"cluster":"from-flag"' in flagged.out


def test_print_config_shows_what_is_in_force_and_stops() -> None:
    """With the comments of the base file; on a command it includes the command's flags."""
    assert 'cluster = "default"' in call("--print-config").out
    shown = call("inspect", segments("failover"), "--cluster", "blue", "--print-config")
    assert shown.code == 0
    assert 'cluster = "blue"' in shown.out
    assert "Groups" not in shown.out


@pytest.mark.parametrize("command", ["inspect", "explain", "report", "state"])
def test_print_config_needs_nothing_to_read(command: str) -> None:
    """Before or after the command; without it, and in a command without configuration, the argument is missed."""
    for arguments in ((command, "--print-config"), ("--print-config", command)):
        outcome = call(*arguments, "--cluster", "blue")
        assert (outcome.code, outcome.err) == (0, "")
        assert 'cluster = "blue"' in outcome.out
    assert call(command).code == exit_codes.BAD_ARGUMENTS
    assert "Missing argument 'SEGMENTS'." in call("--print-config", "decode").err


def test_an_unexpected_error_is_a_1_and_debug_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --debug one line and a hint, with it the traceback; before the command or after it.

    Spark's errors bring a trace of their own along.
    """

    def fail(_path: Path) -> None:
        raise RuntimeError("the sky fell\n: and broke\n\tat Sky.fall(Sky.java:7)")

    monkeypatch.setattr("rebalance_audit.cli.commands.decode.open_log", fail)
    short = call("decode", "x")
    assert short.code == exit_codes.UNEXPECTED
    assert short.err == (
        "Error: unexpected RuntimeError: the sky fell : and broke. Run it again with --debug to see where.\n"
    )
    for arguments in (["--debug", "decode", "x"], ["decode", "x", "--debug"]):
        long = call(*arguments)
        assert long.code == exit_codes.UNEXPECTED
        assert "Traceback" in long.err


# --- what only a process has ---------------------------------------------------------------------


def large_log(tmp_path: Path) -> Path:
    """A log that takes a while to print: one real segment many times over, sparse enough to make quickly."""
    source = max(segments("classic-cooperative").glob("__consumer_offsets-*/*.log"))
    folder = tmp_path / source.parent.name
    folder.mkdir()
    data = source.read_bytes()
    (folder / source.name).write_bytes(data * (BIG_ENOUGH // len(data)))
    return tmp_path


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    """`decode | head` is no error: no traceback, no message, no workers left."""
    command = " ".join([*PROGRAM, "decode", str(large_log(tmp_path)), "| head -n 1"])
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == exit_codes.PIPE_CLOSED
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@contextmanager
def listening_to_interrupts() -> Iterator[None]:
    """A shell makes its background jobs ignore interrupts, and their children inherit that: not those started here."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_with_130_and_one_word(tmp_path: Path) -> None:
    """An interrupt stops the workers too and leaves no traceback.

    The first line shows that the program is at work, and it stays so: the rest is far more than a pipe holds, and
    no process reads it before the signal.
    """
    with listening_to_interrupts():
        running = subprocess.Popen(
            [*PROGRAM, "decode", str(large_log(tmp_path))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    assert running.stdout is not None
    running.stdout.readline()
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=300)
    assert running.returncode == exit_codes.INTERRUPTED
    assert errors.strip() == "Interrupted."


def test_the_overview_loads_no_command() -> None:
    """`--help` and `--version` answer at once, whatever the commands need."""
    script = (
        "import sys; from rebalance_audit.cli.main import run; run(['--help']); "
        "print([m for m in sys.modules if m.startswith(('rebalance_audit.wire', 'rebalance_audit.audit'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
