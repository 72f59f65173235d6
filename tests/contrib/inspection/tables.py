"""Codes in float64, by their equations, and random draws: what the reference values are of."""

import functools
import math
from types import SimpleNamespace

import numpy as np

WIDTH = 16


def raw_index(p):
    return np.asarray(p, np.float64)[:, None]


def binary(p):
    return (np.asarray(p)[:, None] >> np.arange(16) & 1).astype(np.float64)


def single_sine(p):
    return np.sin(2 * np.pi / 8 * np.asarray(p, np.float64))[:, None]


def multi_sine(p):
    return np.sin(
        np.multiply.outer(np.asarray(p, np.float64), 10000.0 ** (-np.arange(WIDTH) / WIDTH))
    )


def frequencies(width=WIDTH, base=10000.0):
    return base ** (-np.arange(0, width, 2) / width)


def sinusoidal(p, width=WIDTH):
    angles = np.multiply.outer(np.asarray(p, np.float64), frequencies(width))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), -1)


@functools.cache
def drawn():
    """All that the reference drew, one after the other from one generator; tokens as they are
    embedded, 12 of width 32.
    """
    rng = np.random.default_rng(0)
    return SimpleNamespace(
        learned=rng.normal(0, 0.02, (4096, WIDTH)),
        directions={width: rng.normal(size=(400, width)) for width in (8, 64, 512)},
        tokens=math.sqrt(32) * rng.normal(0, 0.05, (12, 32)),
        queries=rng.normal(size=(32, 32)),
        keys=rng.normal(size=(32, 32)),
    )


def learned(p):
    return drawn().learned[np.asarray(p)]
