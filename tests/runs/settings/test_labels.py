import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.settings.labels import agrees, label, parse, parse_several

ROPE = dict(name="rope", scaling="yarn", factor=4.0, trained_length=None)
ROTARY = dict(name="rope", base=500.0, layers=[0, 1])
LEARNED = dict(name="learned", max_positions=64)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (16, "16"),
        ("log_n", "log_n"),
        (None, "None"),
        (dict(name="rope"), "rope"),
        (dict(name="rope", base=5e5), "rope(base=500000.0)"),
        (ROPE, "rope(scaling=yarn, factor=4.0, trained_length=None)"),
        (
            (dict(name="alibi"), dict(name="learned", max_positions=64)),
            "alibi + learned(max_positions=64)",
        ),
        ([dict(name="rope", layers=(0, 2))], "rope(layers=(0, 2))"),
        ((), "none"),
        ((8, 16), "8 + 16"),
        (
            dict(name="dape", inner=dict(name="alibi", form="causal")),
            "dape(inner=alibi(form=causal))",
        ),
    ],
)
def test_a_value_reads_as_in_a_table(value, expected):
    assert label(value) == expected


@pytest.mark.parametrize(
    "specs",
    [
        (),
        (dict(name="rope"),),
        (ROPE,),
        (
            dict(name="rope", base=5e5, layers=(0, 2), share=False),
            dict(name="learned", max_positions=64),
        ),
        (dict(name="randomized", maximum=64, per="example", per_layer=True),),
        (dict(name="rope", base=1e20, fraction=-0.5, stacks=("encoder", "cross")),),
        (dict(name="outer", inner=dict(name="rope", base=2.0), table={"a": [1, None]}),),
    ],
)
def test_what_a_label_says_reads_back_as_it_was(specs):
    assert parse(label(specs)) == specs


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        *(
            (text, [dict(name="rope", scaling="yarn", factor=4)])
            for text in (
                "rope(scaling=yarn, factor=4)",
                " rope(scaling='yarn',factor=4)\n",
                '"rope"(scaling="yarn", factor=4)',
            )
        ),
        (
            "rope + learned(max_positions=9)+alibi",
            [dict(name="rope"), dict(name="learned", max_positions=9), dict(name="alibi")],
        ),
        ("none", []),
        ("  none ", []),
        (
            '"mine.steps:Steps"(size=3) + rope',
            [dict(name="mine.steps:Steps", size=3), dict(name="rope")],
        ),
        ('"mine.steps:Steps"', [dict(name="mine.steps:Steps")]),
    ],
)
def test_words_need_no_quotes_and_may_have_them(text, specs):
    assert parse(text) == tuple(specs)


