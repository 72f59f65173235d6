"""Writes a study's tables and plot again from its records, without JAX.

python -m experiments.tables --results=results/quickstart
"""

from pathlib import Path

from absl import flags

from experiments import command_line
from pe_lab.analysis import plots, results
from pe_lab.analysis import tables as _tables
from pe_lab.errors import UserError


def show(folder: Path) -> None:
    """Writes table.md, table.csv and exact_match.png, prints the table and where everything lies."""
    found = results.load(folder)
    shown = "Bits a token" if found.has_text else "Exact match"
    print(f"\n{shown} by length, mean over seeds (→ beyond the training length):\n\n{_tables.write(found, folder)}\n")
    if found.missing:
        print(f"without a record: {found.missing} runs of the study, which are in none of these numbers\n")
    drawn = plots.write(found, folder) or "none yet"
    print(f"tables   {folder}/table.md, {folder}/table.csv\nplot     {drawn}\nrecords  {folder}/records/")


def main() -> int:
    if not flags.FLAGS.results:
        raise UserError("Which study? Give its folder: --results=results/quickstart.")
    show(Path(flags.FLAGS.results))
    return 0


if __name__ == "__main__":
    flags.DEFINE_string("results", None, "the study's folder")
    command_line.run(main)
