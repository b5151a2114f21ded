"""Groups of the classic protocol, where the leader assigns."""
