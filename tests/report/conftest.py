from tests.cli.conftest import shared_audits

__all__ = ["shared_audits"]
