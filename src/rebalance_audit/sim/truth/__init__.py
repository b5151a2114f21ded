"""What really happened in a simulation, recorded while it runs."""
