"""Simulated clients: how consumers of several libraries and protocols behave, well or badly."""
