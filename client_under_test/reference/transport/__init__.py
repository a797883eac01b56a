"""Connections: HTTP/2, RPCs over it, subchannels with their backoff, DNS, the clock."""
