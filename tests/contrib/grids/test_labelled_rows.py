import pytest

from pe_lab.contrib.grids.labelled_rows import parse_labelled
from pe_lab.runs.errors import UserError


def test_a_list_may_have_labels_of_its_own():
    text = (
        "mine=my.module:Mine(size=(1, 2)), rope(base=5e5), my 2nd = dict(name='a:B', word='x, y=z')"
    )
    assert parse_labelled(text) == {
        "mine": ({"name": "my.module:Mine", "size": (1, 2)},),
        "rope(base=500000.0)": ({"name": "rope", "base": 5e5},),
        "my 2nd": ({"name": "a:B", "word": "x, y=z"},),
    }
    assert parse_labelled("both=rope + alibi, rope + alibi") == {
        "both": ({"name": "rope"}, {"name": "alibi"}),
        "rope + alibi": ({"name": "rope"}, {"name": "alibi"}),
    }


@pytest.mark.parametrize("text", ["rope, rope", "mine=rope, mine=alibi", "rope=alibi, rope"])
def test_two_plugins_of_one_label_are_refused(text):
    with pytest.raises(UserError, match=r"Two of the encodings are called .* as in other=[a-z]+$"):
        parse_labelled(text)


@pytest.mark.parametrize("text", ["", "mine=", "a=b=c", "=rope", "rope,"])
def test_a_list_with_labels_that_cannot_be_read_is_refused(text):
    with pytest.raises(UserError, match="does not read like"):
        parse_labelled(text)
