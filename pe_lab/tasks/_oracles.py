"""Slow computations on written numbers, for the oracles of the tasks on long numbers."""


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
