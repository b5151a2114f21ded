"""Simulated clients: what consumers of several libraries and protocols do, well or badly."""
