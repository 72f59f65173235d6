"""The smoke form that the protocols share."""

from ml_collections import ConfigDict


def smoke(c: ConfigDict, trained: int = 8) -> None:
    """Shrink a config until a run takes seconds and shows only that everything works.

    It is evaluated at the longest training length and at twice this length, as studies are.
    """
    c.model.update(num_layers=1, width=16, num_heads=2, feedforward_width=32)
    c.train.update(steps=20, batch_size=8, max_length=trained, criterion=None)
    c.train.warmup_steps = min(c.train.warmup_steps, 2)
    c.evaluate.update(
        lengths=(trained, 2 * trained),
        num_examples=32,
        batch_size=32,
        curve_every=20,
        curve_lengths=(trained,),
        curve_examples=32,
    )
