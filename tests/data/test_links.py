"""Links in folders of text."""

import pytest

from pe_lab.data import sources
from pe_lab.runs.errors import UserError
from tests.data.test_text import write


@pytest.mark.parametrize(
    ("link", "splits"), [("train.txt", "named"), ("test/1", "named"), ("other", None)]
)
def test_a_link_to_nothing_is_refused_and_a_hidden_one_is_not_read(tmp_path, link, splits):
    files = {"train/1": "a", "valid.txt": "b", "test/2": "c"}
    write(tmp_path, files)
    (tmp_path / ".hidden").symlink_to(tmp_path / "nothing")
    assert len(sources.documents(tmp_path, splits=splits)) == 3
    (tmp_path / link).symlink_to(tmp_path / "nothing")
    message = f"^There is no file or folder of text at {tmp_path / link}.$"
    with pytest.raises(UserError, match=message):
        sources.documents(tmp_path, splits=splits)
