"""Writes a study's tables and plots again from its records, without JAX.

    python -m experiments.tables --results=results/quickstart
    python -m experiments.tables --results=results/quickstart --seeds_needed=0.8

The second writes nothing: it says how many seeds the contrasts of the analysis spec need for a
power of 0.8.
"""

from pathlib import Path

from absl import flags

from experiments import command_line
from pe_lab.results import planning, plots, results
from pe_lab.results import tables as _tables
from pe_lab.runs.errors import UserError
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
    if not flags.FLAGS.results:
        raise UserError("Which study? Give its folder: --results=results/quickstart.")
    folder, power = Path(flags.FLAGS.results), flags.FLAGS.seeds_needed
    if power is None:
        show(folder)
    else:
        found = results.load(folder)
        print(planning.text(found, power, planning.seeds_needed(found, power)))
    return 0


if __name__ == "__main__":
    flags.DEFINE_string("results", None, "the study's folder")
    flags.DEFINE_float(
        "seeds_needed",
        None,
        "a power, such as 0.8: say how many seeds the declared contrasts need for it",
    )
    command_line.run(main)
