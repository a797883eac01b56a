"""``python -m conformance`` is the ``xdspec`` command."""

from conformance.runner.interruption import end_at_once_when_told

end_at_once_when_told()  # before what takes its time to load

from conformance.cli.commands import main  # noqa: E402

if __name__ == "__main__":
    main(prog_name="xdspec")
