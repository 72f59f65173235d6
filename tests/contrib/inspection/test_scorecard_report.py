import pytest
from matplotlib import pyplot

from pe_lab.contrib.inspection import (
    attention_pictures,
    encoding_pictures,
    rotation_pictures,
    scorecard,
    scorecard_report,
)
from pe_lab.contrib.inspection.scorecard import Row
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.results.plots import drawing
from pe_lab.runs.errors import UserError
from tests.contrib.inspection.probes import probe

SHOWN = ("raw_index", "single_sine", "alibi", "nope")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspected")
    scorecard_report.write([probe(name) for name in SHOWN], folder)
    return folder


@pytest.mark.full
def test_every_encoding_has_a_picture_as_png_and_as_pdf(written):
    stems = sorted((*SHOWN, "paths", "similarities"))
    assert (
        sorted(p.stem for p in written.glob("*.png"))
        == sorted(p.stem for p in written.glob("*.pdf"))
        == stems
    )
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in written.glob("*.png"))
    assert all(p.read_bytes().startswith(b"%PDF") for p in written.glob("*.pdf"))


@pytest.mark.full
def test_the_page_has_the_card_and_a_caption_below_every_picture(written):
    page = (written / "scorecard.md").read_text()
    rows = [scorecard.row(probe(name)) for name in SHOWN]
    assert scorecard.table(rows) in page
    for row in rows:
        assert f"![{row.name}]({row.name}.png)\n\n{encoding_pictures.caption(row)}" in page
    assert (written / "scorecard.csv").read_text() == scorecard.as_csv(rows)


@pytest.mark.full
def test_the_same_encoding_gives_the_same_bytes(written, tmp_path):
    encoding_pictures.draw(probe("alibi"), [tmp_path / "alibi.png", tmp_path / "alibi.pdf"])
    assert all(
        (tmp_path / f"alibi.{s}").read_bytes() == (written / f"alibi.{s}").read_bytes()
        for s in ("png", "pdf")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [
        lambda p, *how: encoding_pictures.draw(p[0], *how),
        encoding_pictures.draw_paths,
        encoding_pictures.draw_similarities,
    ],
)
def test_a_picture_has_as_many_dots_as_asked_for(draw, tmp_path):
    draw([probe("raw_index", length=3)], [tmp_path / "small.png"], 40)
    assert pyplot.imread(tmp_path / "small.png").shape[1] == 40 * drawing.WIDTH


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["sinusoidal", "rope", "pope", "hard_alibi", "shaw", "relative_logits", "path"]
)
def test_every_kind_has_its_panels(name, tmp_path):
    encoding_pictures.draw(probe(name, num_heads=4), [tmp_path / "drawn.png"])
    assert (tmp_path / "drawn.png").stat().st_size > 10_000


def lines_of(axis):
    return {line.get_label(): line for line in axis.lines if line.get_label()[0] != "_"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "panel", "count"),
    [
        ("rope", rotation_pictures.periods, 0),
        ("rope", rotation_pictures.similarity_curve, 0),
        ("tests.contrib.inspection.user_encodings:BaseOfEachHead", rotation_pictures.periods, 4),
        (
            "tests.contrib.inspection.user_encodings:BaseOfEachHead",
            rotation_pictures.similarity_curve,
            4,
        ),
        ("alibi", attention_pictures.bias_by_head, 4),
        ("music_transformer", attention_pictures.mean_logit, 0),  # they differ by rounding
        ("dape", attention_pictures.mean_logit, 4),
    ],
)
def test_heads_that_differ_are_lines_of_their_own(name, panel, count):
    axis = pyplot.figure().add_subplot()
    more = {"inner": {"name": "kerple"}} if name == "dape" else {}
    panel(axis, probe(name, num_heads=4, **more))
    pyplot.close(axis.figure)
    heads = lines_of(axis)
    assert list(heads) == [f"head {head + 1}" for head in range(count)]
    assert len({line.get_color() for line in heads.values()}) == count


@pytest.mark.slow
def test_a_panel_of_one_head_says_so_where_heads_differ():
    axis = pyplot.figure().add_subplot()
    titles = []
    for name in ("rope", "tests.contrib.inspection.user_encodings:BaseOfEachHead"):
        rotation_pictures.turning_pairs(axis, probe(name, num_heads=4))
        titles.append(axis.get_title().partition("three")[0])
    pyplot.close(axis.figure)
    assert titles == ["", "head 1: "]


