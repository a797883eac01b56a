"""An adapter examined against the contract, without any xDS."""

from client_under_test.doctor.examination import examine, is_healthy

__all__ = ["examine", "is_healthy"]
