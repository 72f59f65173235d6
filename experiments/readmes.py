"""README.md of each published study, and the results on the front page, from their templates.

results/published/STUDY/README.md.jinja    -> README.md beside it
results/published/FRONT/front_page.md.jinja -> the marked part of README.md at the top
"""

from pathlib import Path

import jax
import jax.numpy as jnp
from flax import nnx

from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.results import prose

STUDIES = Path("results/published")
TEMPLATE = "README.md.jinja"
FRONT = STUDIES / "quickstart" / "front_page.md.jinja"
BEGIN = "<!-- results, written by `python -m experiments.document` from front_page.md.jinja -->\n"
END = "<!-- end of results -->\n"


def first_untrained_bucket(longest: str) -> str:
    """Return the first distance whose T5 bucket is empty if no distance exceeds `longest`."""
    encoding = T5Bias(num_heads=1, width=1, rngs=nnx.Rngs(0))
    buckets = jax.device_get(encoding.bucket(-jnp.arange(200))).tolist()
    return str(next(d for d, bucket in enumerate(buckets) if bucket > buckets[int(longest)]))


def studies(root: Path) -> list[Path]:
    """Published studies that have a template, relative to `root`."""
    return sorted(path.parent.relative_to(root) for path in (root / STUDIES).glob(f"*/{TEMPLATE}"))


def written(root: Path, study: Path) -> str:
    """README.md of a study, as its template and its records have it now."""
    template = (root / study / TEMPLATE).read_text(encoding="utf-8")
    return prose.render(
        template, root / study, root / STUDIES, first_untrained_bucket=first_untrained_bucket
    )


def front_page(root: Path) -> str:
    """README.md at the top, with its results as the records have them now."""
    before, begins, rest = (root / "README.md").read_text(encoding="utf-8").partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not (begins and ends):
        raise ValueError(f"README.md has no part between {BEGIN!r} and {END!r}.")
    template = (root / FRONT).read_text(encoding="utf-8")
    return (
        before + BEGIN + prose.render(template, root / FRONT.parent, root / STUDIES) + END + after
    )
