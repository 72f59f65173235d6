"""A decoder of GPT-2's small size, 124 million parameters, on copy of strings of up to 510 symbols.

    python -m experiments.benchmark --config=configs/gpt2.py --steps=0  # compiles: memory, FLOPs
    pe-lab train configs/gpt2.py                                        # needs an accelerator

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners": 12 layers, width 768, 12
heads, learned positions up to 1024, a vocabulary of 50257, tied output. Differs: attention has no
biases (36,864 parameters fewer than 124,439,808). In bfloat16, inner values computed again in the
backward pass.
"""

from pe_lab.studies import base


def get_config():
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(
        name="copy", num_symbols=50_257 - 5, distinct=False
    )  # the layouts' tokens are five
    c.model.update(
        width=768,
        num_layers=12,
        num_heads=12,
        feedforward_width=3072,
        dropout=0.1,
        tied_output=True,
        scale_embeddings=False,
    )
    c.model.compute_dtype = "bfloat16"
    c.model.encodings = (dict(name="learned", max_positions=1024),)
    c.train.update(
        steps=10_000,
        batch_size=8,
        max_length=510,
        learning_rate=6e-4,
        warmup_steps=500,
        beta2=0.95,
        weight_decay=0.1,
    )
    c.evaluate.update(
        lengths=(128, 510),
        num_examples=128,
        batch_size=8,
        curve_every=1000,
        curve_lengths=(128,),
        curve_examples=64,
    )
    c.execution.remat = True
    return c
