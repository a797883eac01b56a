"""``python -m conformance`` is the ``xdspec`` command."""

from conformance.cli import main

if __name__ == "__main__":
    main()
