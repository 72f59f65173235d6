"""The variants of a study: its entries without seeds, by their labels."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pe_lab.runs.errors import UserError
from pe_lab.runs.studies import analysis_spec
from pe_lab.runs.studies.analysis_spec import SEED_AXES, SEPARATOR, AnalysisSpec

if TYPE_CHECKING:
    from pe_lab.sweeps.study import Entry


def by_variant(
    entries: Iterable["Entry"], spec: AnalysisSpec, name: str
) -> dict[str, list["Entry"]]:
    """Return the entries of each variant, one for each seed and setting, by the variant's name.

    Args:
      name: of the study, which is that of a variant without labels.
    """
    variants: dict[str, list[Entry]] = {}
    hidden = (*SEED_AXES, *spec.tuned)
    for entry in entries:
        labels = [text for axis, text in entry.labels.items() if axis not in hidden and text]
        variants.setdefault(SEPARATOR.join(labels) or name, []).append(entry)
    return variants


def run_ids(entries: Iterable["Entry"]) -> set[str]:
    """Return the ids of the runs of entries."""
    return {entry.run.run_id for entry in entries}


def check_contrasts(entries: Sequence["Entry"], spec: AnalysisSpec) -> None:
    """Refuse a contrast that compares runs with themselves: rope and rope(base=10000).

    Raises:
      UserError: all pairs of a contrast have equal runs.
    """
    variants = by_variant(entries, spec, "")
    labels_of = {name: several[0].labels for name, several in variants.items()}
    for contrast in spec.contrasts:
        pairs = analysis_spec.pairs(labels_of, contrast)
        if pairs and all(run_ids(variants[a]) == run_ids(variants[b]) for a, b in pairs):
            a, b = pairs[0]
            raise UserError(
                f"The contrast of {a} with {b} compares runs with themselves: the two have equal "
                f"settings."
            )
