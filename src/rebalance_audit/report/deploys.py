"""What rollouts cost, in sentences, from rows of gold.deploys."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import Final, NamedTuple

from rebalance_audit.bounds import NOTHING, Bounds
from rebalance_audit.figures.rows import TableRow, Tables, bounds_in
from rebalance_audit.sentences import words
from rebalance_audit.sentences.render import filled
from rebalance_audit.sentences.sentence import EvidenceSentence, MomentUtc, Name, Sentence

DEPLOYS_SHOWN: Final = 10
EVIDENCE_SHOWN: Final = 2
TURNS_SHOWN: Final = 6
"""Numbers of replicas of one scaling."""

TOOLS: Final = {
    "kubernetes": "Kubernetes",
    "argo_rollouts": "Argo Rollouts",
    "argo_cd": "Argo CD",
    "helm": "Helm",
    "github": "GitHub",
    "csv": "CSV",
}
_CHANGES: Final = {"joined": "joined", "left": "left", "replaced": "was replaced"}
_MATCHES: Final = {
    "workload_name": "its client id or instance id is like those of the workload's pods",
    "file": "the file says that the rollout is about this group or client",
}
_BY_NAME: Final = "its client id or instance id names pod "
_BY_ADDRESS: Final = "its host is the address of pod "


class DeployCost(NamedTuple):
    """A rollout, and the rows about it in which more than the time connects it with rebalances."""

    deploy: TableRow
    """One of the rows."""
    rows: Sequence[TableRow]

    @property
    def groups(self) -> list[str]:
        """Ids of the groups, sorted."""
        return sorted({row["group_id"] for row in self.rows})

    @property
    def rebalances(self) -> int:
        """How many there were."""
        return self.of("proven") + self.of("likely")

    def of(self, certainty: str) -> int:
        """How many belong to it with this certainty."""
        return sum(row["rebalances"] for row in self.rows if row["certainty"] == certainty)

    @property
    def not_stable(self) -> Bounds | None:
        """How long groups were not stable, in milliseconds; None if nothing is known of that."""
        found = [took for row in self.rows if (took := bounds_in(row, "not_stable")) is not None]
        return reduce(Bounds.plus, found, NOTHING) if found else None

    @property
    def records(self) -> int:
        """Records that they delayed, by the best estimate."""
        return sum(row["records_delayed_estimate"] or 0 for row in self.rows)

    @property
    def certainty(self) -> str:
        """`proven`, `likely`, or `2 proven, 1 likely`."""
        counts = {name: self.of(name) for name in ("proven", "likely")}
        there = [name for name, count in counts.items() if count]
        if len(there) == 1:
            return there[0]
        return ", ".join(f"{counts[name]:,} {name}" for name in there)


def deploy_costs(rows: Iterable[TableRow]) -> list[DeployCost]:
    """A rollout each, the one that cost most time first; without those that only went on meanwhile."""
    by_deploy: dict[tuple[str, int], list[TableRow]] = {}
    for row in rows:
        if row["certainty"] != "during":
            by_deploy.setdefault((row["deploy_id"], row["started_at"]), []).append(row)
    return sorted(
        (DeployCost(found[0], found) for found in by_deploy.values()),
        key=lambda cost: (
            -(cost.not_stable or NOTHING).likely,
            -cost.rebalances,
            cost.deploy["started_at"],
            cost.deploy["deploy_id"],
        ),
    )


def deploy_name(row: TableRow) -> Name:
    """`checkout@7f4c`; of a scaling `checkout 2→1→2`."""
    if row["replicas"]:
        turns = [str(count) for count in row["replicas"]]
        if len(turns) > TURNS_SHOWN:
            turns = [*turns[: TURNS_SHOWN - 2], "…", turns[-1]]
        return Name(f"{row['workload']} {'→'.join(turns)}")
    revision = row["revision"]
    return Name(row["workload"] if revision is None else f"{row['workload']}@{revision}")


KINDS: Final = {
    "rollout": "rollout ",
    "scaling": "scaling ",
    "eviction": "evicting pods of ",
    "crash": "crash restarts of ",
}


def _what(row: TableRow, before: str = "") -> tuple[str, Name]:
    """`Rollout checkout@7f4c`, `Scaling checkout 2→1→2`; after other words in lower case."""
    kind = KINDS[row["kind"]]
    return before + (kind if before else kind.capitalize()), deploy_name(row)


def cost_sentence(cost: DeployCost, *, with_groups: bool = False) -> Sentence:
    """As in: Rollout checkout@7f4c cost 3 rebalances, 41.0 s in total, and delayed about 1,200 records: proven."""
    of_groups: tuple[str, ...] = ()
    if with_groups:
        groups = cost.groups
        of_groups = (
            (" of ", Name(groups[0]))
            if len(groups) == 1
            else (f" of {words.counted(len(groups), 'group')}",)
        )
    verb = "likely cost" if not cost.of("proven") else "cost"
    sure = "" if not cost.of("proven") else f": {cost.certainty}"
    late = f", and delayed about {words.counted(cost.records, 'record')}" if cost.records else ""
    return Sentence(
        (
            *_what(cost.deploy),
            f" {verb} {words.counted(cost.rebalances, 'rebalance')}",
            *of_groups,
            f", {words.likely(cost.not_stable)} in total{late}{sure}. ",
            *_when(cost.deploy),
        )
    )


def _when(row: TableRow) -> Iterator[str]:
    yield from ("It began at ", MomentUtc(row["started_at"]))
    ended_ms = row["ended_at"]
    if ended_ms is None:
        yield "; no end is recorded"
    elif ended_ms > row["started_at"] or row["kind"] == "rollout":
        yield f" and took {words.duration(max(0, ended_ms - row['started_at']))}"
    yield f" ({TOOLS.get(row['tool'], row['tool'])}"
    for place in ("environment", "namespace"):
        if row[place] is not None:
            yield from (f", {place} ", Name(row[place]))
    yield ")."


def during_sentence(row: TableRow) -> Sentence:
    """For a rollout that only the time connects with rebalances."""
    return Sentence(
        (
            *_what(row),
            f" {_was_under_way(row)} during {words.counted(row['rebalances'], 'rebalance')}",
            "; nothing but the time connects them. ",
            *_when(row),
        )
    )


def _was_under_way(row: TableRow) -> str:
    if row["kind"] == "crash":
        return "were under way"
    return "was under way" if row["ended_at"] is not None else "may have been under way"


def evidence_sentence(item: TableRow) -> Sentence | None:
    """`Evidence: pod-3 joined at …; its client id names pod …, created at …`; None for the time alone."""
    if item["member_id"] is None:
        return None
    if item["pod"] is None:
        why = _MATCHES[item["matched_by"]]
    else:
        names = _BY_ADDRESS if item["matched_by"] == "pod_address" else _BY_NAME
        why = filled("{names}{pod:name}, {pod_change} at {pod_at:moment}", item, names=names)
    how = _CHANGES.get(item["change"], "changed")
    what = filled("{member_id:member} {how} at {at:moment}; {why}", item, how=how, why=why)
    return EvidenceSentence(("Evidence: ", what, "."))


def sentences_of_group(own: Tables) -> Iterator[Sentence]:
    """What each rollout cost one group, the worst first, with evidence; then those that went on meanwhile."""
    rows = own.get("deploys")
    if rows is None:
        return
    if not rows:
        yield Sentence.plain("No rebalance of this group fits any of the rollouts that were given.")
    costs = deploy_costs(rows)
    for cost in costs[:DEPLOYS_SHOWN]:
        yield cost_sentence(cost)
        best_first = sorted(cost.rows, key=lambda row: row["certainty"] != "proven")
        items = (item for row in best_first for item in row["evidence"])
        yield from islice(filter(None, map(evidence_sentence, items)), EVIDENCE_SHOWN)
    meanwhile = [row for row in rows if row["certainty"] == "during"]
    for row in meanwhile[: max(0, DEPLOYS_SHOWN - len(costs))]:
        yield during_sentence(row)
    left = max(0, len(costs) + len(meanwhile) - DEPLOYS_SHOWN)
    if left:
        yield Sentence.plain(f"{words.counted(left, 'more change')}: see gold.deploys.")


def sentences_of_rebalance(own: Tables, rebalance: TableRow | None) -> Iterator[Sentence]:
    """To which rollout a rebalance belongs, and why; nothing where none is known."""
    if rebalance is None:
        return
    seq = rebalance["rebalance_seq"]
    for row in own.get("deploys", ()):
        if row["incarnation"] != rebalance["incarnation"] or seq not in row["rebalance_seqs"]:
            continue
        if row["certainty"] == "during":
            lead = _what(row)
            end = f" {_was_under_way(row)} then; nothing but the time connects them. "
        else:
            is_proven = row["certainty"] == "proven"
            lead = _what(row, "It belongs to " if is_proven else "It likely belongs to ")
            end = ". "
        yield Sentence((*lead, end, *_when(row)))
        its_items = (item for item in row["evidence"] if item["rebalance_seq"] == seq)
        yield from filter(None, map(evidence_sentence, its_items))


def during_note(rows: Iterable[TableRow]) -> str:
    """A sentence on the rebalances that only the time connects with rollouts; empty where there are none."""
    rows = list(rows)
    meanwhile = [row for row in rows if row["certainty"] == "during"]
    if not meanwhile:
        return ""
    rollouts = {(row["deploy_id"], row["started_at"]) for row in meanwhile}
    rebalances = {
        (row["group_id"], row["incarnation"], seq)
        for row in meanwhile
        for seq in row["rebalance_seqs"]
    }
    noun = "rollout" if all(row["kind"] == "rollout" for row in meanwhile) else "change"
    other = "" if len(meanwhile) == len(rows) else "other "
    return (
        f"{words.counted(len(rollouts), noun)} may have been under way during"
        f" {words.counted(len(rebalances), f'{other}rebalance')}; nothing but the time connects them."
    )
