import pytest

from pe_lab.runs import analysis_spec
from pe_lab.runs.analysis_spec import Contrast, Declaration, Metric, Place, Success, declared
from pe_lab.runs.errors import UserError

AT_TWO = {"name": "exact_match", "at": 2}
POINTS = [
    {"model.encodings": e, "positions": p, "train.learning_rate": r}
    for e in ("rope", "alibi")
    for p in ("contiguous", "shifted")
    for r in "12"
]


def test_a_study_that_says_nothing_has_no_contrasts_and_asks_for_twice_the_length():
    assert declared({}) == Declaration()
    assert (
        str(Declaration().success)
        == "learnt, and exact match of at least 0.9 at 2× the training length"
    )


def test_all_of_it_is_plain_data_as_it_stands_in_study_json():
    """Lists where a config has tuples."""
    found = declared(
        {
            "question": "Why?",
            "success": {"at": 3, "threshold": 1},
            "contrasts": [
                ["rope", "alibi"],
                {"a": "rope", "b": "alibi", "length": 16, "offset": 8},
            ],
            "tuned": ["train.learning_rate"],
            "tables": [
                {
                    "rows": "positions",
                    "columns": ["length", "offset"],
                    "metric": {"name": "token_accuracy", "show": "mean"},
                }
            ],
        }
    )
    assert found.success == Success(Place(at=3.0), 1.0)
    assert found.contrasts == (
        Contrast("rope", "alibi"),
        Contrast("rope", "alibi", Place(length=16, offset=8)),
    )
    (table,) = found.tables
    assert (table.rows, table.columns, table.metric) == (
        ("positions",),
        ("length", "offset"),
        Metric("token_accuracy", show="mean"),
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"contrast": ()}, r"^analysis\(\) has no 'contrast'\. Did you mean 'contrasts'\?"),
        (
            {"success": {"threshhold": 1}},
            r"\['success'\] has no 'threshhold'\. Did you mean 'threshold'\?",
        ),
        ({"success": {"threshold": 2}}, r"threshold is above 0 and at most 1, got 2\."),
        ({"success": {"at": 0}}, r"a place is at=2, .*, got \{'at': 0\}\."),
        ({"success": {"at": 2, "length": 8}}, r"at, length and lengths exclude each other"),
        (
            {"contrasts": (("rope",),)},
            r'a contrast is two different names, \("rope", "alibi"\), got \(\'rope\',\)\.',
        ),
        ({"contrasts": (("rope", "rope"),)}, r"two different names"),
        ({"contrasts": ("rope", "alibi")}, r"two different names, .*, got 'rope'"),
        ({"contrasts": "rope"}, r"contrasts is a tuple, got 'rope'"),
        ({"tables": ({"row": "task"},)}, r"has no 'row'\. Did you mean 'rows'\?"),
        (
            {"tables": ({"metric": "exact_mach"},)},
            r"metric has no 'exact_mach'\. Did you mean 'exact_match'\?",
        ),
        (
            {"tables": ({"metric": {"name": "auc", "show": "meen"}, "columns": "task"},)},
            r"show has no 'meen'\. Did you mean 'mean'\?",
        ),
        (
            {"tables": ({"columns": "positions"},)},
            r"exact_match has a value at each length, say where: 'length' among rows",
        ),
        ({"tables": ({"metric": {"name": "exact_match", "at": 2}},)}, r"its place is said twice"),
        ({"tables": ({"metric": {"name": "every_seed", "at": 2}},)}, r"its place is said twice"),
        (
            {"tables": ({"metric": "auc"},)},
            r"auc is the same at every length: 'length' \(also what columns are unless told\) is none of its rows",
        ),
        (
            {"tables": ({"rows": "length", "measures": ("learnt",)},)},
            r"learnt is the same at every length",
        ),
        (
            {"tables": ({"metric": {"name": "auc", "at": 2}, "columns": ()},)},
            r"auc is one number a run, .* it takes no at",
        ),
        (
            {"tables": ({"metric": "success", "columns": "offset"},)},
            r"success is the same at every offset",
        ),
        (
            {"tables": ({"metric": {"name": "steps", "offset": 8}, "columns": ()},)},
            r"steps is the same at every offset",
        ),
        (
            {"tables": ({"metric": "tied", "columns": "offset"},)},
            r"tied at each offset needs a length",
        ),
        (
            {"tables": ({"measures": (AT_TWO,), "only": {"length": "8"}},)},
            r"'length' in only chooses from lengths among rows",
        ),
        (
            {
                "tables": (
                    {
                        "metric": {"name": "auc", "show": "mean"},
                        "only": {"length": "8"},
                        "columns": (),
                    },
                )
            },
            r"'length' in only chooses",
        ),
        (
            {"tables": ({"metric": {"name": "auc", "offset": 8}, "columns": "offset"},)},
            r"the offset of auc is said twice",
        ),
        (
            {
                "tables": (
                    {
                        "metric": {"name": "auc", "offset": 8},
                        "columns": (),
                        "only": {"offset": "0"},
                    },
                )
            },
            r"the offset of auc is said twice",
        ),
        (
            {"tables": ({"only": {"offset": ("0", "8")}},)},
            r"only has one offset unless 'offset' is among rows, .*, got \('0', '8'\)",
        ),
        (
            {"tables": ({"metric": {"name": "L90", "show": "mean"}, "columns": ()},)},
            r"L90 is a length or a bound of one, so it has no mean",
        ),
        (
            {"tables": ({"columns": "length", "measures": ("auc",)},)},
            r"columns or measures, not both",
        ),
        (
            {"tables": ({"measures": ({"name": "exact_match", "at": 2, "show": "best"},)},)},
            r"say which paper did so: oracle=",
        ),
        (
            {"tables": ({"published": {"source": "a", "figures": {}}},)},
            r"and the protocol that they hold for",
        ),
        ({"question": 3}, r"is text, got 3"),
        ([], r"is a dict, got \[\]"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_would_be_right(data, words):
    with pytest.raises(UserError, match=words):
        declared(data)


def test_the_only_offset_of_a_table_is_that_of_its_metrics():
    only = {"only": {"offset": "8", "positions": "shifted"}}
    by_length, measures = declared(
        {"tables": (only, only | {"measures": (AT_TWO, "auc", "success")})}
    ).tables
    assert (by_length.metric.place, by_length.only) == (
        Place(offset=8),
        {"positions": ("shifted",)},
    )
    assert [m.place for m in measures.measures] == [
        Place(at=2.0, offset=8),
        Place(offset=8),
        Place(),
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            {"contrasts": (("rope", "alibbi"),)},
            r"\(analysis: contrasts\) has no 'alibbi'\. Did you mean 'alibi'\?",
        ),
        (
            {"contrasts": (("rope · contiguous", "rope · shift"),)},
            r"has no 'shift'\. Did you mean 'shifted'\?",
        ),
        (
            {"contrasts": (("rope, evaluated with YarN", "rope"),)},
            r"has no 'YarN'\. Did you mean 'YaRN'\?",
        ),
        (
            {"tuned": ("train.learning_rates",)},
            r"has no 'train\.learning_rates'\. Did you mean 'train\.learning_rate'\?",
        ),
        ({"contrasts": (("1", "2"),), "tuned": ("train.learning_rate",)}, r"has no '1'"),
        (
            {"tables": ({"rows": "encodings", "columns": "length"},)},
            r"has no 'encodings'\. Did you mean 'model\.encodings'\?",
        ),
        (
            {"tables": ({"only": {"positions": "shiftd"}},)},
            r"The axis 'positions' \(.*only\) has no 'shiftd'\. Did you mean 'shifted'\?",
        ),
        (
            {"tables": ({"only": {"positions": "rope"}},)},
            r"The axis 'positions' \(.*only\) has no 'rope'",
        ),
        (
            {"tables": ({"only": {"variant": "rope · shift"}},)},
            r"The axis 'variant' \(.*only\) has no 'shift'",
        ),
        (
            {"tables": ({"only": {"evaluated with": "YarN"}},)},
            r"The axis 'evaluated with' \(.*only\) has no 'YarN'",
        ),
    ],
)
def test_what_is_not_in_the_sweep_is_refused_with_the_near_names(data, words):
    with pytest.raises(UserError, match=words):
        analysis_spec.check(declared(data), POINTS, ["YaRN"])


