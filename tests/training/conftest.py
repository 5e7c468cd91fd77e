import pytest

from tests.training.tiny import make_tiny


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Folder of a tiny random model with the student's chat template."""
    return make_tiny(tmp_path_factory.mktemp("tiny") / "base")
