"""The ``xdspec`` command: options in, exit code out."""
