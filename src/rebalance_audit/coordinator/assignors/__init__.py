"""Assignors: functions from a group's members and topics to who gets which partition.

Those of the coordinator (range, uniform) see member specs and topic ids; those of classic consumers (range, round
robin, sticky, cooperative-sticky) see subscriptions and topic names.
"""
