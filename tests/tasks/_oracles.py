"""Slow, independent computations of targets that the oracles of several tasks share."""

from collections.abc import Sequence

import numpy as np

from pe_lab.tasks._expressions import CLOSE, MINUS, PLUS, TIMES


def read(task, text: str) -> int:
    """Return the value of a written operand."""
    return int(text[::-1] if task.reverse_operands else text, task.base)


def write(task, number: int, width: int = 1) -> str:
    """Return a number as the target writes it, zero-padded to `width`."""
    digits = ""
    while number or len(digits) < width:
        number, digit = divmod(number, task.base)
        digits += str(digit)
    return digits if task.reverse_answer else digits[::-1]


def addition(task, words: list[str], operands: list[str]) -> list[str]:
    """Return the written numbers of an addition's target, with hints if the task has them.

    Args:
      words: the words of the prompt, with hints.
      operands: the written operands, without hints.
    """
    hints = [int(word[1:]) for word in words if word[0] == "h"]
    first_hint = 0
    if hints:
        first_hint = hints[0] if task.reverse_operands else hints[-1]
    return [_with_hints(task, number, first_hint) for number in _numbers(task, operands)]


def _numbers(task, operands: list[str]) -> list[str]:
    values = [read(task, operand) for operand in operands]
    width = len(max(operands, key=len))
    if task.padding != "answer":  # else the operands are as wide as the sum
        largest = task.base**width - 1
        width = len(write(task, len(operands) * largest))
    if task.answer != "sum":
        return [_carries(task, values, width)]
    least = 1 if task.padding == "none" else width
    sums = [sum(values[:k]) for k in range(len(values) + 1)]
    numbers = [write(task, value, least) for value in sums]
    return numbers if task.scratchpad else numbers[-1:]


def _carries(task, values: list[int], width: int) -> str:
    carries = []
    for index in range(width):
        power = task.base**index
        carry = sum(value % power for value in values) // power
        previous_digits = [value * task.base // power % task.base for value in values]
        direct = sum(previous_digits) // task.base
        if task.answer == "direct_carries":
            carry = direct
        if task.answer == "virtual_carries":
            carry -= direct
        carries.append(str(carry))
    return "".join(carries if task.reverse_answer else carries[::-1])


def _with_hints(task, number: str, first_hint: int) -> str:
    """Return the words of a number, with a hint before each digit if the task has hints."""
    if not task.hints:
        return " ".join(number)
    significance = list(range(len(number)))
    if not task.reverse_answer:
        significance.reverse()
    words = []
    for index, digit in zip(significance, number, strict=True):
        words += [f"h{(first_hint + index) % task.hints}", digit]
    return " ".join(words)


def padded_bits(task, prompt, result):
    """Return the target of a task on two binary numbers; a `result` of None has no digits."""
    bits = [] if result is None else [int(bit) for bit in f"{result:b}"[::-1]]
    if not task.padded:
        return np.array(bits)
    zeros = [0] * (len(prompt) + task.extra - len(bits) - 1)
    return np.array([*bits, 2, *zeros])


def binary_numbers(prompt):
    """Return the numbers of a binary prompt, whose operator is symbol 2."""
    texts = "".join(map(str, prompt)).split("2")
    return [int(text[::-1], 2) for text in texts]


def value_of(symbols: Sequence[int], modulus: int) -> int:
    """Evaluate an expression by recursive descent."""
    value, rest = _first(list(symbols), modulus)
    assert not rest, f"symbols after the end: {rest}"
    return value % modulus


def _first(symbols: list[int], modulus: int) -> tuple[int, list[int]]:
    """Return the value of the expression at the start of the symbols, and the other symbols."""
    head, rest = symbols[0], symbols[1:]
    if head < modulus:
        return head, rest
    if head == modulus + MINUS:
        return -rest[0], rest[1:]
    value, (sign, *rest) = _first(rest, modulus)
    if sign == modulus + CLOSE:
        return value, rest
    other, rest = _first(rest, modulus)
    results = {PLUS: value + other, MINUS: value - other, TIMES: value * other}
    return results[sign - modulus], rest[1:]
