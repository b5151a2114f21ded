"""How members of each kind of client ended, and how right *probable* was, in the tally."""

from typing import Final

from rebalance_audit.audit.causes.departure_timing import Scores
from rebalance_audit.audit.causes.departure_weights import WEIGHTS
from workshop.accuracy.ends import SIMULATED, End, ends_of_log, ends_of_seed
from workshop.accuracy.fit import is_likeliest, joint_ends, posteriors, result_of
from workshop.accuracy.tally import Tally, share

RESULTS: Final = ("right", "undecided", "wrong")
LOGS: Final = "logs of real clients"
BUCKETS: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Lower bounds of the likeliest end's probability."""

Table = list[tuple[str, ...]]


def tally_of_seed(seed: int) -> Tally:
    """The ends in a simulated cluster."""
    return _tally(ends_of_seed(seed), SIMULATED)


def tally_of_log(name: str) -> Tally:
    """The ends in a log of real clients."""
    return _tally(ends_of_log(name), LOGS)


def _tally(ends: list[End], source: str) -> Tally:
    tally = Tally()
    for end, shares in posteriors(joint_ends(ends), WEIGHTS):
        result = result_of(end, shares)
        tally.count("client end", source, end.client, result)
        tally.count("reliability", source, _bucket(shares), "ends")
        if is_likeliest(end, shares):
            tally.count("reliability", source, _bucket(shares), "right")
        if result == "wrong":
            tally.example(f"client end {source}", f"{end.group} {end.client}: {end.true}")
    return tally


def _bucket(shares: Scores) -> str:
    return f"{max(bound for bound in BUCKETS if max(shares) >= bound):.2f}"


def clients_table(tally: Tally) -> Table:
    """Per client: how many ends, how many undecided, and how often *probable* was right."""
    rows: Table = [("source", "client", "ends", "undecided", "named", "named right", "wrong")]
    for source in (LOGS, SIMULATED):
        for client in [*tally.next_names("client end", source), None]:
            counts = {
                result: sum(
                    tally.get("client end", source, each, result)
                    for each in ([client] if client else tally.next_names("client end", source))
                )
                for result in RESULTS
            }
            ends, named = sum(counts.values()), counts["right"] + counts["wrong"]
            if ends:
                cells = (source, client or "**all**", str(ends), share(counts["undecided"], ends))
                right = share(counts["right"], named)
                rows.append((*cells, str(named), right, str(counts["wrong"])))
    return rows


def reliability_table(tally: Tally) -> Table:
    """By how likely the likeliest end was: how often it was the true one."""
    rows: Table = [("source", "probability of the likeliest end", "ends", "it was the true one")]
    for source in (LOGS, SIMULATED):
        for number, bound in enumerate(BUCKETS):
            ends = tally.get("reliability", source, f"{bound:.2f}", "ends")
            right = tally.get("reliability", source, f"{bound:.2f}", "right")
            upper = BUCKETS[number + 1] if number + 1 < len(BUCKETS) else 1.0
            if ends:
                rows.append((source, f"{bound:.2f} to {upper:.2f}", str(ends), share(right, ends)))
    return rows
