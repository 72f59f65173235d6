"""Checks of a study's design before training. They warn, and they refuse nothing.

They depend on the study alone, and never on which of its runs are finished.
"""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence

from pe_lab.results import read_analysis_spec, significance, statistics
from pe_lab.runs.plugins import plugins
from pe_lab.runs.run import Run
from pe_lab.runs.settings.plugin import Encoding
from pe_lab.runs.studies import analysis_spec
from pe_lab.runs.studies.analysis_spec import AnalysisSpec, Claim, Contrast, MetricPoint
from pe_lab.sweeps.setups import Setups
from pe_lab.sweeps.study import Entry, ExpandedStudy, by_variant, run_ids
from pe_lab.training import exposure
from pe_lab.training.checks import out_of_reach
from pe_lab.training.setup import Setup

_SEES_POSITIONS = "sees the positions of the test in training"
_MOST_SEEDS = 29  # up to which a sufficient number of seeds is searched


def notes(study: ExpandedStudy, seeds: int, setups: Setups | None = None) -> list[str]:
    """Return one sentence for each doubt about the design of a study.

    Args:
      seeds: of each variant, at the end of the study.
      setups: with those that are built already; None: with none.
    """
    spec = read_analysis_spec.from_dict(study.analysis)
    setup_of = _setups(study, setups or Setups())
    variants = by_variant(study.entries, spec, study.name)
    # A contrast with a margin has no p, so Holm's method does not count it.
    differences = [contrast for contrast in spec.contrasts if contrast.margin is None]
    num_tested = len(_pairs(variants, differences))
    is_text = all(setup.task.is_text for setup in setup_of.values())
    return [
        *_unmeasured(study, spec.extrapolation.point, "no run can extrapolate"),
        *_unmeasured_comparisons(study, spec),
        *_not_compared(spec, variants, setup_of),
        *_too_few_seeds(seeds, num_tested, is_text),
        *_no_intervals(seeds, spec),
        *_equal_runs(variants),
        *_repeated_functions(variants, setup_of),
        *_lengths_out_of_reach(variants, setup_of),
        *_repeated_inputs(setup_of.values()),
    ]


def _setups(study: ExpandedStudy, setups: Setups) -> dict[Run, Setup]:
    """The setup of each entry, by the key of its run group and in the order of the study."""
    setup_of: dict[Run, Setup] = {}
    # Entries and not runs: NoPE under two schemes is one run, with two keys.
    for entry in study.entries:
        key = entry.run.group_key()
        if key not in setup_of:
            setup_of[key] = setups.of(entry.run)
    return setup_of


def _unmeasured_comparisons(study: ExpandedStudy, spec: AnalysisSpec) -> list[str]:
    """A contrast or a claim has a point of its own that some run does not evaluate."""
    comparisons: list[Contrast | Claim] = [*spec.contrasts, *spec.reproduction.claims]
    points = dict.fromkeys(comparison.point for comparison in comparisons)
    sentences = []
    for point in points:
        if point is not None and point.has_length and point.lengths is None:
            sentences += _unmeasured(study, point, "a contrast or claim has no number")
    return sentences


def _unmeasured(study: ExpandedStudy, point: MetricPoint, consequence: str) -> list[str]:
    """The point is not among the evaluated lengths and offsets."""
    sentences: dict[str, None] = {}  # each once, in the order of the runs
    for run in study.runs:
        length = point.length_for(run.train.max_length)
        if length in run.evaluate.lengths and point.offset in run.evaluate.offsets:
            continue
        missing = "not a whole length" if length is None else f"length {length}, not evaluated"
        sentences[
            f"{consequence}: the point {point} is {missing} "
            f"(training length {run.train.max_length}; config.evaluate.lengths and offsets)"
        ] = None
    return list(sentences)


def _too_few_seeds(seeds: int, num_pairs: int, is_text: bool) -> list[str]:
    """No pair of a declared contrast can become significant, whatever the outcome.

    A text has no runs that extrapolate, which could be counted.
    """

    def can_decide(seeds: int) -> bool:
        smallest = significance.smallest_p_of_pairs(seeds)
        # Counts reach a smaller p than pairs: 2 / 4^n against 2 / 2^n with n seeds.
        if not is_text:
            smallest = significance.smallest_p_of_counts(seeds, seeds)
        return any(significance.can_decide([smallest] * num_pairs))

    if not num_pairs or can_decide(seeds):
        return []
    sufficient = [count for count in range(seeds + 1, _MOST_SEEDS + 1) if can_decide(count)]
    sentence = (
        f"with {seeds} seeds no declared contrast can reach p < {significance.LEVEL} "
        f"(contrasts, adjusted by Holm's method: {num_pairs})"
    )
    if sufficient:
        sentence += f"; with {sufficient[0]} seeds, the most extreme outcome of one contrast could"
    return [sentence]


def _no_intervals(seeds: int, spec: AnalysisSpec) -> list[str]:
    """No equivalence can be shown, because so few pairs have no interval."""
    has_margins = any(contrast.margin is not None for contrast in spec.contrasts)
    if not has_margins or seeds >= statistics.EXACT_FROM:
        return []
    return [
        f"with {seeds} seeds no contrast with a margin can show that two variants are alike: an "
        f"interval takes {statistics.EXACT_FROM}"
    ]


def _pairs(
    variants: Mapping[str, Sequence[Entry]], contrasts: Iterable[Contrast]
) -> list[tuple[str, str, Contrast]]:
    """The variants that declared contrasts compare, each pair with its contrast."""
    labels_of = {name: entries[0].labels for name, entries in variants.items()}
    pairs = []
    for contrast in contrasts:
        pairs += [(a, b, contrast) for a, b in analysis_spec.pairs(labels_of, contrast)]
    return pairs


