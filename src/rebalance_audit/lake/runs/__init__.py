"""Runs: what is asked for, what is planned, what is written, and what is remembered."""
