"""How right the audit is, in figures.

    python -m workshop.accuracy --seeds 200 --dense 800 --ordinary 200 --from 0 [--minutes 3] [--json] [--page FILE]

Simulates seeds, audits their logs, and compares with what really happened; audits the captures of real brokers and
compares with what those logged; damages logs of both kinds. No seed is simulated twice: those of `--seeds` come
first, then those of `--dense`, of the sweeps and of `--ordinary`. Prints a table; progress goes to stderr. Exit code
4 when a cause that was called proven is wrong, or when a damaged log proves what the whole one does not have.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from rebalance_audit.cli.exit_codes import CHECK_FAILED, DONE
from workshop.accuracy import findings, predictions, reliability
from workshop.accuracy.captured import capture_names, tally_of_capture
from workshop.accuracy.churn import churn
from workshop.accuracy.ends import log_names
from workshop.accuracy.figures import as_json, page, proven_and_wrong, text
from workshop.accuracy.scripts import SCRIPTS
from workshop.accuracy.simulated import dense_tally_of_seed, ordinary_tally_of_seed, tally_of_seed
from workshop.accuracy.sweeps import new_in_sweeps, sweep_of_capture, sweep_of_seed
from workshop.accuracy.tally import Tally

CLIENT_SEEDS: Final = 600_000
"""Seeds that the weights were not fitted on."""
_STEP: Final = 20
"""Pieces of work between two lines of progress."""


def main(arguments: list[str] | None = None) -> int:
    """Compare, print, and say by the exit code whether anything proven was wrong."""
    parser = argparse.ArgumentParser(
        prog="workshop.accuracy", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument("--seeds", type=int, default=200, help="how many simulations")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--minutes", type=int, help="simulated minutes; without: by the seed")
    parser.add_argument(
        "--dense",
        type=int,
        default=0,
        help="how many more simulations with most epochs for the time: records alone, no commits",
    )
    parser.add_argument(
        "--sweeps", type=int, default=4, help="places at which each log of the sweeps is damaged"
    )
    parser.add_argument(
        "--sweep-seeds",
        type=int,
        default=5,
        help="simulated logs in the sweeps, beside the captures",
    )
    parser.add_argument(
        "--ordinary",
        type=int,
        default=200,
        help="how many more simulations of clusters in which as little happens as in ordinary ones",
    )
    parser.add_argument(
        "--plays",
        type=int,
        default=3,
        help="how often each script of the findings is played; 0: neither scripts nor churn",
    )
    parser.add_argument(
        "--churn", type=int, default=100, help="groups with random churn, for false alarms"
    )
    parser.add_argument(
        "--clients",
        type=int,
        default=40,
        help="simulations of clusters whose clients commit as measured ones do, from seed 600000 on",
    )
    parser.add_argument(
        "--predictions",
        type=int,
        default=20,
        help="simulated clusters whose groups are played again, beside the paired captures, from seed 500000 on",
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print everything counted as JSON")
    parser.add_argument("--page", type=Path, help="write the figures to this file as well")
    parser.add_argument("--examples", type=int, default=0, help="print so many of each mistake")
    asked = parser.parse_args(arguments)
    dense = asked.first + asked.seeds
    swept = dense + asked.dense
    ordinary = swept + asked.sweep_seeds
    work: list[Callable[[], Tally]] = [
        *(partial(tally_of_capture, name) for name in capture_names()),
        *(
            partial(tally_of_seed, seed, asked.minutes)
            for seed in range(asked.first, asked.first + asked.seeds)
        ),
        *(
            partial(dense_tally_of_seed, seed, asked.minutes)
            for seed in range(dense, dense + asked.dense)
        ),
        *(
            partial(ordinary_tally_of_seed, seed, asked.minutes)
            for seed in range(ordinary, ordinary + asked.ordinary)
        ),
    ]
    if asked.sweeps:
        work += [partial(sweep_of_capture, name, asked.sweeps) for name in capture_names()]
        work += [
            partial(sweep_of_seed, seed, asked.minutes, asked.sweeps)
            for seed in range(swept, swept + asked.sweep_seeds)
        ]
    if asked.plays:
        work += findings.work(SCRIPTS, asked.plays)
        work += [
            partial(findings.tally_of_script, script, script.protocols[0], seed)
            for seed, script in enumerate(map(churn, range(asked.churn)))
        ]
    clients = range(CLIENT_SEEDS, CLIENT_SEEDS + asked.clients)
    work += [partial(reliability.tally_of_seed, seed) for seed in clients]
    work += [partial(reliability.tally_of_log, name) for name in log_names()]
    if asked.predictions:
        work += [partial(predictions.tally_of_pair, name) for name in predictions.names()]
        played = range(predictions.CONTROL_SEEDS, predictions.CONTROL_SEEDS + asked.predictions)
        work += [partial(predictions.tally_of_simulated, seed) for seed in played]
    total = Tally()
    for done, tally in enumerate(_tallies(work, asked.workers), 1):
        total.merge(tally)
        if done % _STEP == 0 or done == len(work):
            sys.stderr.write(f"\r{done} of {len(work)} logs audited")
            sys.stderr.flush()
    sys.stderr.write("\n")
    if asked.json:
        sys.stdout.write(json.dumps(as_json(total), indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(text(total, asked.examples))
    if asked.page is not None:
        given = {
            "SEEDS": asked.seeds,
            "FROM": asked.first,
            "MINUTES": asked.minutes,
            "DENSE": asked.dense or None,
            "SWEEPS": asked.sweeps,
            "SWEEP_SEEDS": asked.sweep_seeds,
            "ORDINARY": asked.ordinary,
            "CLIENTS": asked.clients,
        }
        options = " ".join(f"{name}={value}" for name, value in given.items() if value is not None)
        asked.page.write_text(page(total, f"`make accuracy {options}`"), "utf-8")
    return CHECK_FAILED if proven_and_wrong(total) or new_in_sweeps(total) else DONE


def _tallies(work: list[Callable[[], Tally]], workers: int) -> Iterator[Tally]:
    if workers <= 1:
        for piece in work:
            yield piece()
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_call, work, chunksize=4)


def _call(piece: Callable[[], Tally]) -> Tally:
    return piece()


if __name__ == "__main__":
    sys.exit(main())