@pytest.mark.slow
def test_similarities_have_biases_and_name_what_they_lack(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(drawing, "save", lambda figure, *_, **__: figures.append(figure))
    shown = [probe(name, num_heads=4) for name in ("sinusoidal", "rope", "alibi", "shaw")]
    scorecard_report.write([*shown, probe("nope")], tmp_path)
    similar, added = figures[-1].axes
    assert [list(lines_of(axis)) for axis in (similar, added)] == [
        ["sinusoidal", "rope"],
        ["alibi", "shaw"],
    ]
    # ALiBi's slopes are 1/4, 1/16, 1/64 and 1/256; the last line is their mean.
    heads = [line.get_ydata()[1] for line in added.lines[:5]]
    assert heads == pytest.approx([-1 / 4, -1 / 16, -1 / 64, -1 / 256, -85 / 1024])
    page = (tmp_path / "scorecard.md").read_text()
    assert "Without a table, and so not in this picture: nope." in page


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["sinusoidal", "raw_index", "rope", "alibi", "kerple", "sliding_window"]
)
def test_one_position_can_be_drawn(name, tmp_path):
    encoding_pictures.draw(
        probe(name, length=1, **({"size": 1} if name == "sliding_window" else {})),
        [tmp_path / "one.png"],
    )
    assert (tmp_path / "one.png").stat().st_size > 1000


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "panel"),
    [
        ("alibi", attention_pictures.cumulative_attention),
        ("rope", rotation_pictures.similarity_curve),
    ],
)
def test_a_panel_ends_where_the_scheme_does(name, panel):
    """Of 20 positions there are two lengths of 8, not four."""
    axis = pyplot.figure().add_subplot()
    panel(axis, UntrainedEncoding({"name": name}, 8, 16, 2, {"name": "randomized", "maximum": 20}))
    longest = max(len(line.get_xdata()) for line in axis.lines)
    pyplot.close(axis.figure)
    assert longest == 16


@pytest.mark.full
def test_the_caption_of_a_bias_says_in_how_long_an_example():
    short = UntrainedEncoding({"name": "alibi"}, 8, 16, 2, {"name": "randomized", "maximum": 20})
    assert "In an example of 8 tokens, 99% lies within" in encoding_pictures.caption(
        scorecard.row(short)
    )
    assert "In an example of 1,024 tokens, 99% lies within" in encoding_pictures.caption(
        scorecard.row(probe("alibi", length=64))
    )


@pytest.mark.full
def test_a_name_becomes_that_of_a_file():
    own = probe("tests.contrib.inspection.user_encodings:Parity")
    assert scorecard_report.file_stems([probe("rope", base=500.0), own]) == [
        "rope_base_500_0",
        "tests_contrib_inspection_user_encodings_Parity",
    ]


@pytest.mark.full
def test_names_that_differ_in_a_sign_have_a_file_each():
    probes = [probe("sinusoidal", scale=scale) for scale in (1.0, -1.0, 2.0)]
    assert scorecard_report.file_stems(probes) == [
        "sinusoidal_scale_1_0",
        "sinusoidal_scale_1_0__2",
        "sinusoidal_scale_2_0",
    ]


@pytest.mark.full
def test_a_code_that_cannot_be_computed_is_one_sentence(tmp_path):
    encoding = probe("tests.contrib.inspection.user_encodings:Careless")
    message = (
        r"^tests\.contrib\.inspection\.user_encodings:Careless cannot be read: TypeError: .*\.$"
    )
    with pytest.raises(UserError, match=message):
        scorecard_report.write([encoding], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_caption_says_what_the_numbers_say():
    numbers = {
        "nearer is more similar": 0.9,
        "decay stops at": 6,
        "largest step / random pair": 0.3,
        "colliding pairs": 0,
    }
    smooth = encoding_pictures.caption(Row("a", "embedding", numbers))
    assert (
        "The nearer of two keys is more similar in 90% of comparisons; "
        "similarity first rises at distance 6 (dotted)." in smooth
    )
    assert "They follow a curve: the longest step is 0.30 times" in smooth
    assert smooth.endswith("All positions differ.")
    jumps = encoding_pictures.caption(
        Row(
            "b",
            "embedding",
            numbers
            | {
                "nearer is more similar": 0.51,
                "largest step / random pair": 1.4,
                "colliding pairs": 1,
            },
        )
    )
    assert (
        "The nearer of two keys is more similar in 51% of comparisons, "
        "little more than chance (50%). " in jumps
    )
    assert "They jump" in jumps
    assert jumps.endswith("1 pair of positions is equal.")
