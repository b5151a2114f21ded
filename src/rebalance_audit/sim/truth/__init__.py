"""What really happened in a simulation, recorded beside it."""
