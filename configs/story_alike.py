"""Are sinusoidal and learned embeddings alike within the training lengths? The suite's six tasks.

    pe-lab sweep configs/story_alike.py

These are three rows of suite_grid: the same tasks, rates and seeds, and the same runs. `learned`
has two scales, the standard deviation of 0.02 that BERT uses and that of sinusoids. 432 runs of
about half a minute of one core; a run that suite_grid has trained already is not trained again.

Declared before the runs of recall, sort, flip_flop and addition, and by suite_grid before all, for
each task at the longest trained length and at the rate that validation chooses: both scales of
`learned` - `sinusoidal`, with a margin of 0.05. Verdict: two embeddings are alike on a task if the
interval of their difference lies within the margin, and different if it lies outside of it. The
task says nothing if neither solves it.
"""

from pe_lab.runs import grid
from pe_lab.studies import suite_grid

MARGIN = 0.05


def get_config():
    return suite_grid.get_config()


def sweep():
    learned = dict(name="learned", max_positions=suite_grid.TESTED)
    encodings = [
        (dict(name="sinusoidal"),),
        grid.labelled("learned", (learned,)),
        grid.labelled("learned(init_std=0.7)", (dict(learned, init_std=0.7),)),
    ]
    axes = {"train.learning_rate": suite_grid.RATES, "seed": range(suite_grid.SEEDS)}
    points = []
    for name, task in suite_grid.TASKS.items():  # one task after the other
        of_task = suite_grid.tasks({name: task})
        points += grid.product({"model.encodings": encodings}, of_task, axes)
    return points


def analysis():
    by_task = dict(rows="model.encodings", columns="task")
    pairs = (("learned", "sinusoidal"), ("learned(init_std=0.7)", "sinusoidal"))
    return dict(
        question="Are sinusoidal and learned embeddings alike within the training lengths?",
        contrasts=tuple(dict(a=a, b=b, at=1, margin=MARGIN) for a, b in pairs),
        tuned=("train.learning_rate",),
        tables=(
            dict(
                by_task,
                title="At the longest trained length",
                metric=dict(name="exact_match", at=1),
            ),
            dict(by_task, title="Solved seeds", metric="solved"),
        ),
    )
