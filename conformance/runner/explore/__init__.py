"""Run randomly drawn courses of updates, faults and requests, and judge what the client does."""
