"""Spark sessions: how they start, what small queries need, how their end is reported."""
