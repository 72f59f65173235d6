"""Texts of users are shown as they are written, and pictures of any text are drawn."""

import html
import re

import pandas as pd
import pytest
from matplotlib import pyplot

from pe_lab.results.plots import drawing, lines, literal


def svg_of(label):
    """The texts of a picture with a label at each place where a user's text may be."""
    figure, axes = pyplot.subplots(layout="constrained")
    axes.plot([1, 10], [0, 1], label=literal.legend_label(label))
    axes.set_title(label)
    axes.set_xscale("log")
    axes.set_yticks([0, 1], [label, "other"])
    figure.supxlabel(label)
    drawing.legend(figure)
    svg = drawing.as_svg(figure).decode()
    return [html.unescape(text) for text in re.findall(r"<(?:text|tspan)[^>]*>([^<]*)<", svg)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("price $_$", "price $_$"),  # no formula that matplotlib can read
        ("cost $5 and $6", "cost $5 and $6"),  # one that it can
        (r"\$x_1^2$ \alpha", r"\$x_1^2$ \alpha"),
        ("_mine", "_mine"),
        ("中文", r"\u4e2d\u6587"),  # no font of these tests has them
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("\N{MATHEMATICAL BOLD SCRIPT CAPITAL A}", "\N{MATHEMATICAL BOLD SCRIPT CAPITAL A}"),
    ],
)
def test_labels_in_pictures_are_shown_as_they_are_written(monkeypatch, label, shown):
    chinese = frozenset("中文")
    find = literal._family_with
    monkeypatch.setattr(literal, "_family_with", lambda c: None if c <= chinese else find(c))
    texts = svg_of(label)
    assert texts.count(shown) == 4  # legend, title, tick and caption
    assert "other" in texts
    assert not any("math" in text for text in texts)  # the ticks of a log axis are formulas


@pytest.mark.slow
def test_pictures_of_a_text_that_a_second_font_has_are_written_in_all_formats(tmp_path):
    files = [tmp_path / f"picture.{suffix}" for suffix in drawing.FORMATS]
    figure, axes = pyplot.subplots(layout="constrained")
    axes.set_title("\N{MATHEMATICAL BOLD SCRIPT CAPITAL A} $_$")
    drawing.save(figure, files)
    assert "STIX" in " ".join(axes.title.get_fontfamily())
    assert all(file.stat().st_size > 1000 for file in files)


def test_a_line_whose_name_begins_with_an_underscore_is_in_the_legend():
    numbers = pd.DataFrame({"variant": ["_mine"], "run_id": ["a"], "length": [4], "value": [0.5]})
    axes = lines.lines(numbers)
    assert len(axes.get_legend_handles_labels()[1]) == 1
    pyplot.close(axes.figure)
