"""What makes records: handlers, requests, assignors and soft state (timers, parked requests).

A handler reads a group and returns records; `replay` applies them, and nothing else changes the group. Only the
simulator needs this package: production replays what real coordinators wrote.
"""
