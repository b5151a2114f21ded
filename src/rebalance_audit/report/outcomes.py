"""How an epoch ended, in a few words."""

from rebalance_audit.figures.rows import TableRow, is_classic
from rebalance_audit.sentences import words


def outcome(epoch: TableRow) -> str:
    """`converged in 1.2 s`, `superseded by 20`, `assigned 64 ms after the join phase`."""
    took = words.duration(epoch["convergence_ms"])
    match epoch["outcome"]:
        case "converged" if is_classic(epoch):
            return f"assigned {words.duration(epoch['sync_ms'])} after the join phase"
        case "converged" if epoch["assign_ms"]:
            return f"converged in {took}, the assignment after {words.duration(epoch['assign_ms'])}"
        case "converged":
            return f"converged in {took}"
        case "superseded":
            return f"superseded by {epoch['superseded_by']}"
        case "open":
            return "not converged when the log ends"
        case other:
            return str(other)
