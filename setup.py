"""What pyproject.toml cannot say: links of the README for PyPI, which shows no files of the repository.

Only a build on GitHub knows the address of its repository: there, links and images become absolute. Elsewhere, images
are left out and links become plain text.
"""

import os
import pathlib
import re

from setuptools import setup

RELATIVE = r"\((?!https?://|mailto:|#)([^)\s]*)\)"


def for_pypi(text, environment):
    """Returns Markdown without relative addresses."""
    if repository := environment.get("GITHUB_REPOSITORY"):
        there = f"{environment['GITHUB_SERVER_URL']}/{repository}"
        tag = environment.get("GITHUB_REF_NAME", "main")
        text = re.sub(rf"(!\[[^\]]*\]){RELATIVE}", rf"\1({there}/raw/{tag}/\2)", text)
        return re.sub(rf"(\[[^\]]*\]){RELATIVE}", rf"\1({there}/blob/{tag}/\2)", text)
    without_images = re.sub(rf"^!\[[^\]]*\]{RELATIVE}\n+", "", text, flags=re.MULTILINE)
    return re.sub(rf"\[([^\]]*)\]{RELATIVE}", r"\1", without_images)


if __name__ == "__main__":
    readme = pathlib.Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    setup(long_description=for_pypi(readme, os.environ), long_description_content_type="text/markdown")
