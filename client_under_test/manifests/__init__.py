"""What a client's maintainers state of it, and the names of clients."""
