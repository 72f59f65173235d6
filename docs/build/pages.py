"""The generated pages of the repository.

A page is rendered from the template with its name and `.jinja`: docs/tasks.md from
docs/tasks.md.jinja, README.md of a published study from the README.md.jinja in its folder. Only
the results in README.md at the top are rendered into a page that is otherwise written by hand.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from docs.build import (
    abacus,
    addition,
    budget,
    commits,
    costs,
    encodings,
    metrics,
    noise,
    performance,
    protocols,
    published,
    reproductions,
    ruoss,
    saturation,
    shared_runs,
    statistics,
    story_gradients,
    story_recurrent,
    suite_grid,
    tasks,
    templates,
    tiers,
    training_time,
)
from docs.build.guide import page as guide
from docs.build.published import STUDIES
from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.runs.errors import UserError, unknown

FRONT_PAGE = Path("README.md")
FRONT_TEMPLATE = STUDIES / "suite_grid_copying" / "front_page.md.jinja"
BEGIN = "<!-- results, written by `python -m docs.build` from front_page.md.jinja -->\n"
END = "<!-- end of results -->\n"

Lookups = Mapping[str, Any]

# The lookups of single pages. Every page can look up published studies as well.
LOOKUPS: dict[str, Callable[[Path], Lookups]] = {
    "README.md": lambda root: {
        **suite_grid.page_lookups(root, form="copying"),
        **tiers.lookups(root),
        **reproductions.lookups(root),
    },
    "docs/encodings.md": encodings.lookups,
    "docs/findings.md": lambda root: {
        **noise.lookups(root),
        **suite_grid.lookups(root),
        "budget": budget.lookups(root),
        **tiers.lookups(root),
        "saturation": saturation.lookups(root),
    },
    "docs/guide.md": guide.lookups,
    "docs/performance.md": performance.lookups,
    "docs/protocols.md": protocols.lookups,
    "docs/reproductions.md": reproductions.lookups,
    "docs/statistics.md": statistics.lookups,
    "docs/studies.md": metrics.lookups,
    "docs/tasks.md": tasks.lookups,
    f"{abacus.FOLDER}/README.md": abacus.lookups,
    "results/published/budget/README.md": budget.lookups,
    "results/published/combine/README.md": lambda root: shared_runs.lookups(
        root, "combine", "exposure"
    ),
    "results/published/encoding_costs/README.md": costs.lookups,
    "results/published/noise/README.md": noise.lookups,
    f"{ruoss.FOLDER}/README.md": ruoss.lookups,
    "results/published/saturation/README.md": saturation.lookups,
    "results/published/story_gradients/README.md": story_gradients.lookups,
    "results/published/story_recurrent/README.md": story_recurrent.lookups,
    **{
        f"{folder}/README.md": functools.partial(suite_grid.page_lookups, form=form)
        for form, folder in suite_grid.FOLDERS.items()
    },
    f"{addition.FOLDER}/README.md": addition.lookups,
    "results/published/throughput/README.md": costs.throughput_lookups,
}


def templates_of(root: Path) -> dict[Path, Path]:
    """Map each generated page below `root` to its template; both are relative to `root`."""
    pages = {}
    for pattern in ("docs/*.md.jinja", f"{STUDIES}/*/README.md.jinja"):
        for template in sorted(root.glob(pattern)):
            relative = template.relative_to(root)
            pages[relative.with_suffix("")] = relative
    if (root / FRONT_TEMPLATE).exists():
        pages[FRONT_PAGE] = FRONT_TEMPLATE
    return pages


def select(root: Path, names: Sequence[str]) -> list[Path]:
    """Return the pages with these names; all pages if there are no names.

    Raises:
      UserError: there is no such page.
    """
    pages = list(templates_of(root))
    if not pages:
        raise UserError("There are no templates here. Run docs.build in the top folder of pe_lab.")
    known = [str(page) for page in pages]
    for name in names:
        if name not in known:
            raise unknown("docs.build", name, known)
    return [page for page in pages if not names or str(page) in names]


def text(root: Path, page: Path) -> str:
    """Render a page from its template and the records below `root`."""
    template = templates_of(root)[page]
    folder = template.parent
    of = functools.partial(published.of, root)
    lookups: dict[str, Any] = {
        "of": of,
        "commits": commits.described,
        "training_time": training_time.described,
        "first_untrained_bucket": first_untrained_bucket,
    }
    if (root / folder / "study.json").exists():
        study = of(folder.name)
        lookups["study"] = study
        if study.study.spec.reproduction.claims:
            lookups["claims"] = reproductions.claims(study.study)
            lookups["over_all_pairs"] = functools.partial(reproductions.over_all_pairs, study.study)
    if str(page) in LOOKUPS:
        lookups |= LOOKUPS[str(page)](root)
    rendered = templates.render((root / template).read_text(encoding="utf-8"), **lookups)
    return _inserted(root / page, rendered) if page == FRONT_PAGE else rendered


def stale(root: Path, pages: Sequence[Path]) -> list[Path]:
    """Return the pages whose files differ from what would be written now."""
    return [page for page in pages if _current(root / page) != text(root, page)]


def _current(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def _inserted(file: Path, results: str) -> str:
    """Return the text of the front page with its marked part replaced."""
    before, begin, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UserError(f"{file.name} has no part between {BEGIN.strip()} and {END.strip()}.")
    return before + BEGIN + results + END + after


def first_untrained_bucket(longest: str) -> str:
    """Return the first distance whose T5 bucket is empty if no distance exceeds `longest`."""
    encoding = T5Bias(num_heads=1, width=1, rngs=nnx.Rngs(0))
    buckets = jax.device_get(encoding.bucket(-jnp.arange(200))).tolist()
    return str(next(d for d, bucket in enumerate(buckets) if bucket > buckets[int(longest)]))
