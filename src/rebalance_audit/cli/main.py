"""Entry point: finds the command, runs it, and turns an error into one sentence and an exit code."""

import io
import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Final

import click

from rebalance_audit.cli import exit_codes
from rebalance_audit.cli.invocation import (
    Invocation,
    config_options,
    debug_option,
    invocation_of,
    quiet_option,
)
from rebalance_audit.cli.output import echo
from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.tables.json_values import JSON_VERSION, json_bytes
from rebalance_audit.version import __version__
from rebalance_audit.visible import visible

PROGRAM: Final = "rebalance-audit"
JAVA_TRACE: Final = "\n\tat "

COMMANDS: Final = {
    "demo": "Audit a bundled log of a real cluster, and print what happened.",
    "inspect": "Audit a folder of segments in this process, and print what happened.",
    "watch": "Print and explain each rebalance of a live cluster or a growing log folder as it ends.",
    "run": "Audit a log with Spark, and write the tables of a lake.",
    "ingest": "Append a log, or a live cluster's as it grows, to the bronze layer of a lake.",
    "maintain": "Rewrite small files of a lake, remove unused ones, delete rows past their retention.",
    "report": "Write an HTML page about the groups of a log or a lake.",
    "export": "Write the tables and views for tools that cannot read Delta.",
    "metrics": "Print states, rebalances, lost time and findings of groups for Prometheus.",
    "notify": "Send each new finding to a webhook, once: JSON, Slack or PagerDuty.",
    "mcp": "Serve agents over the Model Context Protocol, read-only.",
    "check": "Check the tables of a lake, and print the rows that fail an expectation.",
    "verify": "Verify that Kafka's group coordinator would load the log.",
    "explain": "Explain why a group rebalanced, how long it took, and who held it up.",
    "state": "Print groups, members, assignments and offsets as of a point in time.",
    "decode": "Print every record of the log as one line of JSON.",
    "anonymise": "Write a copy of a log to share, with pseudonyms in place of names.",
    "recover": "Write a plan to restore offsets after a partition of the log failed to load.",
    "jars": "Fetch the jars that Spark needs.",
    "warmup": "Compile the reader of large logs ahead.",
    "what-if": "Simulate a group's own history under another protocol, assignor or timeout.",
    "predict": "Run what-if for groups of a lake, and write the answers to gold.what_if.",
    "simulate": "Write the log of simulated groups, and the truth about every rebalance.",
}
"""Command -> what the overview says of it. A command is imported only when it is called for."""

EXAMPLES: Final = """\b
Examples:
  rebalance-audit inspect copy-of-log                   what happened, in the terminal
  rebalance-audit inspect copy-of-log --group checkout  one group in detail
  rebalance-audit explain copy-of-log checkout          the same in sentences
  rebalance-audit state copy-of-log --at 2026-11-21T03:12Z
  rebalance-audit decode copy-of-log | jq .key.type
  rebalance-audit run --source segments:copy-of-log --lake lake

\b
SEGMENTS is a folder with __consumer_offsets-P/*.log, like a broker's log
directory, and with __cluster_metadata-0 for names, partitions and racks of
topics. It may be a copy or the live folder: it is only read. An
archive of such folders (.tgz, .tar.zst, .zip, …) and compressed segments are
read as well.

\b
Exit codes: 0 done, 2 bad arguments or configuration, 3 source or lake not
readable, 4 a quality check failed, 1 anything unexpected.
"""


class PipeClosed(Exception):  # noqa: N818 - no error: whoever read our output has seen enough
    """Stands for a BrokenPipeError, at which click would end the process."""


class LazyCommands(click.Group):
    """The commands of COMMANDS, each in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f"rebalance_audit.cli.commands.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the first word; raises click.UsageError that names similar ones."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], COMMANDS, n=2)
            if not near:
                raise
            meant = " or ".join(map(repr, near))
            raise click.UsageError(f"{error.message} Did you mean {meant}?", ctx) from error

    def invoke(self, ctx: click.Context) -> object:
        """The command; raises PipeClosed when its output is no longer read."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise PipeClosed from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The table above, so that the overview imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyCommands,
    epilog=EXAMPLES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@config_options
@quiet_option
@debug_option
@click.version_option(__version__, message="%(prog)s %(version)s")
@invocation_of
@click.pass_context
def commands(ctx: click.Context, invocation: Invocation) -> None:
    """Find out why Kafka consumer groups rebalanced.

    Why each rebalance happened, how long it took and who held it up, from nothing but the records of
    __consumer_offsets.
    """
    if ctx.invoked_subcommand is None:
        if invocation.print_config:
            invocation.config()
        click.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns the exit code; what went wrong is on stderr."""
    invocation = Invocation()
    try:
        code = commands.main(
            list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=invocation
        )
        sys.stdout.flush()
    except (BrokenPipeError, PipeClosed):
        # The reader is gone. Python would complain again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return exit_codes.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the one place where every error ends
        code = _report(error, invocation)
        if "--json" in arguments:
            _print_error_object(error, code)
        return code
    return code if isinstance(code, int) else exit_codes.DONE


def _report(error: Exception, invocation: Invocation) -> int:
    code = exit_codes.code_of(error)
    if isinstance(error, click.ClickException):
        shown = io.StringIO()
        error.show(shown)
        echo(shown.getvalue().expandtabs().rstrip("\n"), err=True)
        return code
    if invocation.debug:
        echo("".join(traceback.format_exception(error)).rstrip("\n"), err=True)
    hint = ""
    if code == exit_codes.UNEXPECTED and not (
        invocation.debug or exit_codes.has_full_message(error)
    ):
        hint = " Run it again with --debug to see where."
    echo(f"Error: {visible(_sentence(error, code))}{hint}", err=True)
    return code


def _sentence(error: Exception, code: int) -> str:
    """What went wrong, for people."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    if code == exit_codes.UNEXPECTED and not exit_codes.has_full_message(error):
        # The text of an error of Spark's ends with a stack trace of Java's.
        said = str(error).partition(JAVA_TRACE)[0].replace("\n", " ").rstrip(".")
        return f"unexpected {type(error).__name__}: {said}."
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}."
    return str(error)


def _print_error_object(error: Exception, code: int) -> None:
    """What went wrong, on stdout, for the program that expects an object there."""
    details = {
        "kind": type(error).__name__,
        "exit_code": code,
        "message": without_credentials(_sentence(error, code)),
    }
    click.echo(json_bytes({"schema_version": JSON_VERSION, "error": details}))


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
