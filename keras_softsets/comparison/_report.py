"""A comparison as a figure, as Markdown and as a self-contained page."""

from __future__ import annotations

import base64
import html
import io
import os
import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_softsets._checks import shown
from keras_softsets.comparison._comparison import signed
from keras_softsets.plots._figures import COLOURS, new_figure

if TYPE_CHECKING:
    from keras_softsets.comparison._comparison import Comparison, Line


def figure_of(comparison: Comparison) -> Any:
    """Draws the score of each run on the left, and paired differences with intervals on the right."""
    lines = comparison.lines
    figure, axes = new_figure(1, 2, width=4.6, height=1.4 + 0.5 * len(lines), sharey=True)
    places = np.arange(len(lines))[::-1]
    for place, line in zip(places, lines):
        left, right = axes[0]
        left.plot(line.tuned, [place] * len(line.tuned), "o", color=COLOURS[0], alpha=0.5)
        left.plot(np.mean(line.tuned), place, "|", color="black", markersize=16)
        if line.difference is not None:
            gap = [[line.difference.value - line.difference.low], [line.difference.high - line.difference.value]]
            right.errorbar(line.difference.value, place, xerr=gap, fmt="o", color=COLOURS[1], capsize=4)
    right.axvline(0, color="black", linewidth=0.8)
    tuned = "" if comparison.task.default is None else ", tuned"
    left.set(yticks=places, yticklabels=[line.name for line in lines], xlabel=f"{comparison.task.score.name}{tuned}")
    left.set_ylim(-0.6, len(lines) - 0.4)
    right.locator_params(axis="x", nbins=5)  # labels with signs are wide
    right.set(xlabel=f"difference to {comparison.baseline.name}, 95 %")
    return figure


