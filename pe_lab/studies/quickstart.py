"""Which encodings learn to copy eight symbols, and which still copy when the string is longer?

    pe-lab sweep quickstart        (in a checkout: make quickstart)

13 variants, 39 runs, 4 to 7 minutes on two cores. What comes out:
results/published/quickstart/README.md.
"""

from pe_lab.runs import grid
from pe_lab.studies import base


def get_config():
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=800, batch_size=32, max_length=8, learning_rate=6e-3, warmup_steps=50)
    c.evaluate.update(lengths=(4, 8, 10, 12, 16, 24), curve_every=200, curve_lengths=(8, 16))
    return c


def sweep():
    longest = 2 * 8 + 2  # tokens of the longest training example: where its learned table ends
    learned = dict(name="learned", max_positions=longest)
    encodings = [
        (dict(name="nope"),),
        (dict(name="raw_index"),),
        (dict(name="binary"),),
        (dict(name="single_sine"),),
        (dict(name="multi_sine"),),
        (dict(name="sinusoidal"),),
        grid.labelled("learned", (learned,)),
        grid.labelled("learned(init_std=0.7)", (dict(learned, init_std=0.7),)),
        (dict(name="shaw"),),
        (dict(name="rope"),),
        (dict(name="t5_bias"),),
        (dict(name="alibi"),),
    ]
    variants = grid.concat(
        grid.product({"model.encodings": encodings}),
        grid.product(
            {"model.encodings": [(dict(name="raw_index"),)], "positions": [dict(name="normalized")]}
        ),
    )
    return grid.product(variants, {"seed": range(3)})


def analysis():
    return dict(
        question="Which encodings learn to copy eight symbols, and which still copy at twice that "
        "length?",
        contrasts=(
            ("shaw", "t5_bias"),
            ("shaw", "rope"),
            ("t5_bias", "rope"),
            ("t5_bias", "alibi"),
            ("rope", "sinusoidal"),
        ),
    )
