"""An adapter examined against the contract, without any xDS."""

from client_under_test.doctor.run_checks import BackendFailed, examine, is_healthy

__all__ = ["BackendFailed", "examine", "is_healthy"]
