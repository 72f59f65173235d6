"""Pages of published studies, which are rendered once."""

import json

import pytest

from docs.build import numbers, pages
from docs.build.published import STUDIES
from experiments import page
from experiments import publish as publication
from pe_lab.runs.errors import UserError
from tests.results.fake_study import point, record, write_study

ANALYSIS = """
def lookups(root):
    return {"share": lambda name: "0.50 [−0.10, 0.90]", "grid": {"rows": len}, "names": ["a", "b"]}

def draw(root):
    (root / "drawn.png").touch()
"""


def publish(root, template, name="fake", values=(0.2, 0.3, 0.7), analysis=ANALYSIS):
    entries = []
    for seed, value in enumerate(values):
        run = record(f"{name}{seed}", seed, test={4: 1.0, 8: value}, validation={4: 1.0})
        entries.append((point("rope", seed), run))
    folder = write_study(root / STUDIES / name, *entries)
    (folder / "README.md.jinja").write_text(template)
    (folder / "page.py").write_text(analysis)
    return folder


def entries(folder):
    return json.loads((folder / "numbers.json").read_text())["numbers"]


def test_numbers_have_the_name_of_their_expression_their_interval_and_their_source(tmp_path):
    publish(tmp_path, "", name="other", values=(0.4, 0.4, 0.4), analysis="lookups = lambda _: {}")
    template = (
        '{{ study.center("rope", 8) }} {{ share("rope") }} {{ of("other").center("rope", 8) }} '
        "{{ grid.rows(names) }} {{ seeds_of_variants }}\n"
    )
    folder = publish(tmp_path, template)
    assert page.write(tmp_path, ["fake"]) == [STUDIES / "fake" / "README.md"]
    assert (folder / "README.md").read_text() == "0.30 0.50 [−0.10, 0.90] 0.40 2 3\n"
    assert entries(folder) == {
        "seeds_of_variants": {"shown": "3", "from": "records.jsonl.gz"},
        "names": {"shown": ["a", "b"], "from": "page.py"},
        "study.center(rope, 8)": {"shown": "0.30", "from": "records.jsonl.gz"},
        "share(rope)": {
            "shown": "0.50 [−0.10, 0.90]",
            "interval": [-0.1, 0.9],
            "from": "page.py",
        },
        "of(other).center(rope, 8)": {"shown": "0.40", "from": "../other/records.jsonl.gz"},
        "grid.rows(['a', 'b'])": {"shown": 2, "from": "page.py"},
    }
    assert (tmp_path / "drawn.png").exists()


def test_a_page_is_rendered_from_its_numbers_alone(tmp_path):
    folder = publish(tmp_path, '{{ study.center("rope", 8) }} {{ share("rope") }}\n')
    page.write(tmp_path, ["fake"])
    file = folder / "numbers.json"
    file.write_text(file.read_text().replace("0.30", "0.31"))
    (folder / "page.py").unlink()
    numbers.document.cache_clear()
    assert pages.stale(tmp_path, [STUDIES / "fake" / "README.md"]) == [STUDIES / "fake/README.md"]
    assert pages.text(tmp_path, STUDIES / "fake/README.md") == "0.31 0.50 [−0.10, 0.90]\n"


def test_a_number_that_only_the_findings_cite_is_published_too(tmp_path):
    folder = publish(tmp_path, '{{ study.center("rope", 8) }}\n')
    (tmp_path / "docs").mkdir()
    findings = tmp_path / "docs" / "findings.md.jinja"
    findings.write_text('{{ of("fake").each_seed("rope", 8) }}, {{ page("fake").share("nope") }}')
    page.write(tmp_path, ["fake"])
    names = {"study.each_seed(rope, 8)", "share(nope)"}
    assert names <= entries(folder).keys()
    text = pages.text(tmp_path, pages.Path("docs/findings.md"))
    assert text == "0.20, 0.30 and 0.70, 0.50 [−0.10, 0.90]"
    findings.write_text('{{ of("fake").center("rope", 4) }}')
    with pytest.raises(UserError, match=r"has no number study.center\(rope, 4\)\. This command"):
        pages.text(tmp_path, pages.Path("docs/findings.md"))


@pytest.mark.parametrize(
    "use",
    [
        "{{ study.x }}",
        "{% if study.x %}{% endif %}",
        "{% if not study.x %}{% endif %}",
        "{% if study.x == 'a' %}{% endif %}",
        "{% if study.x != 'a' %}{% endif %}",
        "{% if study.x('rope') in ['a'] %}{% endif %}",
        "{% if study.x > 1 %}{% endif %}",
        "{% for each in study.x %}{% endfor %}",
        "{{ study.x | length }}",
    ],
)
def test_no_use_of_a_number_that_is_not_published_is_silent(tmp_path, use):
    publish(tmp_path, use)
    with pytest.raises(
        UserError, match=r"^results/published/fake/numbers\.json has no number study"
    ):
        pages.text(tmp_path, STUDIES / "fake" / "README.md")


def test_one_name_with_two_values_is_refused(tmp_path):
    analysis = "numbers = iter('12')\ndef lookups(root): return {'next': lambda: next(numbers)}"
    publish(tmp_path, "{{ next() }} {{ next() }}", analysis=analysis)
    with pytest.raises(UserError, match=r"^next\(\) has two values: 1 and 2\.$"):
        page.write(tmp_path, ["fake"])


def test_a_number_that_the_study_does_not_have_is_a_sentence(tmp_path):
    publish(tmp_path, '{{ study.center("ropes", 8) }}')
    with pytest.raises(UserError, match=r"has no 'ropes'\. Did you mean 'rope'\?"):
        page.write(tmp_path, ["fake"])


@pytest.mark.slow
def test_publishing_a_study_renders_its_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = record("r0", test={4: 1.0, 8: 0.3}, validation={4: 1.0})
    folder = write_study(tmp_path / "results" / "fake", (point("rope", 0), run))
    options = publication.Options(folder, relative=False, allow_dirty=True, replace=False)
    assert publication.run(options) == 0
    sentence = "say what they show in results/published/fake/README.md.jinja, then render the page"
    assert sentence in capsys.readouterr().out
    target = tmp_path / STUDIES / "fake"
    (target / "README.md.jinja").write_text('{{ study.center("rope", 8) }}\n')
    assert publication.run(options) == 0
    assert (target / "README.md").read_text() == "0.30\n"
    assert capsys.readouterr().out.endswith("wrote results/published/fake/README.md\n")


def test_a_page_is_not_rendered_with_code_that_is_not_committed(tmp_path, monkeypatch):
    publish(tmp_path, "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(page.provenance, "has_uncommitted_code", lambda **_: True)
    with pytest.raises(UserError, match=r"^The code of pe_lab or of pages has changes that"):
        page.run(page.Options(["fake"], allow_dirty=False))
    with pytest.raises(UserError, match=r"'fakes'\. Did you mean 'fake'\?"):
        page.run(page.Options(["fakes"], allow_dirty=True))
    assert not (tmp_path / STUDIES / "fake" / "README.md").exists()
