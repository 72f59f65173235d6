"""Writes a study's tables and plots again from its records, without JAX.

    python -m experiments.tables --study=quickstart
    python -m experiments.tables --results=FOLDER
    python -m experiments.tables --study=quickstart --seeds_needed=0.8

The last one writes nothing. It prints how many seeds the contrasts of the analysis spec need for a
power of 0.8. Exit status: 0, or 2 for wrong arguments.
"""

from pathlib import Path

from absl import flags

from experiments import command_line, study_folder
from pe_lab.results import planning, plots, results
from pe_lab.results import tables as _tables
from pe_lab.sweeps import changed_code


def show(folder: Path) -> None:
    """Writes table.md, table.csv, table.tex and the plots, prints the first table and where
    everything lies.
    """
    found = results.load(folder)
    print(f"\n{_tables.write(found, folder)}\n")
    if found.missing:
        print(
            f"without a record: {found.missing} runs of the study, which are in none of these "
            f"numbers\n"
        )
    if note := changed_code.note(found.records):
        print(f"{note}\n")
    paths = plots.write(found, folder)
    drawn = f"{', '.join(map(str, paths))}, and each as PDF" if paths else "none yet"
    print(f"tables   {folder}/table.md, {folder}/table.csv, {folder}/table.tex\nplots    {drawn}")
    print(
        f"records  {folder}/records/\none page to explore: python -m experiments.report "
        f"--results={folder}"
    )


def main() -> int:
    folder, power = study_folder.folder(), flags.FLAGS.seeds_needed
    if power is None:
        show(folder)
    else:
        found = results.load(folder)
        print(planning.text(found, power, planning.seeds_needed(found, power)))
    return 0


if __name__ == "__main__":
    study_folder.define()
    flags.DEFINE_float(
        "seeds_needed",
        None,
        "a power, such as 0.8: print how many seeds the declared contrasts need for it",
    )
    command_line.run(main)
