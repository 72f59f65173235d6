"""Which encodings still read a text at up to sixteen times the training length?

    pe-lab sweep configs/papers/enwik8.py
    pe-lab sweep configs/papers/enwik8.py:scaled  # about 2.4 hours
    pe-lab sweep configs/papers/enwik8.py:smoke   # a small form

The script train_length_extrapolate.py of lucidrains/x-transformers as a study: a decoder of 6
layers, width 512 and 8 heads of 64 reads bytes. It trains on windows of 256 bytes from the first
90,000,000 bytes of enwik8, with Adam at a rate of 1e-4, and reads windows of 256 to 4,096 bytes.
The script has a flag for each of three encodings, and sets PoPE (arXiv 2509.10534). All three are
rows here, and a row has none. 4 runs: for a machine with an accelerator. The main form reads the
file enwik8 in the current folder.

Compared with the authors' code, lucidrains/x-transformers at 17de21d: x_transformers.py of version
2.31.10, and
https://github.com/lucidrains/x-transformers/blob/17de21d/train_length_extrapolate.py. The script
prints losses, and no figure was read.

Differs:
- The script divides the loss by four and updates after each of four batches of 4 windows, so
  100,000 iterations are 400,000 updates. Here a batch is one such update, and the gradient is
  clipped at 2.0 instead of 0.5, since it is not divided.
- The script reads one random batch of 4 windows of each length, from the next 5,000,000 bytes.
  Here these bytes are the validation split, and the last 5,000,000 are the test. Windows of all
  lengths end with the same bytes, and tables score the last 128. The script's score is the mean
  over a window, as is the row negative_log_likelihood of a record.
- A window begins with a token of its own, and its first byte is predicted too.
- RoPE rotates the first half of each head's channels, as the script would by default.
- Initial weights are those of pe_lab.

Scaled: the documentation and sources of Django, which configs/real_text.py describes, cut into its
splits by document; windows cross documents. 2 layers, width 128 and 4 heads, 1,500 steps of 16
windows, a rate of 1e-3, five seeds.
"""

from configs import real_text
from configs.papers import forms
from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke", "scaled")

LENGTH = 256  # bytes of a window in training
LENGTHS = (256, 512, 1024, 2048, 4096)
SPLITS = (90_000_000, 5_000_000, 5_000_000)  # bytes
ENCODINGS = (
    dict(name="pope"),
    dict(name="rope", fraction=0.5),
    dict(name="dynamic_position_bias"),
    dict(name="nope"),
)


def get_config(form=""):
    c = base.get_config()
    windows = dict(longest=max(LENGTHS), align="end")
    c.task = dict(name="language_model", path="enwik8", splits=SPLITS, **windows)
    c.layout.end_token = False  # a window ends anywhere
    c.model.update(num_layers=6, width=512, num_heads=8, feedforward_width=2048)
    c.train.update(
        steps=400_000,
        criterion=None,  # a fixed budget
        batch_size=4,
        min_length=LENGTH,
        max_length=LENGTH,
        learning_rate=1e-4,
        schedule="constant",
        warmup_steps=0,
        weight_decay=0.0,
        beta2=0.999,
        clip_norm=2.0,
    )
    c.evaluate.update(lengths=LENGTHS, num_examples=512, batch_size=4)
    c.evaluate.update(curve_every=10_000, curve_lengths=(LENGTH,), curve_examples=256)
    if form == "scaled":
        c.task = dict(name="language_model", dataset=real_text.CORPUS, **windows)
        c.model.update(num_layers=2, width=128, num_heads=4, feedforward_width=512)
        c.train.update(steps=1500, batch_size=16, learning_rate=1e-3)
        c.evaluate.update(num_examples=128, curve_every=250, curve_examples=128)
    if form == "smoke":
        c.task = dict(name="language_model", path="README.md", longest=32, align="end")
        forms.smoke(c, trained=16)
        c.train.min_length = 16
        c.evaluate.update(num_examples=8, batch_size=8, curve_examples=8)
    return c


def sweep(form=""):
    encodings = [(encoding,) for encoding in ENCODINGS]
    if form == "smoke":
        encodings = encodings[:1]
    num_seeds = 5 if form == "scaled" else 1
    return grid.product({"model.encodings": encodings}, {"seed": range(num_seeds)})


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    contrasts = (("pope", "rope(fraction=0.5)"), ("pope", "dynamic_position_bias"))
    return dict(
        question="Which encodings still read a text at up to sixteen times the training length?",
        extrapolation=dict(at=4),
        contrasts=contrasts if form == "scaled" else (),  # one seed decides nothing
    )
