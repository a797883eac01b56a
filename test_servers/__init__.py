"""A fleet of real gRPC backends, each behind a gate that can fail in scripted ways."""
