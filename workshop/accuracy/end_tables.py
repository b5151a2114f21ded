"""Tables of how members ended, by what they committed, by how much happened, and in the captures."""

from collections import Counter

from workshop.accuracy import members, simulated
from workshop.accuracy.tally import Tally, share

Row = tuple[str, ...]
Table = list[Row]


def ends_table(tally: Tally, source: str) -> Table:
    """How members ended, by what they committed."""
    rows: Table = [("protocol", "commits", "traffic", "ends", *members.RESULTS)]
    for protocol in tally.next_names("end", source):
        for commits in tally.next_names("end", source, protocol):
            for traffic in tally.next_names("end", source, protocol, commits):
                counts = _ends_of(tally, source, protocol, commits, traffic)
                rows.append((protocol, commits, traffic, *_end_cells(counts)))
        of_committers = _ends_of_committers(tally, source, protocol)
        rows.append((protocol, "all that committed", "any", *_end_cells(of_committers)))
    return rows


def densities_table(tally: Tally) -> Table:
    """How members that committed ended, by how much happened in their clusters."""
    rows: Table = [
        ("source", "clusters", "faults a day in each group", "protocol", "ends", *members.RESULTS)
    ]
    for source in (simulated.WHOLE, simulated.ORDINARY):
        clusters = tally.get("density", source, "clusters")
        if not clusters:
            continue
        faults = str(round(tally.get("density", source, "faults a day") / clusters))
        for protocol in tally.next_names("end", source):
            counts = _ends_of_committers(tally, source, protocol)
            rows.append((source, str(clusters), faults, protocol, *_end_cells(counts)))
    return rows


def departures_table(tally: Tally) -> Table:
    """Departures in the captures against the brokers' lines, without these."""
    rows: Table = [("source", "commits", "departures", "right", "undecided", "wrong")]
    for source in tally.next_names("departure"):
        for commits in tally.next_names("departure", source):
            counts = Counter(
                {
                    each: tally.get("departure", source, commits, each)
                    for each in ("right", "undecided", "wrong")
                }
            )
            shares = (share(times, counts.total()) for times in counts.values())
            rows.append((source, commits, str(counts.total()), *shares))
    return rows


def _ends_of(tally: Tally, *what: str) -> Counter[str]:
    return Counter({each: tally.get("end", *what, each) for each in members.RESULTS})


def _ends_of_committers(tally: Tally, source: str, protocol: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for commits in tally.next_names("end", source, protocol):
        if commits != members.NO_COMMIT:
            for traffic in tally.next_names("end", source, protocol, commits):
                total += _ends_of(tally, source, protocol, commits, traffic)
    return total


def _end_cells(counts: Counter[str]) -> Row:
    ends = counts.total()
    return (str(ends), *(share(counts[each], ends) for each in members.RESULTS))
