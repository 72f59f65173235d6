"""Predictions of a few examples, made by hand from masks."""

import numpy as np

from pe_lab.metrics.base import Predictions


def predictions(
    target, right, answer=None, is_end=None, losses=None, counted=None, attributes=None
):
    """Predictions with these masks, as lists of lists of 0 and 1."""
    target, right = np.asarray(target, bool), np.asarray(right, bool)
    answer = target if answer is None else np.asarray(answer, bool)
    is_end = np.zeros_like(target) if is_end is None else np.asarray(is_end, bool)
    counted = np.ones(len(target), bool) if counted is None else np.asarray(counted, bool)
    losses = np.where(right, 0.25, 2.0) if losses is None else np.asarray(losses)
    labels = np.zeros(target.shape, int)
    logits = np.zeros((*target.shape, 3), np.float32)
    logits[..., 0] = np.where(right, 1, -1)
    return Predictions(
        logits=logits,
        labels=labels,
        target=target,
        answer=answer,
        is_end=is_end,
        index=np.cumsum(target, axis=1) - 1,
        right=right,
        losses=np.where(target & counted[:, None], losses, 0),
        counted=counted,
        num_tokens=target.shape[1],
        attributes=None if attributes is None else np.asarray(attributes),
        largest_attribute=0 if attributes is None else int(np.max(attributes)),
    )
