"""`rebalance-audit watch`."""

import json
import signal
import subprocess
from pathlib import Path

from tests.cli.call import PROGRAM, call, segments
from tests.workshop.test_json_schemas import checked


def test_ctrl_c_ends_it_with_a_last_line_and_0() -> None:
    """Every line is as its schema says, and the last one counts them."""
    source = f"segments:{segments('broker-4.0')}"
    command = [*PROGRAM, "watch", source, "--json", "--since", "2020-01-01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        events = [json.loads(watching.stdout.readline())]
        watching.send_signal(signal.SIGINT)
        events += [json.loads(line) for line in watching.stdout]
    for line in events:
        checked("watch", line)
    *rebalances, end = events
    assert (watching.returncode, end["event"]) == (0, "end")
    assert len(rebalances) == end["rebalances"] > 0


def test_it_opens_with_the_verdict() -> None:
    """What `inspect` says first; of a time without rebalances that nothing happened, and when the log ends."""
    source = segments("broker-4.0")
    said = [line for line in call("inspect", source).out.splitlines() if "took" in line]
    whole = first_line(source, "2020-01-01")
    assert whole.split(".")[0] in " ".join(said)
    assert "Log ends at 2026-11-" in whole
    quiet = first_line(source, "2027-01-01")
    assert quiet.startswith(
        "No rebalance is known to have taken 1.0 s or more, and there are no findings."
    )


def first_line(source: Path, since: str) -> str:
    """What `watch` prints first."""
    command = [*PROGRAM, "watch", str(source), "--since", since]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as watching:
        assert watching.stdout is not None
        line = watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
    return line


def test_a_source_that_cannot_be_watched_is_one_sentence() -> None:
    """2 for a question that it cannot answer, 3 for one that is not there (tests/cli/test_sources.py)."""
    lag = call("watch", f"segments:{segments('broker-4.0')}", "--lag", "5")
    assert (lag.code, lag.err.splitlines()[-1]) == (
        2,
        "Error: --lag needs a live cluster: kafka:HOST:PORT.",
    )
    missing = call("watch", "segments:/nowhere")
    assert (missing.code, missing.err) == (3, "Error: /nowhere does not exist.\n")
