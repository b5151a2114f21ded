"""How right the audit is: its rows against the truth of simulated logs and the words of real brokers."""
