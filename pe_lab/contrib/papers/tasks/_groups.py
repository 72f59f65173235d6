"""Finite groups of permutations: their elements in lexicographic order, and their product table.

A permutation p is (p[0], p[1], …). The product p · q maps i to p[q[i]]: q acts first. This is the
convention of alreich/abstract_algebra at 48d16df, src/permutations.py, which jopetty/word-problem
at 0fb17d1, src/generate_data.py, computes with.
"""

import functools
import itertools
import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

Permutation = tuple[int, ...]
LARGEST_ORDER = 720  # of S6; a table has the square of it
_NAME = re.compile(r"([SAZ])([1-9][0-9]*)")


@dataclass(frozen=True)
class Group:
    """A group. The first element is the identity.

    Attributes:
      elements: in lexicographic order.
      table: the number of the product of two elements, [first, second].
    """

    elements: tuple[Permutation, ...]
    table: Int[np.ndarray, "n n"]


@functools.cache
def named(name: str) -> Group:
    """The group of a name: S, A or Z with a number, or a product of them such as A4xZ5.

    The permutations of a product move the points of each factor.

    Raises:
      ValueError: the name is another one, or the group is too large.
    """
    elements: list[Permutation] = [()]
    for factor in name.split("x"):
        match = _NAME.fullmatch(factor)
        if match is None:
            raise ValueError(
                f"A group is S, A or Z with a number, or a product of them such as A4xZ5, got "
                f"{name!r}."
            )
        kind, degree = match[1], int(match[2])
        _check_order(len(elements) * _order(kind, degree))
        degree_before = len(elements[0])
        moved = [
            tuple(degree_before + point for point in permutation)
            for permutation in _permutations(kind, degree)
        ]
        elements = [first + second for first in elements for second in moved]
    return _group(elements)


def _order(kind: str, degree: int) -> int:
    """The number of elements; of large symmetric groups, a number that is too large."""
    if kind == "Z":
        return degree
    order = 1
    for number in range(2 if kind == "S" else 3, min(degree, LARGEST_ORDER) + 1):
        order *= number
    return order


def _permutations(kind: str, degree: int) -> list[Permutation]:
    points = range(degree)
    if kind == "Z":
        return [tuple((point + shift) % degree for point in points) for shift in points]
    every = itertools.permutations(points)
    return [permutation for permutation in every if kind == "S" or _is_even(permutation)]


def _is_even(permutation: Permutation) -> bool:
    inversions = sum(first > second for first, second in itertools.combinations(permutation, 2))
    return inversions % 2 == 0


@functools.cache
def generated(generators: tuple[Permutation, ...]) -> Group:
    """The group of all products of some permutations.

    Raises:
      ValueError: these are no permutations of the same points, or the group is too large.
    """
    degree = len(generators[0])
    for generator in generators:
        if sorted(generator) != list(range(degree)):
            raise ValueError(
                f"Generators are permutations of the same points 0, 1, …, got {generator}."
            )
    identity = tuple(range(degree))
    elements = {identity}
    new = [identity]
    while new:
        products = {product(p, generator) for p in new for generator in generators}
        new = list(products - elements)
        elements.update(new)
        _check_order(len(elements))
    return _group(sorted(elements))


def product(p: Permutation, q: Permutation) -> Permutation:
    """p · q, which maps i to p[q[i]]."""
    return tuple(p[point] for point in q)


def _check_order(order: int) -> None:
    if order > LARGEST_ORDER:
        raise ValueError(f"A group has at most {LARGEST_ORDER} elements; this one has more.")


def _group(elements: list[Permutation]) -> Group:
    numbers = {permutation: number for number, permutation in enumerate(elements)}
    rows = [[numbers[product(p, q)] for q in elements] for p in elements]
    return Group(tuple(elements), np.array(rows, np.int32))
