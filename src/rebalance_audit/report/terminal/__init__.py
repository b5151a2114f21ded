"""The audit on a terminal or in a text file."""