_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } .verdict { border-left: 4px solid #0072B2; padding: .5rem 1rem; font-size: 1.1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: right; padding: .35rem .5rem; border-bottom: 1px solid #8884; vertical-align: bottom; }
td { white-space: nowrap; } th:first-child, td:first-child { text-align: left; white-space: normal; }
img { width: 100%; min-width: 36rem; height: auto; background: white; } footer { color: #777; font-size: .9rem; }
@media (max-width: 48rem) {
  tr:first-child { display: none; } tr { display: block; margin: 1rem 0; }
  td, td:first-child { display: flex; justify-content: space-between; text-align: right; }
  td::before { content: attr(data-head); padding-right: 1rem; white-space: normal; text-align: left; color: #777; }
  td:first-child { font-weight: bold; } td:first-child::before, td:empty { display: none; }
}
"""


def columns(comparison: Comparison) -> list[str]:
    """Returns the head of the table."""
    task = comparison.task
    score = task.score.name
    at = [] if task.default is None else [f"{score} at {'the argmax' if task.kind == 'classes' else '0.5'}"]
    tuned = score if task.default is None else f"{score}, tuned"
    area = "AUROC" if task.kind == "classes" else "AUPRC"
    return ["loss", *at, tuned, f"difference to {comparison.baseline.name}", area, "calibration error", "seconds"]


def cells(comparison: Comparison, line: Line) -> list[str]:
    """Returns one line of the table."""
    default = [] if comparison.task.default is None else [_spread(line.default)]
    difference = "" if line.difference is None else signed(line.difference)
    values = (_spread(line.tuned), difference, _spread(line.ranking), _spread(line.calibration))
    return [line.name, *default, *values, f"{np.mean(line.seconds):.1f}"]


def markdown_table(comparison: Comparison) -> str:
    """Returns the table as Markdown."""
    rows = [columns(comparison), *(cells(comparison, line) for line in comparison.lines)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows)


def write(comparison: Comparison, path: str | os.PathLike[str]) -> pathlib.Path:
    """Writes the report, by the ending of its name."""
    found = pathlib.Path(path)
    writers = {".html": html_report, ".md": markdown_report}
    if found.suffix not in writers:
        raise ValueError(f"`path` must end in .html or .md. Received: path={shown(str(path))}")
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_text(writers[found.suffix](comparison), encoding="utf-8")
    return found


def markdown_report(comparison: Comparison) -> str:
    """Returns the report as Markdown, without the figure."""
    return "\n\n".join(["# Does it help?", comparison.verdict, markdown_table(comparison), notes(comparison)]) + "\n"


def html_report(comparison: Comparison) -> str:
    """Returns the report as HTML; the figure is inside, and nothing comes from the network."""
    head, *body = [columns(comparison), *(cells(comparison, line) for line in comparison.lines)]
    rows = [_row("th", head, head), *(_row("td", row, head) for row in body)]
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Does it help?</title>\n<style>{_STYLE}</style>\n<h1>Does it help?</h1>\n"
        f'<p class="verdict">{html.escape(comparison.verdict)}</p>\n'
        f'<div class="wide"><table>\n{chr(10).join(rows)}\n</table></div>\n{_figure(comparison)}'
        f"<footer><p>{html.escape(notes(comparison))}</p></footer>\n</html>\n"
    )


def best_of(comparison: Comparison) -> str:
    """Returns which model is the best one, and how it decides."""
    run = comparison.best_run
    decision = "" if run.decision is None else f", which decides with {_shown(run.decision)}"
    return f"The best model is that of {run.row}, seed {run.seed}, epoch {run.epoch}{decision}."


def _shown(decision: Any) -> str:
    offsets, many = getattr(decision, "offsets", None), getattr(decision, "thresholds", None)
    numbers = [decision] if isinstance(decision, float) else offsets or many
    if not numbers:
        return "the argmax"
    name = "offsets" if offsets else "threshold" + "s" * (many is not None)
    return f"{name} {', '.join(f'{number:.3g}' for number in numbers)}"


def notes(comparison: Comparison) -> str:
    """Returns how the numbers came about."""
    seeds, samples = len(comparison.baseline.runs), len(comparison.baseline.runs[0].test.label)
    over = "seeds and samples" if seeds > 1 else "samples alone, since there is one seed"
    tuned = "" if comparison.task.default is None else " Decisions were tuned on validation data."
    return (
        f"{best_of(comparison)} The table holds mean ± standard deviation over {seeds} seed{'s' * (seeds > 1)}, on "
        f"{samples:,} test samples, which chose neither epochs nor decisions. Differences are paired, with 95 % "
        f"intervals over {over}.{tuned} The epoch is the one in which the loss itself is lowest on "
        "all validation data. Seconds are those of training."
        f"{_in_code(comparison)}"
    )


def _in_code(comparison: Comparison) -> str:
    """What default losses are in code."""
    score, names = comparison.task.score, {line.name for line in comparison.lines}
    if not score.registered or f"recommended for {score.name}" not in names:
        return ""
    given = "".join(f", {name}={value!r}" for name, value in score.parameters.items())
    return f" In code, the loss recommended for {score.name} is keras_softsets.loss_for({score.name!r}{given})."


def _figure(comparison: Comparison) -> str:
    try:
        figure = comparison.plot()
    except ImportError:  # matplotlib is optional
        return ""
    file: Any = io.BytesIO()
    figure.savefig(file, format="png", dpi=160)
    encoded = base64.b64encode(file.getvalue()).decode()
    alt = "Scores of all runs, and paired differences"
    return f'<p class="wide"><img alt="{alt}" src="data:image/png;base64,{encoded}"></p>\n'


def _row(tag: str, row: list[str], head: list[str]) -> str:
    each = zip(map(html.escape, row), map(html.escape, head))
    return "<tr>" + "".join(f'<{tag} data-head="{name}">{cell}</{tag}>' for cell, name in each) + "</tr>"


def _spread(values: list[float]) -> str:
    return f"{np.mean(values):.3f}" + (f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else "")
