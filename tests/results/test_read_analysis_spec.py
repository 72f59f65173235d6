import pytest

from pe_lab.results.read_analysis_spec import from_dict
from pe_lab.results.read_points import metric_point
from pe_lab.runs.errors import UserError
from pe_lab.runs.studies import check_analysis_spec
from pe_lab.runs.studies.analysis_spec import (
    AnalysisSpec,
    Contrast,
    Extrapolation,
    MetricPoint,
    MetricSpec,
)

AT_TWO = {"name": "exact_match", "at": 2}
POINTS = [
    {"model.encodings": e, "positions": p, "train.learning_rate": r}
    for e in ("rope", "alibi")
    for p in ("contiguous", "shifted")
    for r in "12"
]


def test_a_study_that_states_nothing_has_the_defaults():
    assert from_dict({}) == AnalysisSpec()


def test_a_spec_is_read_from_the_plain_data_of_study_json():
    """Lists where a config has tuples."""
    spec = from_dict(
        {
            "question": "Why?",
            "extrapolation": {"at": 3, "threshold": 1},
            "contrasts": [
                ["rope", "alibi"],
                {"a": "rope", "b": "alibi", "length": 16, "offset": 8},
                {"a": "rope", "b": "alibi", "margin": 0.05},
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
    assert spec.extrapolation == Extrapolation(MetricPoint(at=3.0), 1.0)
    assert spec.contrasts == (
        Contrast("rope", "alibi"),
        Contrast("rope", "alibi", MetricPoint(length=16, offset=8)),
        Contrast("rope", "alibi", margin=0.05),
    )
    (table,) = spec.tables
    assert (table.rows, table.columns, table.metric) == (
        ("positions",),
        ("length", "offset"),
        MetricSpec("token_accuracy", show="mean"),
    )


@pytest.mark.parametrize(
    ("settings", "point"),
    [
        ({"length": 1}, MetricPoint(length=1)),
        ({"at": 0.5, "offset": 0}, MetricPoint(at=0.5)),
        ({"lengths": [3, 3], "offset": 1}, MetricPoint(lengths=(3, 3), offset=1)),
    ],
)
def test_the_smallest_points_are_read(settings, point):
    assert metric_point("here", settings) == point


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"contrast": ()}, r"^analysis\(\) has no 'contrast'\. Did you mean 'contrasts'\?"),
        (
            {"extrapolation": {"threshhold": 1}},
            r"\['extrapolation'\] has no 'threshhold'\. Did you mean 'threshold'\?",
        ),
        ({"extrapolation": {"threshold": 2}}, r"threshold must be above 0 and at most 1, got 2\."),
        ({"extrapolation": {"at": 0}}, r"a point is at=2, .*, got \{'at': 0\}\."),
        ({"extrapolation": {"at": 2, "length": 8}}, r"at, length and lengths exclude each other"),
        (
            {"contrasts": (("rope",),)},
            r'a contrast is two different names, \("rope", "alibi"\), got \(\'rope\',\)\.',
        ),
        ({"contrasts": (("rope", "rope"),)}, r"two different names"),
        (
            {"contrasts": ({"a": "rope", "b": "alibi", "seen_positions": 1},)},
            r"\['seen_positions'\] must be True or False, got 1\.",
        ),
        (
            {"contrasts": ({"a": "rope", "b": "alibi", "margin": 0},)},
            r"margin is a difference above 0, such as 0\.05, got 0\.",
        ),
        ({"contrasts": ("rope", "alibi")}, r"two different names, .*, got 'rope'"),
        ({"contrasts": "rope"}, r"\['contrasts'\] must be a tuple, got 'rope'"),
        (
            {"literature": ({"source": "a", "figures": (("rope", 8, "1"),)},)},
            r"\['literature'\] must hold numbers, got '1'",
        ),
        (
            {"literature": ({"source": "a", "figures": (("rope", 0.9),)},)},
            r"a variant, a length or range of lengths, and a value",
        ),
        ({"literature": ({"figures": ()},)}, r"figures need a source"),
        ({"question": 3}, r"must be a text, got 3"),
        ([], r"analysis\(\) must be a dict, got \[\]"),
    ],
)
def test_a_wrong_spec_is_refused_with_what_would_be_right(data, words):
    with pytest.raises(UserError, match=words):
        from_dict(data)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"measures": ("seconds",)}, r"metric has no 'seconds'"),  # of a machine's load
        ({"row": "task"}, r"has no 'row'\. Did you mean 'rows'\?"),
        ({"metric": "exact_mach"}, r"metric has no 'exact_mach'\. Did you mean 'exact_match'\?"),
        (
            {"metric": {"name": "auc", "show": "meen"}, "columns": "task"},
            r"show has no 'meen'\. Did you mean 'mean'\?",
        ),
        ({"columns": "positions"}, r"exact_match has a value at each length: put 'length' in rows"),
        ({"metric": {"name": "exact_match", "at": 2}}, r"the length of .* is stated twice"),
        (
            {"metric": "auc"},
            r"auc is the same at every length: 'length', the default of columns, cannot be in rows",
        ),
        ({"rows": "length", "measures": ("solved",)}, r"solved is the same at every length"),
        (
            {"metric": {"name": "auc", "at": 2}, "columns": ()},
            r"auc is one number a run: it takes no at",
        ),
        (
            {"metric": "extrapolates", "columns": "offset"},
            r"extrapolates is the same at every offset",
        ),
        (
            {"metric": {"name": "steps", "offset": 8}, "columns": ()},
            r"steps is the same at every offset",
        ),
        ({"metric": "exact_match", "columns": "offset"}, r"exact_match has a value at each length"),
        (
            {"measures": (AT_TWO,), "only": {"length": "8"}},
            r"'length' in only selects from the lengths in rows",
        ),
        (
            {
                "metric": {"name": "auc", "show": "mean"},
                "only": {"length": "8"},
                "columns": (),
            },
            r"'length' in only selects",
        ),
        (
            {"metric": {"name": "auc", "offset": 8}, "columns": "offset"},
            r"the offset of auc is stated twice",
        ),
        (
            {
                "metric": {"name": "auc", "offset": 8},
                "columns": (),
                "only": {"offset": "0"},
            },
            r"'offset' in only selects from the offsets in rows, columns or each; the offset of a "
            r"metric is part of the metric: offset=8\.$",
        ),
        ({"only": {"offset": ("0", "8")}}, r"'offset' in only selects from the offsets in rows"),
        (
            {"metric": {"name": "L90", "show": "mean"}, "columns": ()},
            r"L90 is a length or a bound of one, so it has no mean",
        ),
        ({"columns": "length", "measures": ("auc",)}, r"columns or measures, not both"),
        (
            {"measures": ({"name": "exact_match", "at": 2, "show": "best"},)},
            r"needs the paper that did so: oracle=",
        ),
    ],
)
def test_a_wrong_table_is_refused_with_what_would_be_right(table, words):
    with pytest.raises(UserError, match=words):
        from_dict({"tables": (table,)})


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
        (
            {"tuned": ("train.learning_rate",), "tables": ({"rows": "model.encodings"},)},
            r"leaves several variants in one cell: name 'positions'",
        ),
        (
            {
                "tuned": ("train.learning_rate",),
                "tables": ({"each": "train.learning_rate"},),
            },
            r"has the axis 'train\.learning_rate', which is tuned",
        ),
    ],
)
def test_a_name_that_is_not_in_the_sweep_is_refused_with_the_near_names(data, words):
    with pytest.raises(UserError, match=words):
        check_analysis_spec.check(from_dict(data), POINTS, {"YaRN": {}})


def test_names_labels_and_overrides_of_the_sweep_are_known():
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
            {"rows": ("variant", "offset"), "only": {"offset": "512"}},
        ),
    }
    check_analysis_spec.check(from_dict(asked), POINTS, {"YaRN": {}})
