"""Multi-query associative recall: which width and which positions does it take to look up many
pairs at once?

    pe-lab sweep configs/papers/mqar.py
    pe-lab sweep configs/papers/mqar.py:scaled  # about 3.3 hours
    pe-lab sweep configs/papers/mqar.py:longer  # 8 and 16 pairs at width 64, with claims
    pe-lab sweep configs/papers/mqar.py:smoke   # one small run

Protocol of Figure 2 of Arora et al. 2023, Zoology (https://arxiv.org/abs/2312.04927): decoder of 2
layers and one head without feed-forward, widths 64 to 512, 8192 symbols, learned positions; 4, 8 or
16 pairs in 64, 128 or 256 tokens, each trained alone on 100,000 examples; AdamW with decay 0.1,
cosine to 0 over 64 passes without warm-up or clipping, the best of four rates from 1e-4 to 1e-2,
ended at 99 %; accuracy over queries. NoPE and RoPE are added here. 144 runs: for a machine with an
accelerator.

Compared with the authors' code, HazyResearch/zoology at d88d6f5:
zoology/experiments/paper_configs/iclr24_zoology_figure2/configs.py, zoology/config.py,
zoology/train.py, zoology/model.py, zoology/data/multiquery_ar.py. It has no results, and no figure
of the paper was read.

Differs:
- A run ends by exact match over all queries of a validation example, and a rate is chosen by the
  validation loss. The authors use the accuracy over queries of the test set for both.
- The batch has 256 examples. The authors' has 512 for 4 and 8 pairs.
- Dropout of 0.1 acts on embeddings and sublayers. The authors' acts on embeddings and attention
  weights.
- Tokens start with an rms of 1. The authors' start with 0.02. Learned positions start at the scale
  of tokens in both.
- The output has a matrix of its own. The authors' shares the token embedding.
- The authors' attention has biases, and their cosine has one step for each pass.
- The authors' later configurations (mqar_example_configs/original_mqar_configs.py) are not
  followed. They train one hybrid of convolution and attention on a mixture of 4 to 64 pairs with
  16, 16, 16, 8 and 4 tokens a pair.

Scaled: 256 symbols, 4, 8 or 16 pairs with 4 tokens a pair, widths 32 and 64, two rates, 10,000
examples, 6,000 steps of 64, five seeds.

Longer: width 64 of the scaled form with 8 and 16 pairs and eight seeds. Declared before its first
run: attention with learned positions looks up 16 pairs if its mean accuracy over queries is at
least 0.99, and it needs the positions if this is at least 0.2 above the accuracy without them. The
paper has no row without positions, so the comparison is ours.
"""

from configs.papers import forms
from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke", "scaled", "longer")

PAIRS = (4, 8, 16)


def get_config(form=""):
    c = base.get_config()
    c.task = dict(name="associative_recall", slots_per_pair=7, random_filler=False)
    c.layout.end_token = False
    c.model.update(num_layers=2, num_heads=1, feedforward_width=0, dropout=0.1)
    c.train.update(
        steps=25_000,  # 64 passes through 100,000 examples
        criterion=0.99,
        extra_steps=0,
        batch_size=256,
        num_examples=100_000,
        warmup_steps=0,
        final_rate_fraction=0.0,
        weight_decay=0.1,
        beta2=0.999,
        clip_norm=1e9,  # no clipping
    )
    c.evaluate.update(num_examples=3000, batch_size=250, curve_every=391, curve_examples=500)
    if form in ("scaled", "longer"):
        c.task = dict(
            name="associative_recall", num_symbols=256, slots_per_pair=1, random_filler=False
        )
        c.train.update(steps=6000, batch_size=64, num_examples=10_000)
        c.evaluate.update(num_examples=1000, curve_every=250, curve_examples=250)
    if form == "smoke":
        c.task = dict(name="associative_recall", num_symbols=64, slots_per_pair=1)
        forms.smoke(c, trained=4)
    return c


def sweep(form=""):
    encodings = [
        grid.labelled("learned", (dict(name="learned", max_positions=258, init_std=1.0),)),
        (dict(name="nope"),),
        (dict(name="rope"),),
    ]
    if form == "smoke":
        return grid.product(
            {"model.width": [16]}, {"model.encodings": encodings[:1]}, {"seed": range(1)}
        )
    widths, num_pairs, num_seeds = (64, 128, 256, 512), PAIRS, 1
    rates = (1e-3, 1e-2) if form in ("scaled", "longer") else (1e-4, 4.6e-4, 2.2e-3, 1e-2)
    if form == "scaled":
        widths, num_seeds = (32, 64), 5
    if form == "longer":
        widths, num_pairs, num_seeds = (64,), PAIRS[1:], 8
    counts = grid.zipped(
        {"train.max_length": [grid.labelled(f"{pairs} pairs", pairs) for pairs in num_pairs]},
        {"train.min_length": [grid.labelled("", pairs) for pairs in num_pairs]},
        {"evaluate.lengths": [grid.labelled("", (pairs,)) for pairs in num_pairs]},
        {"evaluate.curve_lengths": [grid.labelled("", (pairs,)) for pairs in num_pairs]},
    )
    variants = grid.product(counts, {"model.encodings": encodings}, {"model.width": widths})
    return grid.product(variants, {"train.learning_rate": rates}, {"seed": range(num_seeds)})


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    accuracy = dict(name="token_accuracy", at=1)
    return dict(
        question="Which width and which positions does it take to look up many pairs at once?",
        tuned=("train.learning_rate",),
        contrasts=(("learned", "nope"), ("learned", "rope"))
        if form in ("scaled", "longer")
        else (),
        extrapolation=dict(at=1, threshold=0.9),  # no longer example is tested
        tables=(
            dict(
                rows=("train.max_length", "model.width"), columns="model.encodings", metric=accuracy
            ),
        ),
    )