def _not_compared(
    spec: AnalysisSpec,
    variants: Mapping[str, Sequence[Entry]],
    setup_of: Mapping[Run, Setup],
) -> list[str]:
    """One sentence for each pair that tables will not compare, as in results/comparable.py."""
    sentences = []
    for a, b, contrast in _pairs(variants, spec.contrasts):
        point = contrast.point or spec.extrapolation.point
        setup_a = setup_of[variants[a][0].run.group_key()]
        setup_b = setup_of[variants[b][0].run.group_key()]
        allowed = {_SEES_POSITIONS} if contrast.seen_positions else set()
        of_a = _advantages(setup_a, point) - allowed
        of_b = _advantages(setup_b, point) - allowed
        for name, advantages in ((a, of_a - of_b), (b, of_b - of_a)):
            if advantages:
                sentences.append(
                    f"the contrast of {a} with {b} will not be compared: only {name} "
                    f"{min(advantages)}"
                )
                break
    return sentences


def _advantages(setup: Setup, point: MetricPoint) -> set[str]:
    """What a variant knows of the test at a point."""
    advantages = set()
    if exposure.reveals_target_length(setup):
        advantages.add("reveals the target length")
    max_length = setup.run.train.max_length
    length = point.length_for(max_length)
    readers = [placement for placement in setup.placements if placement.reads_positions]
    if length is None or length <= max_length or not readers:
        return advantages
    in_training = max(exposure.largest_trained_position(setup, p, max_length) for p in readers)
    seen_offset = exposure.seen_offset(setup, length, max_length, in_training)
    if seen_offset is not None and point.offset <= seen_offset:
        advantages.add(_SEES_POSITIONS)
    return advantages


def _equal_runs(variants: Mapping[str, Sequence[Entry]]) -> list[str]:
    """Variants with equal settings, such as rope and rope(base=10000), are the same runs.

    A design may give several schemes to an encoding that reads no positions, on purpose.
    """
    first_of: dict[Hashable, str] = {}
    repetitions = []
    for name, entries in variants.items():
        scheme = {axis: text for axis, text in entries[0].labels.items() if "positions" in axis}
        key = (frozenset(run_ids(entries)), frozenset(scheme.items()))
        if first_of.setdefault(key, name) != name:
            repetitions.append(f"{name} is the same runs as {first_of[key]}")
    if not repetitions:
        return []
    return [f"{', '.join(repetitions)}: their settings are equal, and tables show them twice"]


def _repeated_functions(
    variants: Mapping[str, Sequence[Entry]], setup_of: Mapping[Run, Setup]
) -> list[str]:
    """Variants differ in shifts that no encoding notices: they compute the same function."""
    # By function: the variants of each run that computes it.
    runs_of: dict[Hashable, dict[str, str]] = {}
    for name, entries in variants.items():
        run = entries[0].run
        function = _function(run, setup_of[run.group_key()])
        runs_of.setdefault(function, {}).setdefault(run.run_id, name)
    repetitions = []
    for names in runs_of.values():
        first, *others = names.values()
        repetitions += [f"{other} repeats {first}" for other in others]
    if not repetitions:
        return []
    return [
        f"{', '.join(repetitions)}: a relative encoding reads differences of positions alone, and "
        f"these schemes have the same ones; a difference between two such variants is noise"
    ]


def _function(run: Run, setup: Setup) -> Hashable:
    """The settings of a run, in which only schemes count that its encodings can notice."""
    readers = [placement for placement in setup.placements if placement.reads_positions]
    schemes = tuple(exposure.noticed_scheme(setup, placement) for placement in readers)
    encodings: list[Encoding] = []
    for encoding in run.model.encodings:
        encodings.append(dataclasses.replace(encoding, positions=None))
    model = dataclasses.replace(run.model, encodings=tuple(encodings))
    positions = plugins.resolve("positions", {"name": "contiguous"})
    return dataclasses.replace(run, seed=0, data_seed=0, model=model, positions=positions), schemes


def _lengths_out_of_reach(
    variants: Mapping[str, Sequence[Entry]],
    setup_of: Mapping[Run, Setup],
) -> list[str]:
    """An encoding or a scheme has no positions for some evaluated lengths."""
    sentences = []
    for name, entries in variants.items():
        run = entries[0].run
        setup = setup_of[run.group_key()]
        offset = max(run.evaluate.offsets)
        beyond = [n for n in run.evaluate.lengths if out_of_reach(setup, n, offset) is not None]
        if beyond:
            reason = out_of_reach(setup, beyond[0], offset)
            sentences.append(f"{name} will have no numbers at lengths {_listed(beyond)}: {reason}")
    return sentences


def _repeated_inputs(setups: Iterable[Setup]) -> list[str]:
    """Training can draw inputs of some evaluated lengths."""
    repeated: dict[str, list[int]] = {}
    for setup in setups:
        if setup.trained_inputs is None:  # the splits of the task's data are disjoint
            continue
        train = setup.run.train
        shortest = setup.split_rule.min_length
        for length in setup.run.evaluate.lengths:
            is_trained = train.min_length <= length <= train.max_length
            if is_trained and (shortest is None or length < shortest):
                lengths = repeated.setdefault(setup.run.task.name, [])
                if length not in lengths:
                    lengths.append(length)
    return [
        f"training can draw inputs of {task} that are evaluated (§), of length {_listed(lengths)}"
        for task, lengths in repeated.items()
    ]


def _listed(lengths: Sequence[int]) -> str:
    return ", ".join(map(str, sorted(lengths)))
