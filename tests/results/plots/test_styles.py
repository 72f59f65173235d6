import itertools

import numpy as np
import pytest

from pe_lab.results.plots import styles
from pe_lab.results.plots.styles import PALETTE

# What readers without one kind of cone see, in linear RGB: Machado, Oliveira and
# Fernandes 2009, severity 1
CONES = {
    "all": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(color):
    share = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    """Ottosson 2020, https://bottosson.github.io/posts/oklab."""
    to_cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(to_lab) @ np.cbrt(np.array(to_cones) @ np.clip(rgb, 0, 1))


@pytest.mark.parametrize(
    ("cones", "least"), [("all", 0.13), ("no red", 0.059), ("no green", 0.059), ("no blue", 0.059)]
)
def test_every_two_colors_are_told_apart(cones, least):
    seen = {color: oklab(np.array(CONES[cones]) @ linear(color)) for color in PALETTE}
    distances = {
        pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]])
        for pair in itertools.combinations(seen, 2)
    }
    assert len(seen) == 15
    assert min(distances.values()) >= least, min(distances, key=distances.get)


@pytest.mark.parametrize("color", PALETTE)
def test_a_color_is_legible_on_white_and_on_the_dark_page(color):
    luminance = linear(color) @ [0.2126, 0.7152, 0.0722]
    dark = linear("#17181a") @ [0.2126, 0.7152, 0.0722]
    assert min(1.05 / (luminance + 0.05), (luminance + 0.05) / (dark + 0.05)) >= 3


def test_names_of_one_axes_have_different_colors_in_their_order():
    looks = styles.assign([[f"encoding {i}" for i in range(15)]])
    assert [style.color for style in looks.values()] == list(PALETTE)
    assert all(style.linestyle == "-" for style in looks.values())


def test_more_names_than_colors_differ_in_dash_and_marker():
    looks = styles.assign([[f"encoding {i}" for i in range(60)]])
    assert len(set(looks.values())) == 60
    first, again = looks["encoding 0"], looks["encoding 15"]
    assert first.color == again.color
    assert (first.marker, first.dash) != (again.marker, again.dash)


def test_a_name_has_one_style_in_all_axes_and_no_neighbor_has_its_color():
    names = [f"encoding {i}" for i in range(20)]
    panels = [names[:12], [names[2], *names[12:]]]
    looks = styles.assign(panels)
    for panel in panels:
        assert len({looks[name].color for name in panel}) == len(panel)
    assert len(set(looks.values())) == 20


def test_a_fixed_style_stays_and_is_not_given_again():
    fixed = {"b": styles.Style(PALETTE[0], "o")}
    looks = styles.assign([["a", "b", "c"]], fixed)
    assert looks["b"] == fixed["b"]
    assert [looks[name].color for name in "abc"] == [PALETTE[1], PALETTE[0], PALETTE[2]]


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("rope", "RoPE"),
        ("t5_bias", "T5 bias"),
        ("single_sine", "single sine"),
        ("rope(base=500.0)", "RoPE, base 500"),
        ("rope(base=500000.0) + learned", "RoPE, base 500000 + learned"),
        ("rope(scaling=yarn, factor=2.0)", "RoPE, scaling yarn, factor 2"),
        ("shifted(max_shift=32)", "shifted, max shift 32"),
        ("copy(distinct=True)", "copy, distinct"),
        ("copy(distinct=False)", "copy, no distinct"),
        (
            "mixture(tasks=(copy(num_symbols=6), reverse), weights=[1.0, 3.0])",
            "mixture, tasks copy(num_symbols=6), reverse, weights 1.0, 3.0",
        ),
        ("my_package.window:LogWindow", "LogWindow"),
        ("rope, in cross-attention too", "RoPE, in cross-attention too"),
        ("tuned: NTK-aware", "tuned: NTK-aware"),
        ("<script>", "<script>"),
    ],
)
def test_a_label_in_words(label, words):
    assert styles.words(label) == words


@pytest.mark.parametrize(
    ("label", "words"),
    [("64", "width 64"), ("1e-3", "width 0.001"), ("none", "no width"), ("True", "width")],
)
def test_a_label_that_says_nothing_alone_has_the_name_of_its_axis(label, words):
    assert styles.words(label, "model.width") == words
