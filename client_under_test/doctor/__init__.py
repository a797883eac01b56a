"""An adapter examined against the contract, without any xDS."""

from client_under_test.doctor.examination import BackendFailed, examine, is_healthy

__all__ = ["BackendFailed", "examine", "is_healthy"]
