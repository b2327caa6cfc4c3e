"""Where we run and who calls: the environment, the caller and its parent processes, each agent's events, the table of commands."""
