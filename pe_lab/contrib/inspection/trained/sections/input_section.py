"""Tokens and position embeddings at the input: their sizes and directions."""

from pe_lab.contrib.inspection.scorecard import markdown_table
from pe_lab.contrib.inspection.trained.findings import Findings
from pe_lab.contrib.inspection.trained.four_terms import TERMS
from pe_lab.contrib.inspection.trained.input_embeddings import InputParts
from pe_lab.contrib.inspection.trained.sections.section import TERM_NAMES, Section, number


def section(findings: Findings) -> Section:
    after = findings.input[-1].parts
    directions = after.directions
    return Section(
        title="Token and position at the input",
        measured=(
            "This model adds a position embedding to each token, so both are known exactly. The "
            "measurements are their sizes, the cosines between all tokens and all embeddings of "
            "the examples, and the four shares of the first layer's logits."
        ),
        reading=(
            "A sum of two vectors can be read apart if they use different directions. Cosines as "
            "small as between random directions mean that adding loses little. *overlap* is the "
            "share of the embeddings' main directions (those that hold 90% of their energy) that "
            "lies in as many main directions of the tokens. The shares differ from the previous "
            "section: there, position is the mean over examples."
        ),
        this_run=(
            f"After training, the size (rms) of an embedding is {number(after.embedding_rms)} and "
            f"of a token {number(after.token_rms)}. The rms cosine is "
            f"{number(directions.rms_cosine)}; random directions have "
            f"{number(directions.rms_cosine_by_chance)}."
        ),
        limits=(
            "The norm before attention divides by the size of the sum; this size is held fixed. "
            "Small cosines show that token and position can be separated, not that the model "
            "separates them."
        ),
        pictures={},
        table=_table(findings),
    )


def number_cells(parts: InputParts) -> dict[str, str]:
    """Name -> number, without the four shares."""
    directions = parts.directions
    values: dict[str, float | int] = {
        "rms of token": parts.token_rms,
        "rms of embedding": parts.embedding_rms,
        "rms cosine": directions.rms_cosine,
        "rms cosine, random": directions.rms_cosine_by_chance,
        "mean absolute cosine": directions.mean_cosine,
        "mean absolute cosine, random": directions.mean_cosine_by_chance,
        "largest cosine": directions.largest_cosine,
        "directions of the embeddings": directions.embedding_directions,
        "overlap": directions.overlap,
        "overlap, random": directions.overlap_by_chance,
    }
    return {name: number(value) for name, value in values.items()}


def _table(findings: Findings) -> str:
    columns = []
    for row in findings.input:
        column = number_cells(row.parts)
        for term in TERMS:
            column[f"{TERM_NAMES[term]}, first layer"] = number(row.parts.terms[term])
        columns.append(column)
    body = [[name, *(column[name] for column in columns)] for name in columns[0]]
    return markdown_table(["number", *(row.state.when for row in findings.input)], body)
