"""Scripts of the docs: hooks of mkdocs, and figures that no study makes."""
