"""Codes in float64, by their equations: what the reference values are of."""

import numpy as np

WIDTH = 16


def raw_index(p):
    return np.asarray(p, np.float64)[:, None]


def binary(p):
    return (np.asarray(p)[:, None] >> np.arange(16) & 1).astype(np.float64)


def single_sine(p):
    return np.sin(2 * np.pi / 8 * np.asarray(p, np.float64))[:, None]


def multi_sine(p):
    return np.sin(np.multiply.outer(np.asarray(p, np.float64), 10000.0 ** (-np.arange(WIDTH) / WIDTH)))


def frequencies(width=WIDTH, base=10000.0):
    return base ** (-np.arange(0, width, 2) / width)


def sinusoidal(p, width=WIDTH):
    angles = np.multiply.outer(np.asarray(p, np.float64), frequencies(width))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), -1)


def learned(p):
    return np.random.default_rng(0).normal(0, 0.02, (4096, WIDTH))[np.asarray(p)]
