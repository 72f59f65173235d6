"""Predictors of targets from positions, for the law that positions give no answer away.

A predictor counts on half of the examples which label goes with a feature, and is scored on the
other half. `chance` knows the lengths that the prompt shows and the target tokens so far. For
tokens of the answer it also knows the symbol at any fixed place of the prompt. An informed
predictor knows the positions as well. Positions leak where an informed predictor is better than
chance.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

COUNT = 1024
STEPS = 10  # target tokens that are predicted
FEWEST = (
    256  # examples with a label in each half; an accuracy then has a standard error below 0.032
)
MARGIN = 0.15
SHIFTS = (-1, 0, 1)  # from the prompt place that shares a position


@dataclasses.dataclass(frozen=True)
class Seen:
    """Examples as predictors see them, [N, ...] each, -1 where nothing is.

    Attributes:
      shown: a number for each set of shown lengths, the target's included if it is known.
      prompt: [N, P] symbols.
      target: [N, T] symbols, and asked: [N, T], True where the model says them.
      points_to: [N, S], the prompt place with the position that is read last at a step.
      position: [N, S], a number for each position that is read last at a step.
      visible: [N, S], a number for each set of all positions that are read at a step.
      causal: target tokens are said one after the other.
    """

    shown: np.ndarray
    prompt: np.ndarray
    target: np.ndarray
    asked: np.ndarray
    points_to: np.ndarray
    position: np.ndarray
    visible: np.ndarray
    causal: bool

    @property
    def lengths(self):
        return (self.target >= 0).sum(axis=1)


def draw(task, length, count=COUNT):
    """Test examples of one length."""
    data = jax.tree.map(jnp.asarray, task.data("test"))
    sample = jax.jit(jax.vmap(lambda key: task.sample(key, jnp.asarray(length), length, data)))
    return sample(jax.random.split(jax.random.key(7), count))


def leaks(task, layout, scheme, examples, length_known=False):
    """Return what positions give away in evaluation: a set of "answer" and "length".

    Args:
      length_known: chance knows the target's length, as it always does where the layout shows it.
    """
    seen = _seen(task, layout, scheme, examples, length_known or layout.reveals_target_length)
    found = set()
    if any(_gain_of_tokens(seen, step) > MARGIN for step in range(seen.position.shape[1])):
        found.add("answer")
    if seen.causal and _gain_of_length(seen) > MARGIN:
        found.add("length")
    return found


def _gain_of_tokens(seen, step):
    """Return by how much positions improve the prediction of a target token."""
    if step >= seen.target.shape[1]:
        return 0.0
    labels = np.where(seen.asked[:, step], seen.target[:, step], -1)
    said = _numbered(seen.target[:, :step]) if seen.causal else np.zeros(len(labels), int)
    last = seen.target[:, step - 1] if seen.causal and step else np.zeros(len(labels), int)
    known = [last, _numbered(seen.shown, last), _numbered(seen.shown, said)]
    chance = [_counted(labels, known), _at_best_place(labels, seen)]
    informed = [_counted(labels, [*known, _numbered(known[-1], seen.position[:, step])])]
    informed.append(_counted(labels, [*known, _numbered(known[-1], seen.visible[:, step])]))
    informed += [
        _score(labels, _symbols(seen.prompt, seen.points_to[:, step], shift)) for shift in SHIFTS
    ]
    if seen.causal and step:
        where = (seen.prompt == last[:, None]).argmax(axis=1)
        chance += [_score(labels, _symbols(seen.prompt, where, shift)) for shift in SHIFTS]
    return max(informed) - max(chance)


def _gain_of_length(seen):
    """Return the gain from the first target token's position in predicting the target's length."""
    labels = np.where(seen.lengths > 0, seen.lengths, -1)
    known = [seen.shown, _numbered(seen.shown, seen.target[:, 0])]
    informed = [
        _counted(labels, [*known, _numbered(known[-1], each[:, 1])])
        for each in (seen.position, seen.visible)
    ]
    return max(informed) - _counted(labels, known)


def _counted(labels, keys):
    """Return the accuracy of the most frequent label of each key.

    Keys are ordered from coarse to fine. A finer key counts where the fitted half has it.
    """
    fit, _ = _halves(labels)
    if fit is None:
        return 0.0
    guesses = np.full(len(labels), -1)
    for key in keys:
        _, key = np.unique(key, return_inverse=True)
        counts = np.zeros((key.max() + 1, labels.max() + 1), int)
        np.add.at(counts, (key[fit], labels[fit]), 1)
        guesses = np.where(counts.sum(axis=1)[key] > 0, counts.argmax(axis=1)[key], guesses)
    return _score(labels, guesses)


def _at_best_place(labels, seen):
    """Return the accuracy of the symbol at the best fixed place, for each set of shown lengths."""
    fit, _ = _halves(labels)
    if fit is None:
        return 0.0
    right = seen.prompt == labels[:, None]
    counts = np.zeros((seen.shown.max() + 1, right.shape[1]), int)
    np.add.at(counts, seen.shown[fit], right[fit])
    best = counts.argmax(axis=1)[seen.shown]
    return _score(labels, np.take_along_axis(seen.prompt, best[:, None], axis=1)[:, 0])


def _score(labels, guesses):
    """Return the accuracy on the half that was not fitted."""
    _, test = _halves(labels)
    return 0.0 if test is None else float((labels == guesses)[test].mean())


def _halves(labels):
    there = np.flatnonzero(labels >= 0)
    if len(there) < 2 * FEWEST:
        return None, None
    return there[: len(there) // 2], there[len(there) // 2 :]


def _symbols(prompt, places, shift):
    places = np.where(places >= 0, places + shift, -1)
    inside = (places >= 0) & (places < prompt.shape[1])
    picked = np.take_along_axis(prompt, np.where(inside, places, 0)[:, None], axis=1)[:, 0]
    return np.where(inside, picked, -2)


def _numbered(*columns):
    """Return a number for each different row of the columns."""
    rows = np.concatenate([np.reshape(c, (len(c), -1)) for c in columns], axis=1)
    if not rows.size:
        return np.zeros(len(rows), int)
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _seen(task, layout, scheme, examples, length_known):
    batch = jax.jit(jax.vmap(lambda example: layout(task, example)))(examples)
    positions = [_positions(scheme, batch.mask, batch.structure)]
    apart = batch.source_tokens is not None
    if apart:
        positions.append(_positions(scheme, batch.source_mask, batch.source_structure))
    examples, batch = jax.tree.map(np.asarray, (examples, batch))
    prompt = np.where(examples.prompt_mask, examples.prompt, -1)
    prompt = np.pad(prompt, ((0, 0), (0, not prompt.shape[1])), constant_values=-1)
    target = np.where(examples.target_mask, examples.target, -1)
    sizes, starts = examples.prompt_mask.sum(axis=1), 0 if apart else int(layout.causal)
    codes, in_prompt = _coded(positions, starts, prompt.shape[1])
    there = np.arange(prompt.shape[1])[None] < sizes[:, None]
    shown = [sizes, (target >= 0).sum(axis=1) * length_known]
    if scheme.follows is not None:
        structure = (batch.source_structure if apart else batch.structure)[scheme.follows]
        structure = structure[:, starts : starts + prompt.shape[1]]
        shown.append(
            np.where(
                there[..., None],
                structure.reshape(*structure.shape[:2], -1)[:, : there.shape[1]],
                -1,
            )
        )
    first = (
        np.zeros_like(sizes) if apart else sizes + layout.causal
    )  # the place that predicts the first target token
    steps = np.arange(max(2, min(target.shape[1], STEPS)))
    places = np.minimum(first[:, None] + steps, codes.shape[1] - 1)
    read = np.arange(codes.shape[1])[None, None] <= places[..., None]
    visible = np.where(read | (not layout.causal), codes[:, None], -1)
    source = in_prompt if apart else np.zeros((len(sizes), 0), int)
    last = np.take_along_axis(codes, places, axis=1)
    same = there[:, None] & (in_prompt[:, None] == last[..., None])
    return Seen(
        _numbered(*shown),
        prompt,
        target,
        np.asarray(examples.asked),
        np.where(same.any(axis=-1), same.argmax(axis=-1), -1),
        last,
        np.stack([_numbered(visible[:, step], source) for step in steps], axis=1),
        layout.causal,
    )


def _positions(scheme, mask, structure):
    """[B, L, A] in evaluation."""
    keys = jax.random.split(jax.random.key(3), len(mask))
    positions = np.asarray(scheme(keys, mask, structure=structure, train=False))[0]
    positions = np.broadcast_to(positions, (len(mask), *positions.shape[1:]))
    return positions.reshape(*mask.shape, -1)


def _coded(positions, starts, size):
    """A number for each different position of the answering stream and of the prompt's symbols."""
    flat = np.concatenate([p.reshape(-1, p.shape[-1]) for p in positions])
    codes = np.unique(flat, axis=0, return_inverse=True)[1].ravel()
    parts = np.split(codes, np.cumsum([p[..., 0].size for p in positions])[:-1])
    streams = [part.reshape(p.shape[:2]) for part, p in zip(parts, positions, strict=True)]
    in_prompt = streams[-1][:, starts : starts + size]
    return streams[0], np.pad(
        in_prompt, ((0, 0), (0, size - in_prompt.shape[1])), constant_values=-1
    )
