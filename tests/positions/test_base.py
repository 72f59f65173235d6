import jax.numpy as jnp
import pytest

from pe_lab.positions.base import index_since, starts


def row(text):
    return jnp.asarray([[int(c) for c in text]])


@pytest.mark.full
def test_something_starts_where_any_label_changes_and_none_is_no_label():
    assert starts(row("0011001")).astype(int).tolist() == row("1010101").tolist()
    assert (
        starts(row("0011001"), None, row("0111111")).astype(int).tolist() == row("1110101").tolist()
    )
    assert starts(row("7")).tolist() == [[True]]


def test_since_counts_from_each_start():
    assert index_since(row("1010011") > 0).tolist() == row("0101200").tolist()
