"""What must hold after every event of a simulation: `rules`, `kept_commits`, and `invariants`, which applies them."""
