"""The page of the quickstart: the first distance that T5's buckets do not tell apart."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from pe_lab.encodings.t5_bias import T5Bias


def lookups(root: Path) -> dict[str, Any]:
    return {"first_untrained_bucket": first_untrained_bucket}


def first_untrained_bucket(longest: str) -> str:
    """Return the first distance whose T5 bucket is empty if no distance exceeds `longest`."""
    encoding = T5Bias(num_heads=1, width=1, rngs=nnx.Rngs(0))
    buckets = jax.device_get(encoding.bucket(-jnp.arange(200))).tolist()
    return str(next(d for d, bucket in enumerate(buckets) if bucket > buckets[int(longest)]))
