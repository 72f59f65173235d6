"""What the inspection of a trained run leaves: trained.md, trained.json, and pictures as PNG and
PDF.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pe_lab.inspection.trained import captions, failure_kinds, pictures, training_course
from pe_lab.inspection.trained.findings import Findings, find, lengths_of
from pe_lab.inspection.trained.four_terms import TERMS
from pe_lab.results import formats
from pe_lab.results.formats import DASH
from pe_lab.results.plots.drawing import SUFFIXES
from pe_lab.runs.labels import label
from pe_lab.training.trained_runs import load, params_through_training


def write(run: Path, lengths: Sequence[int] | None, folder: Path) -> str:
    """Everything of a run, named as the results folder and its id, into a folder; returns what is
    left without its encodings.

    Raises:
      UserError: there is no such run, it cannot be loaded, or it cannot be given one of the
        lengths.
    """
    finished = load(run.parent, run.name)
    found = find(
        finished,
        lengths_of(finished, lengths),
        kept=params_through_training(run.parent, finished.record),
    )
    folder.mkdir(parents=True, exist_ok=True)
    for old in [
        file for suffix in SUFFIXES for file in folder.glob(f"trained_*{suffix}")
    ]:  # of another run, or of other lengths
        old.unlink()
    drawn = pictures.draw(found, folder) | training_course.draw(found, folder)
    (folder / "trained.json").write_text(
        json.dumps(found.to_json(), allow_nan=False, indent=1) + "\n", encoding="utf-8"
    )
    (folder / "trained.md").write_text(page(found, drawn), encoding="utf-8")
    return knock_outs(found)


def page(found: Findings, drawn: dict[str, str]) -> str:
    """The whole page; `drawn` is what it shows to the stem of its picture."""
    config = found.about["config"]
    encodings = " + ".join(spec["name"] for spec in config["model"]["encodings"]) or "no encoding"
    names = {
        "encoding": encodings,
        "positions": label(config["positions"]),
        "task": label(config["task"]),
        **found.about,
    }
    parts = [captions.head(names)]
    for what, stem in (
        (what, stem) for what, stem in drawn.items() if what.startswith("attention")
    ):
        _, name, length = what.split()
        parts.append(f"![{name}, length {length}]({stem}.png)")
    parts += [
        captions.MAPS,
        "## Heads as examples grow",
        _shown(drawn, "heads"),
        captions.HEADS,
        attention(found),
    ]
    parts += [
        "## Token and place in the logits",
        _shown(drawn, "terms"),
        captions.FOUR_TERMS,
        four_terms(found),
    ]
    parts += (
        ["## Token and code at the input", captions.INPUT, at_input(found)] if found.input else []
    )
    parts += ["## Where place is known", _shown(drawn, "probes"), captions.PROBES, probes(found)]
    parts += [
        "## What is left without the encoding",
        _shown(drawn, "knock_out"),
        captions.KNOCK_OUT,
        knock_outs(found),
    ]
    parts += [
        "## How answers fail",
        _shown(drawn, "failures"),
        captions.failures(found),
        failures(found),
    ]
    if found.through.terms:
        parts += [
            "## Through training",
            _shown(drawn, "through_training"),
            captions.through_training(found),
            through_steps(found),
        ]
    if found.through.input:
        parts += [
            _shown(drawn, "through_training_input"),
            captions.INPUT_THROUGH_TRAINING,
            input_through_steps(found),
        ]
    missing = [*([] if found.through.terms else [captions.NOT_KEPT]), *found.reasons]
    parts += (
        ["## What is not here", "\n".join(f"- {reason}" for reason in missing)] if missing else []
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def attention(found: Findings) -> str:
    keys = ("entropy", "aligned", "by_chance", "distance")
    header = [
        "state",
        "length",
        "layer",
        "head",
        "entropy / log n",
        "mass on the named token",
        "were all keys alike",
        "distance",
    ]
    return _table(
        header,
        [
            [*_state(r), _layer(r), str(r["head"]), *(_number(r[key]) for key in keys)]
            for r in found.attention
        ],
    )


def four_terms(found: Findings) -> str:
    """Means over the heads."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in found.terms:
        groups.setdefault((*_state(row), _layer(row)), []).append(row)
    keys = ("cc", "cp", "pc", "pp", "together", "nearness")
    header = [
        "state",
        "length",
        "layer",
        *(pictures.TERM_NAMES[t] for t in keys[:4]),
        "together",
        "nearness",
    ]
    return _table(
        header,
        [
            [*group, *(_number(pictures.mean(r[key] for r in rows)) for key in keys)]
            for group, rows in groups.items()
        ],
    )


