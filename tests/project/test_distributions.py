"""Wheel and sdist: built from a copy of the sources, looked into, installed into an empty environment, and used."""

import email
import importlib.util
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

import pytest
import setuptools

import keras_softsets

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = (
    *("keras_softsets", "tests", "examples", "docs", "tools", "saved_models/example_classifier"),
    *("benchmarks", "studies"),
)
# What stays in the repository: not needed to use, test or document the package.
STAYS = ("benchmarks/", "studies/", "tests/studies/", "tests/project/", "tests/paper_trials.py", "docs/images/")
LARGEST_SDIST = 1_000_000
FILES = (
    *("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"),
    *("CONTRIBUTING.md", "SECURITY.md", "Makefile", "mkdocs.yml", "saved_models/README.md"),
)
LEFT_OUT = ("__pycache__", "*.pyc", ".DS_Store", "*.tmp", "journal")
MODERN = int(setuptools.__version__.split(".")[0]) >= 77

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("build") is None or not MODERN, reason="needs build, and setuptools 77 or newer"
)


def run(*command, cwd, **environment):
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**inherited, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy, because building leaves files behind."""
    folder = tmp_path_factory.mktemp("sources")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def built(sources, tmp_path_factory):
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, cwd=sources)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    with tarfile.open(built[0]) as archive:
        archive.extractall(folder := tmp_path_factory.mktemp("sdist"))
    (inside,) = folder.iterdir()
    return inside


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_sdist_holds_the_package_its_tests_and_docs(sources, unpacked, built):
    made = {name for name in files_of(unpacked) if "egg-info" in name} | {"PKG-INFO", "setup.cfg"}
    here = {name for name in files_of(sources) if not name.startswith(("build/", "dist/")) and "egg-info" not in name}
    stays = {name for name in here if name.startswith(STAYS)} - {"tests/project/test_docs.py"}
    assert files_of(unpacked) - made == here - stays
    assert built[0].stat().st_size < LARGEST_SDIST


def test_the_tests_run_from_the_sdist(unpacked):
    shown = run(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/package/test_repr.py"),
        *("tests/project/test_docs.py", "-k", "the_call_is_shown or the_public_names_exist"),
        cwd=unpacked,
        PYTHONPATH=str(unpacked),  # before an editable installation
    )
    assert "100%" in shown


def test_the_wheel_holds_the_package_and_nothing_else(sources, built):
    with zipfile.ZipFile(built[1]) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    package = {name for name in names if ".dist-info/" not in name}
    assert package == {f"keras_softsets/{name}" for name in files_of(sources / "keras_softsets")}
    assert "keras_softsets/py.typed" in package


def test_the_metadata(built):
    with zipfile.ZipFile(built[1]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    assert metadata["Version"] == keras_softsets.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"]
    assert "Paper, https://arxiv.org/abs/2009.01367" in metadata.get_all("Project-URL")
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload(decode=True).decode()
    assert text.startswith("# keras_softsets\n")
    targets = re.findall(r"\]\(([^)\s]*)", text)  # of links and images; PyPI shows no files of the repository
    assert targets
    assert [target for target in targets if not target.startswith("https://")] == []


def test_links_of_a_release_lead_to_the_repository():
    """A build on GitHub knows its address, and that of the tag."""
    for_pypi = runpy.run_path(str(ROOT / "setup.py"))["for_pypi"]
    text = "![a figure](docs/a.png)\n\nSee [b](docs/b.md#c), [d](https://e.org) and [f](#g)."
    assert for_pypi(text, {}) == "See b, [d](https://e.org) and [f](#g)."
    released = {"GITHUB_REPOSITORY": "x/y", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REF_NAME": "v1.2.0"}
    there = "https://github.com/x/y"
    assert for_pypi(text, released) == (
        f"![a figure]({there}/raw/v1.2.0/docs/a.png)\n\n"
        f"See [b]({there}/blob/v1.2.0/docs/b.md#c), [d](https://e.org) and [f](#g)."
    )


def test_the_wheel_works_in_an_empty_environment(built, tmp_path):
    """Empty but for the dependencies, which are those of this environment; extras count as not installed."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", packages, built[1], cwd=tmp_path)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    python = tmp_path / "venv" / "bin" / "python"
    shown = run(python, ROOT / "tests/scripts/smoke.py", tmp_path / "export", cwd=tmp_path, CUDA_VISIBLE_DEVICES="-1")
    where, score = shown.strip().splitlines()
    assert pathlib.Path(where).is_relative_to(packages)
    assert float(score.removeprefix("F1 ")) > 0.8


def test_all_names_what_the_package_exports():
    exported = re.findall(
        r"^from keras_softsets\S* import (\w+) as \1$", (ROOT / "keras_softsets/__init__.py").read_text(), re.M
    )
    assert sorted(keras_softsets.__all__) == sorted(exported)
    assert len(set(keras_softsets.__all__)) == len(exported)
