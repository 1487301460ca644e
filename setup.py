"""What pyproject.toml cannot say: the README for PyPI, where links and images inside the repository would be broken."""

import pathlib
import re

from setuptools import setup


def for_pypi(text):
    """Returns Markdown without images that have relative addresses, and with the bare text of such links."""
    relative = r"\((?!https?://|mailto:|#)[^)\s]*\)"
    without_images = re.sub(rf"^!\[[^\]]*\]{relative}\n+", "", text, flags=re.MULTILINE)
    return re.sub(rf"\[([^\]]*)\]{relative}", r"\1", without_images)


setup(
    long_description=for_pypi(pathlib.Path(__file__).with_name("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
