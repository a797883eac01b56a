"""Resolve a target to a config selector and the updates of the channel's policies."""
