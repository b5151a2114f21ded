"""gold: the audit of every group by the reducer, and what is computed from its rows."""
