REFUSALS = [
    (dict(num_symbols=1), "Reverse needs two symbols or more"),
]


def oracle(task, prompt):
    return prompt[::-1]
