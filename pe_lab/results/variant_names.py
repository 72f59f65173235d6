"""The axes of a study, and the names that its variants have after them.

The labels of an entry of a study are by axis, such as {"model.encodings": "rope", "seed": "0"}.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence

from pe_lab.results.study import EVALUATED_WITH, Study
from pe_lab.runs.studies.analysis_spec import SEED_AXES, SEPARATOR, has_labels


def names(study: str, labels: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the name of the variant of each entry of a study.

    A name joins the labels of the axes that take more than one value. Seeds are no part of it.
    """
    axes = axes_of(labels)
    varied = [axis for axis in axes if is_varied(axis, labels)]
    if not varied:
        # A study of one variant is named by its encodings.
        varied = [axis for axis in axes if axis == "model.encodings"]
    of_entries = []
    for entry in labels:
        parts = [entry[axis] for axis in varied if entry.get(axis)]
        of_entries.append(SEPARATOR.join(parts) or study)
    return of_entries


def is_varied(axis: str, labels: Iterable[Mapping[str, str]]) -> bool:
    """Return whether an axis has more than one label, where a missing one is a label, too."""
    return len({entry.get(axis) for entry in labels}) > 1


def axes_of(labels: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the axes of a study without its seeds, in order."""
    # Entries can have different axes.
    axes = dict.fromkeys(itertools.chain(*labels))
    return [axis for axis in axes if axis not in SEED_AXES]


def labels(study: Study, name: str) -> dict[str, str]:
    """Return the labels of a variant and of its evaluation override by axis."""
    row = study.by_name[name]
    axes = study.axes if not row["override"] else (*study.axes, EVALUATED_WITH, *row["grid"])
    return {axis: row[axis] for axis in axes}


def meant(study: Study, name: str) -> list[str]:
    """Return the variants as trained that a name means: the one that has it, or all its labels."""
    trained = study.trained.index
    return [name] if name in trained else [v for v in trained if has_labels(labels(study, v), name)]
