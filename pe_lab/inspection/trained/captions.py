"""What stands below the pictures of a trained run: how to read each, and what it cannot say."""

from typing import Any

from pe_lab.inspection.trained import failure_kinds
from pe_lab.inspection.trained.findings import Findings

MAPS = (
    "Each square is one head. A row is a token that looks (the query), a column a token that is "
    "looked at (the key), both counted "
    "from 0 in the order in which the model reads them; dark is much attention, and what is white "
    "above a diagonal is the future, "
    "which a decoder cannot see. Red rings stand where the task says that a token of the answer "
    "comes from one token of the prompt, "
    "in the row of the token that must give it: dark squares in the rings show a head that looks "
    "just there. One example can mislead; "
    "the next section has means."
)
HEADS = (
    "Top: how spread the attention is, its entropy over the logarithm of the number n of keys in "
    "sight, 0 where one key has all and 1 "
    "where all have alike. Then the share of attention on the prompt token that the task names, "
    "beside what it would be were all keys "
    "alike (dotted); it is missing for tasks that name none. Bottom: the mean distance to what is "
    "looked at. All are means over the "
    "tokens that must give the answer (of an encoder beside a decoder: over all its tokens). The "
    "dashed line is the training length: "
    "a head that loses the named token beyond it may be where longer examples go wrong first."
)
FOUR_TERMS = (
    "A logit is a product of a query and a key, and each is the sum of its content and its place. "
    "That makes four terms: what is asked "
    "for by content and found by content, and so on to place by place. The bars are their shares "
    "of the energy (sum of squares) after "
    "each query's mean over the keys that it sees is taken off, which a softmax ignores; means "
    "over heads. Place is what a query or a "
    "key has in common at one place in all examples, so the fixed tokens BEGIN and SEPARATOR "
    "count as place. It is taken of queries "
    "and keys before an encoding inside attention acts on them: what a rotation or a bias adds to "
    "the logits is not in these shares. "
    "*together*: the energy of the sum of the four over the sum of their energies, 1 where they "
    "do not interfere. *nearness*: the "
    "correlation of place × place with minus the distance."
)
INPUT = (
    "Where a code is added to the token, both are known, and the first layer's logits can be "
    "split exactly (a norm's divisor is taken "
    "as it is). Adding loses little where tokens and codes point in different directions: their "
    "cosines are then as small as those of "
    "random directions. *overlap*: of the directions that hold 90% of the codes, the part that as "
    "many main directions of the "
    "tokens share. Tokens and codes are those of the examples, each once."
)
PROBES = (
    "A linear map is fitted (ridge regression) from the hidden states of half of the examples to "
    "the tokens' places, and scored on the "
    "other half. R² of 1: every place is read off; 0: no better than always saying the middle. "
    "What it finds is there to be read; that "
    "the model reads it is not said, and a place may also be there in a form that no linear map "
    "reads. Fixed tokens (BEGIN, SEPARATOR) "
    "tell their own place and lift R² above 0 even where no other token's is known."
)
KNOCK_OUT = (
    "The trained model, with an encoding switched off where the row says: on one head, on all "
    "heads of a layer, or everywhere. Cells are "
    "exact match, in brackets token accuracy. What falls was in use; what does not fall may still "
    "be, since other heads can stand in. "
    "An encoding at the input acts once, before all layers, and has one row. A model without an "
    "encoding that it was trained with sees "
    "what it never saw: 0 says that it relied on it, not that the task needs it."
)
INPUT_THROUGH_TRAINING = (
    "The numbers of *Token and code at the input*, step by step: how loud the code is beside the "
    "token, and whether training turns the "
    "two away from each other, below what random directions do, or towards each other. Dotted is "
    "what to compare with; in the last "
    "panel it falls where the codes come to need fewer directions."
)
NOT_KEPT = (
    "What happens *through* training: this run kept its last parameters alone; those before "
    "training come from its seed, where it did "
    "not start from another run. A run that is trained with `--config.checkpoints.keep_curve` "
    "keeps those of every point of its curve, "
    "and this page then shows shares and heads at each (`--config.evaluate.curve_every` says how "
    "far apart they are). One that has "
    "finished is not trained again: give another folder with `--results`."
)


def head(about: dict[str, Any]) -> str:
    """Title, and what was looked at."""
    lengths = ", ".join(map(str, about["lengths"]))
    return (
        f"# Inside a trained model: {about['encoding']} on {about['task']}\n\n"
        f"Run {about['run_id']}: positions {about['positions']}, trained up to "
        f"{about['trained_length']} {about['unit']}, looked at with "
        f"{about['examples']} test examples each of length {lengths}, the first ones of its "
        f"evaluation. Layers and heads count from 1, and "
        "a layer that is applied again counts again, but not where an encoding is switched off: "
        "there it is off each time. One run is one "
        "seed: another may do it another way.\n\n## Who looks at whom"
    )


def through_training(found: Findings) -> str:
    """How to read the picture, and the step at which this run solved its task."""
    solved_at = found.through.solved_at
    measured = {int(length) for point in found.through.curve for length in point["exact_match"]}
    if solved_at is not None:
        when = f"This run first does at step {solved_at}, the dashed line."
    elif any(length <= found.about["trained_length"] for length in measured):
        when = "No point of this run's curve does."
    else:
        when = "This run's curve has no length up to that one, so it does not say whether it did."
    return (
        "One column a layer, and steps of training from left to right, the same in all rows: what "
        "stands above one another happened at "
        "the same time. Top: the four shares of *Token and place in the logits*, mean over heads. "
        "Blue asks by content, red by place; the "
        "dark ones find the same kind that they ask for. A layer of *place × place* looks at "
        "fixed or near places whatever stands there; "
        "one of *content × content* looks for what belongs together wherever it stands, and from "
        "the second layer on what a place holds "
        "may be of another token that it has looked at before. Then, for each head, the attention "
        "on the token that the task names (in "
        "copying the one to be said next; dotted: were all keys alike) and its entropy, both as "
        "in *Heads as examples grow*. Bottom, the "
        "same in all columns: exact match on validation examples, up to the training length in "
        "black, of longer ones in grey. The "
        f"model has solved its task where the mean of the black lines reaches "
        f"{found.through.threshold:g}. "
        f"{when} What moves together may have "
        "one cause; which causes which, a picture cannot say. Between two points nothing was kept."
    )


def failures(found: Findings) -> str:
    """How answers were read, and what the kinds are."""
    read = (
        "Each answer is what the model says greedily, token after token"
        if found.about["greedy"]
        else "Each answer is read in one pass, every token where the right ones stand before it"
    )
    kinds = "\n".join(
        f"- *{name}*: {what};"
        for name, what in failure_kinds.KINDS.items()
        if found.about["end_token"] or "stopped" not in name
    )
    return (
        f"{read}, and is looked at as far as the right one goes, its end included. A failed "
        f"answer has one kind, the first in this order "
        f"that holds:\n\n{kinds.rstrip(';')}.\n\nCells are shares of the failed examples. Where "
        f"symbols are few, three tokens agree by "
        "chance too."
    )
