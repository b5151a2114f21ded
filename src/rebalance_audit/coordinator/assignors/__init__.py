"""Assignors: functions from a group's members and topics to an assignment of partitions to members.

The coordinator's assignors (range, uniform) see member specs and topic ids; those of classic consumers (range, round
robin, sticky, cooperative-sticky) see subscriptions and topic names.
"""