def test_names_labels_and_changes_of_the_sweep_are_known():
    asked = {
        "contrasts": (
            ("rope", "alibi"),
            ("rope · contiguous", "rope · shifted"),
            ("rope, evaluated with YaRN", "rope"),
        ),
        "tables": (
            {
                "rows": ("variant", "evaluated with"),
                "columns": "length",
                "each": "offset",
                "only": {"positions": "shifted"},
            },
            {
                "only": {
                    "variant": ("rope", "rope · shifted"),
                    "evaluated with": ("as trained", "YaRN"),
                }
            },
            {"rows": ("variant", "offset"), "only": {"length": "1024", "offset": "512"}},
        ),
    }
    analysis_spec.check(declared(asked), POINTS, ["YaRN"])


@pytest.mark.parametrize(
    ("side", "parts"),
    [
        ("rope", ["rope"]),
        ("rope · contiguous", ["rope", "contiguous"]),
        ("rope · contiguous, evaluated with linear", ["rope", "contiguous", "linear"]),
        ("rope, in cross-attention too", ["rope, in cross-attention too"]),
    ],
)
def test_a_name_is_its_labels(side, parts):
    assert analysis_spec.parts(side) == parts


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (Place(at=1.5), "at 1.5× the training length"),
        (Place(length=16, offset=8), "at length 16, positions shifted by 8"),
        (Place(lengths=(41, 500)), "mean over lengths 41..500"),
        (Place(), ""),
    ],
)
def test_a_place_reads_as_words(place, words):
    assert str(place) == words


def test_seconds_are_no_metric_of_a_table():
    """They measure the load of the machine."""
    with pytest.raises(UserError, match="seconds"):
        declared({"tables": [{"measures": ["seconds"]}]})
