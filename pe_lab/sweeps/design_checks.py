"""Checks of a study's design before training. They warn, and they refuse nothing."""

from collections.abc import Mapping, Sequence

from pe_lab.results import read_analysis_spec, significance
from pe_lab.runs.analysis_spec import AnalysisSpec, parts
from pe_lab.runs.run import Run
from pe_lab.sweeps.study import SEEDS, Entry, Study
from pe_lab.training.checks import out_of_reach
from pe_lab.training.setup import Setup, build_setup

_MOST_SEEDS = 30  # up to which a sufficient number of seeds is searched


def notes(study: Study, setups: Sequence[Setup], seeds: int) -> list[str]:
    """Return one sentence for each doubt about the design of a study.

    Args:
      setups: of the run groups that are not trained yet. Checks that need a setup are left out
        for other runs.
      seeds: of each variant, at the end of the study.
    """
    spec = read_analysis_spec.from_dict(study.analysis)
    setup_of = {setup.run.group_key(): setup for setup in setups}
    variants = _variants(study, spec)
    return [
        *_unmeasured_extrapolation(study, spec),
        *_too_few_seeds(seeds, spec),
        *_one_sided_contrasts(variants, spec, setup_of),
        *_lengths_out_of_reach(variants, setup_of),
        *_repeated_inputs(setups),
    ]


def untrainable(run: Run) -> str | None:
    """Return why an encoding or a scheme has no positions for the training lengths, or None."""
    setup = build_setup(run, trained=False)
    return out_of_reach(setup, run.train.max_length, 0, train=True)


def _variants(study: Study, spec: AnalysisSpec) -> dict[str, list[Entry]]:
    """The entries of each variant, one for each seed and setting, by the variant's name."""
    variants: dict[str, list[Entry]] = {}
    for entry in study.entries:
        hidden = (*SEEDS, *spec.tuned)
        labels = [text for axis, text in entry.labels.items() if axis not in hidden and text]
        name = " · ".join(labels) or study.name
        entries = variants.setdefault(name, [])
        entries.append(entry)
    return variants


def _unmeasured_extrapolation(study: Study, spec: AnalysisSpec) -> list[str]:
    """The point of extrapolation is not among the evaluated lengths and offsets."""
    point = spec.extrapolation.point
    sentences: dict[str, None] = {}  # each once, in the order of the runs
    for run in study.runs:
        length = point.length_for(run.train.max_length)
        if length in run.evaluate.lengths and point.offset in run.evaluate.offsets:
            continue
        missing = "not a whole length" if length is None else f"length {length}, not evaluated"
        sentences[
            f"no run can extrapolate: the point {point} is {missing} "
            f"(training length {run.train.max_length}; config.evaluate.lengths and offsets)"
        ] = None
    return list(sentences)


def _too_few_seeds(seeds: int, spec: AnalysisSpec) -> list[str]:
    """No declared contrast can become significant, whatever the outcome."""
    num_contrasts = len(spec.contrasts)
    if not num_contrasts or _can_decide(seeds, num_contrasts):
        return []
    more = range(seeds + 1, _MOST_SEEDS)
    sufficient = [count for count in more if _can_decide(count, num_contrasts)]
    sentence = (
        f"with {seeds} seeds no declared contrast can reach p < {significance.LEVEL} "
        f"(contrasts, adjusted by Holm's method: {num_contrasts})"
    )
    if sufficient:
        sentence += f"; {sufficient[0]} seeds are enough for one"
    return [sentence]


def _can_decide(seeds: int, num_contrasts: int) -> bool:
    smallest = significance.smallest_p_of_counts(seeds, seeds)
    return any(significance.can_decide([smallest] * num_contrasts))


def _one_sided_contrasts(
    variants: Mapping[str, Sequence[Entry]],
    spec: AnalysisSpec,
    setup_of: Mapping[Run, Setup],
) -> list[str]:
    """One variant of a contrast reveals the target length, so tables do not compare the two."""
    sentences = []
    for contrast in spec.contrasts:
        reveals = []
        for name in (contrast.a, contrast.b):
            keys = [run.group_key() for run in _runs_with_labels(variants, name)]
            setups = [setup_of[key] for key in keys if key in setup_of]
            reveals.append({setup.reveals_target_length for setup in setups})
        if {True} in reveals and {False} in reveals:
            name = contrast.a if reveals[0] == {True} else contrast.b
            sentences.append(
                f"the contrast of {contrast.a} with {contrast.b} will not be compared: only {name} "
                f"reveals the target length"
            )
    return sentences


def _runs_with_labels(variants: Mapping[str, Sequence[Entry]], name: str) -> list[Run]:
    """One run of each variant whose labels include those in a name."""
    labels = set(parts(name))
    runs = []
    for entries in variants.values():
        first = entries[0]
        if labels <= set(first.labels.values()):
            runs.append(first.run)
    return runs


def _lengths_out_of_reach(
    variants: Mapping[str, Sequence[Entry]],
    setup_of: Mapping[Run, Setup],
) -> list[str]:
    """An encoding or a scheme has no positions for some evaluated lengths."""
    sentences = []
    for name, entries in variants.items():
        run = entries[0].run
        setup = setup_of.get(run.group_key())
        if setup is None:
            continue
        offset = max(run.evaluate.offsets)
        beyond = [n for n in run.evaluate.lengths if out_of_reach(setup, n, offset) is not None]
        if beyond:
            reason = out_of_reach(setup, beyond[0], offset)
            sentences.append(f"{name} will have no numbers at lengths {_listed(beyond)}: {reason}")
    return sentences


def _repeated_inputs(setups: Sequence[Setup]) -> list[str]:
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
        f"training can draw inputs of {task} that are evaluated at lengths {_listed(lengths)}"
        for task, lengths in repeated.items()
    ]


def _listed(lengths: Sequence[int]) -> str:
    return ", ".join(map(str, sorted(lengths)))
