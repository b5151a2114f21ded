"""What must hold after every event of a simulation: one file per rule, and `invariants` that applies them all."""
