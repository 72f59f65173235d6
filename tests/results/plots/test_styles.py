import itertools
from pathlib import Path

import numpy as np
import pytest

from pe_lab.results.plots import styles

ROOT = Path(__file__).parents[3]
COLORS = sorted({style.color for style in styles.STYLES.values()} | set(styles._VIOLET))

# What readers without one kind of cone see, in linear RGB: Machado, Oliveira and Fernandes 2009, severity 1
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


@pytest.mark.parametrize("cones", CONES)
def test_all_shades_are_told_apart(cones):
    seen = {color: oklab(np.array(CONES[cones]) @ linear(color)) for color in COLORS}
    assert len(seen) == 11
    near = {
        pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]])
        for pair in itertools.combinations(seen, 2)
    }
    assert min(near.values()) >= 0.045, min(near, key=near.get)  # twice what is just noticed


@pytest.mark.parametrize("color", COLORS)
def test_a_shade_is_legible_on_white_and_on_the_dark_page(color):
    luminance = linear(color) @ [0.2126, 0.7152, 0.0722]
    dark = linear("#17181a") @ [0.2126, 0.7152, 0.0722]
    assert min(1.05 / (luminance + 0.05), (luminance + 0.05) / (dark + 0.05)) >= 3


def test_no_two_encodings_look_the_same():
    assert len(set(styles.STYLES.values())) == len(styles.STYLES)


def test_a_users_own_encoding_looks_the_same_everywhere_and_like_none_of_pe_labs():
    mine = styles.of_name("my_package.window:Window")
    assert mine == styles.Style("#733af9", "v")
    assert mine.color not in {style.color for style in styles.STYLES.values()}


def test_several_encodings_have_the_colour_of_the_first_and_the_marker_of_the_last():
    assert styles.of_encodings([{"name": "rope", "base": 5e5}, {"name": "alibi"}]) == styles.Style(
        "#0a6da0", "s"
    )
    assert styles.of_encodings([]) == styles.of_name("nope")


def test_lines_of_one_style_differ_by_their_dashes():
    a, b = styles.of_name("rope"), styles.of_name("alibi")
    assert styles.dashes([a, b, a, a]) == [(), (), styles.DASHES[1], styles.DASHES[2]]


def test_lines_of_one_colour_differ_where_colours_are_asked():
    looks = [styles.of_name(name) for name in ("sinusoidal", "rope", "learned")]
    assert looks[0] != looks[2]
    assert styles.dashes([look.color for look in looks]) == [(), (), styles.DASHES[1]]