def test_the_label_of_a_users_class_reads_back():
    plugins = ({"name": "mine.steps:Steps", "size": 3}, {"name": "rope", "scaling": "yarn"})
    assert parse(label(plugins)) == plugins


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "+",
        "rope +",
        "+ rope",
        "rope - alibi",
        "rope, alibi",
        "rope; alibi",
        "rope alibi",
        "(rope, alibi)",
        "[rope]",
        "1",
        "None",
        "rope.scaled",
        "rope(",
        "rope)",
        "rope(4)",
        "rope(scaling=yarn, 4)",
        "rope(**extra)",
        "rope(*extra)",
        "rope(factor=2 * 2)",
        "rope(factor=abs(2))",
        "rope(scaling=a.b)",
        "rope()()",
        "rope(factor=4)(base=2)",
        "3(base=2)",
        "rope(factor=4, factor=2)",
        "rope(name=alibi)",
        "rope(layers={[]: 1})",
        "rope(factor=" + "-" * 5000 + "1)",
        "(" * 300 + "rope" + ")" * 300,
        "rope\x00",
        "rope(base=...)",
        "rope(base={1, 2})",
        "rope(base=[b'a'])",
        "rope(base=(0, 1j))",
        "rope(base={1: 2})",
        "rope\nalibi",
        "mine.steps:(size=3)",
    ],
)
def test_a_text_that_is_no_label_is_refused_in_one_line(text):
    with pytest.raises(UserError) as refused:
        parse(text)
    assert (
        str(refused.value)
        == f"{text!r} does not read like 'rope(scaling=yarn, factor=4) + learned' or 'none'."
    )
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("rope", [dict(name="rope")]),
        (
            "sinusoidal,binary, learned",
            [dict(name="sinusoidal"), dict(name="binary"), dict(name="learned")],
        ),
        (
            "rope(base=5e5, scaling=yarn), dape(inner=alibi)",
            [dict(name="rope", base=5e5, scaling="yarn"), dict(name="dape", inner="alibi")],
        ),
        (
            "my.module:Mine, other:Yours(a=1)",
            [dict(name="my.module:Mine"), dict(name="other:Yours", a=1)],
        ),
        ("'my.module:Mine', rope", [dict(name="my.module:Mine"), dict(name="rope")]),
        (
            'dict(name="rope", base=5e5), my.module:Mine(size=4)',
            [dict(name="rope", base=5e5), dict(name="my.module:Mine", size=4)],
        ),
    ],
)
def test_side_by_side_they_have_commas_between(text, specs):
    assert parse_several(text) == tuple(specs)


@pytest.mark.parametrize(
    "text",
    ["", ",", "rope + alibi", "rope alibi", "rope(500)", "rope,,alibi", "my.module:", "(rope"],
)
def test_what_does_not_stand_side_by_side_is_refused_in_one_line(text):
    with pytest.raises(UserError, match="does not read like 'sinusoidal, rope"):
        parse_several(text)


@pytest.mark.parametrize(
    ("asked", "actual"),
    [
        ("rope", [ROTARY]),
        ("rope", ROTARY),  # a scheme or a task stands alone
        ("rope + learned", [ROTARY, LEARNED]),
        ("none", []),
        ((), []),
        ((dict(name="rope"),), [ROTARY]),
        ((dict(name="rope", base=500),), [ROTARY]),  # some of its arguments
        ((dict(name="rope"), "learned"), [ROTARY, LEARNED]),
        (dict(name="rope", layers=(0, 1)), ROTARY),
        ({}, ROTARY),
        (
            dict(model=dict(encodings="rope", width=16)),
            dict(model=dict(encodings=[ROTARY], width=16, num_layers=2), seed=3),
        ),
        ((8, 16), [8, 16]),
        (3, 3),
        ("3", 3),  # as a command line gives it
        ("0.5", 0.5),
        ("None", None),
        (None, None),
        ("copy", "copy"),
    ],
)
def test_a_part_as_it_is_asked_for_agrees(asked, actual):
    assert agrees(asked, actual) is True


@pytest.mark.parametrize(
    ("asked", "actual"),
    [
        ("rope", [LEARNED]),
        ("rope", [ROTARY, LEARNED]),
        ("learned + rope", [ROTARY, LEARNED]),
        ("rope", []),
        ("none", [ROTARY]),
        ("none", [8, 16]),
        ("none", None),
        ("none", dict(width=16)),
        ("rope", dict(width=16)),  # a group of keys has no name
        ((), [ROTARY]),
        ((dict(name="rope"),), [ROTARY, LEARNED]),
        ((dict(name="rope", base=501),), [ROTARY]),
        ((dict(name="rope", factor=2),), [ROTARY]),
        (dict(name="rope"), [ROTARY]),
        (
            dict(model=dict(encodings="rope", width=32)),
            dict(model=dict(encodings=[ROTARY], width=16)),
        ),
        (dict(init_from=dict(run_id="a")), dict(init_from=None)),
        ((8,), [8, 16]),
        (3, 4),
        ("3", 4),
        (None, "x"),
        ("copy", "copying"),
    ],
)
def test_a_part_that_differs_does_not_agree(asked, actual):
    assert agrees(asked, actual) is False
