"""The table of docs/protocols.md."""

from configs.papers import enwik8, ruoss15
from docs.build import protocols


def test_the_source_of_a_protocol_is_the_paper_or_the_script_that_it_follows():
    script = "https://github.com/lucidrains/x-transformers/blob/17de21d/train_length_extrapolate.py"
    assert protocols._row(enwik8.__doc__)[1] == f"[train_length_extrapolate.py]({script})"
    papers = protocols._row(ruoss15.__doc__)[1]
    assert papers == ", ".join(
        f"[{number}](https://arxiv.org/abs/{number})" for number in ("2305.16843", "2207.02098")
    )


def test_a_question_holds_for_the_form_whose_time_is_shown():
    """The scaled form of enwik8 reads another text."""
    question, *_, scaled, _ = protocols._row(enwik8.__doc__)
    assert scaled == "about 2.4 hours"
    assert question == enwik8.analysis()["question"]
