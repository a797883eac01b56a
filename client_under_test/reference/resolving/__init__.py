"""From a target to a config selector and what the channel's policies are told."""