def at_input(found: Findings) -> str:
    names = [name for name in found.input[0] if name not in ("when", "length", "four terms")]
    body = [[name, *(_number(row[name]) for row in found.input)] for name in names]
    body += [
        [
            f"{pictures.TERM_NAMES[t]}, first layer",
            *(_number(row["four terms"][t]) for row in found.input),
        ]
        for t in pictures.TERM_NAMES
    ]
    return _table(["number", *(row["when"] for row in found.input)], body)


def through_steps(found: Findings) -> str:
    """Means over the heads, a row a step and layer."""
    keys = (*TERMS, "together", "nearness", "entropy", "aligned", "by_chance")
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for terms, attention in zip(found.through.terms, found.through.attention, strict=True):
        groups.setdefault((str(terms["step"]), _layer(terms)), []).append(attention | terms)
    heads = ["entropy / log n", "mass on the named token", "were all keys alike"]
    header = ["steps", "layer", *pictures.TERM_NAMES.values(), "together", "nearness", *heads]
    return _table(
        header,
        [
            [*group, *(_number(pictures.mean(r[key] for r in rows)) for key in keys)]
            for group, rows in groups.items()
        ],
    )


def input_through_steps(found: Findings) -> str:
    names = [
        name for name in found.through.input[0] if name not in ("step", "length", "four terms")
    ]
    return _table(
        ["steps", *names],
        [
            [str(row["step"]), *(_number(row[name]) for name in names)]
            for row in found.through.input
        ],
    )


def probes(found: Findings) -> str:
    return _table(
        ["state", "length", "stack", "after layer", "R²", "mean error in tokens"],
        [
            [
                *_state(r),
                r["stack"],
                str(r["layer"] or "input"),
                _number(r["r2"]),
                _number(r["error"]),
            ]
            for r in found.probes
        ],
    )


def knock_outs(found: Findings) -> str:
    """Exact match left, token accuracy in brackets: a row a knock-out, a column a length."""
    lengths = found.about["lengths"]
    rows: dict[tuple[str, ...], list[str]] = {}
    for row in found.knock_out:
        off = row["encoding"] or "nothing"
        where = "everywhere" if row["layer"] is None else f"{row['where']}, layer {row['layer']}"
        head = "" if row["encoding"] is None else str(row["head"] or "all")
        place = (off, "" if row["encoding"] is None else where, head)
        rows.setdefault(place, []).append(f"{row['exact_match']:.2f} ({row['token_accuracy']:.2f})")
    return _table(
        ["off", "where", "heads", *(f"length {n}" for n in lengths)],
        [[*place, *groups] for place, groups in rows.items()],
    )


def failures(found: Findings) -> str:
    header = ["length", "failed", *failure_kinds.KINDS, "first error, median token"]
    body = []
    for row in found.failures:
        shares = [_number(share) for share in row["shares"].values()]
        body.append(
            [
                str(row["length"]),
                f"{row['failed']} of {row['examples']}",
                *shares,
                _median(row["first_error"]),
            ]
        )
    return _table(header, body)


def _median(counts: Sequence[int]) -> str:
    places = [place for place, count in enumerate(counts, start=1) for _ in range(count)]
    return str(places[(len(places) - 1) // 2]) if places else DASH


def _state(row: dict[str, Any]) -> tuple[str, str]:
    return row["when"], str(row["length"])


def _layer(row: dict[str, Any]) -> str:
    return f"{row['attention']} {row['layer']}"


def _number(value: Any) -> str:
    return DASH if value is None else str(value) if isinstance(value, int) else f"{value:.2f}"


def _shown(drawn: dict[str, str], what: str) -> str:
    return f"![{what}]({drawn[what]}.png)" if what in drawn else ""


def _table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = tuple(tuple(map(formats.Cell, row)) for row in body)
    return formats.markdown(formats.Table("", "", tuple(header), rows))
