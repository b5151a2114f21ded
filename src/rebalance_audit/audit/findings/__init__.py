"""What deserves attention in a group's history: one small class per kind of finding, all fed by one pass."""
