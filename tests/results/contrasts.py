"""Studies with contrasts."""

from tests.results import studies
from tests.results.fake_study import point, record

SOLVED = {4: 1.0}


def study(tmp_path, runs, contrasts=(("rope", "alibi"),), **analysis):
    """A study of runs {encoding: [exact match at twice the training length, a seed each]}; more of
    a run beside it as a dict.
    """
    entries = []
    for name, of_name in runs.items():
        values, more = of_name if isinstance(of_name, tuple) else (of_name, {})
        more = {"validation": SOLVED, **more}
        for seed, value in enumerate(values):
            run = record(f"{name}{seed}", seed, test={4: 1.0, 8: value}, **more)
            entries.append((point(name, seed), run))
    return studies.study(tmp_path, *entries, contrasts=list(contrasts), **analysis)
