import pytest


@pytest.fixture(scope="session")
def trials():
    """Trials for the tests of studies, which must not change them."""
    from paper_trials import two_trials

    return two_trials()


@pytest.fixture
def folder(tmp_path):
    """An empty folder of results; the journal is beside it."""
    return tmp_path / "results"
