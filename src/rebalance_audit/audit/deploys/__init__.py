"""Rollouts of applications, from what deployment tools export, and the rebalances that belong to them."""
