"""What must hold after every event of a simulation: one file per rule, and `invariants`, which applies them all."""
