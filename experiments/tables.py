"""Writes a study's tables and plots again from its records, without JAX.

    python -m experiments.tables --study=quickstart
    python -m experiments.tables --results=FOLDER
    python -m experiments.tables --study=quickstart --formats=png,pdf --relative
    python -m experiments.tables --study=quickstart --seeds_needed=0.8

--formats chooses among png, pdf and svg. --relative draws lengths as multiples of the training
length. --small_panels gives each variant an axes of its own. --seeds_needed writes nothing: it
prints how many seeds the contrasts of the analysis spec need for a power of 0.8. Exit status: 0,
or 2 for wrong arguments.
"""

from collections.abc import Sequence
from pathlib import Path

from absl import flags

from experiments import command_line, study_folder
from pe_lab.results import planning, plots, results
from pe_lab.results import tables as _tables
from pe_lab.results.plots import drawing
from pe_lab.results.plots.pictures import Options
from pe_lab.runs import commands, records
from pe_lab.sweeps import changed_code


def show(folder: Path, *, formats: Sequence[str] = ("png",), options: Options = Options()) -> None:
    """Write table.md, table.csv, table.tex and the plots; print the first table and all paths."""
    study = results.load(folder)
    print(f"\n{_tables.write(study, folder)}\n")
    if study.missing:
        print(
            f"without a record: {study.missing} runs of the study, which are in none of these "
            f"numbers\n"
        )
    if note := changed_code.note(study.records):
        print(f"{note}\n")
    paths = plots.write(folder, formats=formats, options=options)
    pictures = ", ".join(map(str, paths)) or "none yet"
    has_archive = (folder / records.ARCHIVE).exists()
    recorded = folder / records.ARCHIVE if has_archive else f"{folder}/records/"
    print(f"tables   {folder}/table.md, {folder}/table.csv, {folder}/table.tex")
    print(f"plots    {pictures}")
    print(f"records  {recorded}")
    report = commands.python("-m", "experiments.report", f"--results={folder}")
    print(f"one page to explore: {report}")


def main() -> int:
    folder, power = study_folder.folder(), flags.FLAGS.seeds_needed
    drawing.check_formats(flags.FLAGS.formats)
    if power is None:
        options = Options(flags.FLAGS.relative, flags.FLAGS.small_panels)
        show(folder, formats=flags.FLAGS.formats, options=options)
    else:
        study = results.load(folder)
        print(planning.text(study, power, planning.seeds_needed(study, power)))
    return 0


if __name__ == "__main__":
    study_folder.define()
    flags.DEFINE_list("formats", ["png"], f"of the plots: {', '.join(drawing.FORMATS)}")
    flags.DEFINE_bool("relative", False, "plot lengths as multiples of the training length")
    flags.DEFINE_bool("small_panels", False, "plot each variant in an axes of its own")
    flags.DEFINE_float(
        "seeds_needed",
        None,
        "a power, such as 0.8: print how many seeds the declared contrasts need for it",
    )
    command_line.run(main)
