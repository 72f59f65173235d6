"""Studies with contrasts."""

from pe_lab.results import frame
from tests.results.fake_study import point, record, write_study

SOLVED = {4: 1.0}


def study(tmp_path, runs, contrasts=(("rope", "alibi"),), **analysis):
    """A study of runs {encoding: [exact match at twice the training length, a seed each]}; more of
    a run beside it as a dict.
    """
    entries = []
    for name, (values, more) in {
        n: v if isinstance(v, tuple) else (v, {}) for n, v in runs.items()
    }.items():
        more = {"validation": SOLVED, **more}
        entries += [
            (point(name, i), record(f"{name}{i}", i, test={4: 1.0, 8: v}, **more))
            for i, v in enumerate(values)
        ]
    return frame.read(
        write_study(tmp_path, *entries, analysis={"contrasts": list(contrasts), **analysis})
    )
