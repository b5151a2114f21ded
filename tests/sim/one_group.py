"""A simulation of one group alone."""

from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.sim.options import GroupPlan, Overrides, draw_options
from rebalance_audit.sim.scenario import Simulation


def after_a_minute(plan: GroupPlan, topic_partitions: int) -> Simulation:
    """The group of a plan, a minute after it began to work on a topic `t` on which nothing else happens."""
    options = draw_options(
        1, Overrides(minutes=1, groups=1, partitions=1, faults=False, dialect=Dialect.R4_1)
    )
    options.groups[:] = [plan]
    options.topics.clear()
    options.topics["t"] = topic_partitions
    simulation = Simulation(1, options)
    simulation.run_faults()
    return simulation
