"""The pytest plugin of the processes that run scenarios: hooks, worlds, records."""
