"""Requests and responses of the coordinator's APIs, as values."""
