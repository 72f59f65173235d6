"""Configs of small studies to sweep."""

TWO_RUNS = """
from pe_lab.studies import base
from pe_lab.runs import grid
def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.model.update(encodings=(dict(name="rope"),), width=16, num_layers=1, num_heads=2)
    c.train.update(steps=4, batch_size=8, max_length=3, warmup_steps=1)
    c.evaluate.update(lengths=(3,), num_examples=8, batch_size=8)
    c.evaluate.update(curve_lengths=(3,), curve_examples=8)
    return c
def sweep():
    return grid.product({"seed": range(2)})
"""
STUDY = """
from pe_lab.studies import base
from pe_lab.runs import grid
def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.model.update(width=16, num_heads=2, feedforward_width=16)
    c.train.update(steps=4, batch_size=8, max_length=3, warmup_steps=1)
    c.evaluate.update(lengths=(3,), num_examples=8, batch_size=8)
    c.evaluate.update(curve_lengths=(3,), curve_examples=8)
    return c
def sweep():
    return grid.product({"model.encodings": [(dict(name="failing:Fails"),), (dict(name="nope"),)]})
"""
