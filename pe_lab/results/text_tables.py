"""What the tables of a study of text add: its summary, and the text itself in words."""

from pe_lab.metrics import bits_per_byte, longest_window
from pe_lab.results import metrics, notes, standard_tables
from pe_lab.results.formats import Table
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec, TableSpec

_SPLITS = ("train", "validation", "test")  # in this order, and not as JSON sorts them


def summary(study: Study) -> Table:
    """Bits at the training length and beyond, and the two measures of context."""
    point = study.spec.extrapolation.point
    bits = metrics.BY_NAME[study.headline].label
    measures = (
        MetricSpec(study.headline, MetricPoint(at=1), label="at training length"),
        MetricSpec(study.headline, point, label=str(point)),
        MetricSpec("context_gain", label="gain from context"),
        MetricSpec("longest_window", label="longest window"),
    )
    caption = (
        f"Medians over seeds, in {bits}. *gain from context*: the loss at the training "
        f"length minus that {point}. *longest window*: the longest measured length up to which no "
        f"length has a loss above that of the training length by more than "
        f"{longest_window.TOLERANCE:g}. Both need windows of all lengths that end with the same "
        f"{study.symbol}s (longest and align='end' of language_model)."
    )
    before = [
        "≥: also at the longest length measured.",
        notes.intervals(standard_tables.seeds_of(study)),
    ]
    spec = TableSpec("Gain from context", measures=measures, note=caption)
    return standard_tables.write(study, spec, before)


def sentence(study: Study) -> str:
    """Return the name and the size of each text, and the number of bytes that are scored."""
    sentences = []
    for provenance, sizes, symbol, config in zip(
        study.finished["provenance"],
        study.finished["corpus_sizes"],
        study.finished["symbol"],
        study.finished["config"],
        strict=True,
    ):
        parts = [f"{sizes[split]:,} {symbol}s in {split}" for split in _SPLITS]
        num_windows = config["evaluate"]["num_examples"]
        scored = f"all {symbol}s of its windows, which are at other places for each length"
        remark = ""
        if bits_per_byte.is_aligned(config):
            num_scored = num_windows * bits_per_byte.num_scored(config)
            scored = f"the same {num_scored:,} {symbol}s at every length"
            shortest = bits_per_byte.shortest(config)
            if min(study.lengths) < shortest:
                remark = (
                    f" Lengths below {shortest:,} have no number: they lack these {symbol}s' "
                    f"context."
                )
        sentences.append(
            f"Text: {provenance['corpus']}, {', '.join(parts)}. The test scores {scored} "
            f"({num_windows:,} windows).{remark}"
        )
    return " ".join(dict.fromkeys(sentences))
