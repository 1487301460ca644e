"""Draws the figures of the docs that no benchmark makes: `python -m tools.docs_figures`."""

from pathlib import Path

from keras_softsets import LinearHeaviside, SigmoidHeaviside, plots

IMAGES = Path(__file__).parents[1] / "docs/images"

if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    items = ["step", LinearHeaviside(0.1), LinearHeaviside(0.2), SigmoidHeaviside(10), SigmoidHeaviside(50)]
    plots.approximations(items, [0.1, 0.5, 0.9]).savefig(IMAGES / "approximations.png")
