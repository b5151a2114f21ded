"""What must hold after every event of a simulation: one file per topic, and `invariants`, which applies them all."""
