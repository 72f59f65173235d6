"""Find the path from the center of a star to the end of one of its arms.

    - 7 5 - 2 8 - 7 2 : 7 8 -> 7 2 8  # num_arms=2
    - 1 3 - 3 6 - 3 0 - 4 1 - 6 9 - 0 2 : 3 4 -> 3 1 4  # num_arms=3

The prompt is the edges of a star in random order, half of them turned round, then its center and
the last node of one arm. The first step from the center is hard, because all arms look the same
there: it requires following the arm back from its end. Every later step is one lookup. A model that
guesses the arm is right for 1 / num_arms of the paths.

The order of the edges carries no information, so the task needs content and no positions, except
for the two nodes of an edge and of the question. It is a control for every encoding.

Papers: Bachmann and Nagarajan 2024 (https://arxiv.org/abs/2403.06963), the origin of the task.
Checked in another implementation (lucidrains/x-transformers at 80b6acd, train_path_star.py), which
is this task token by token, with 100 nodes, 7 arms and paths of 7 nodes (3 and 3 in its training).

Differs: a token for the start of the path is the separator of the layout here, and one symbol
replaces their tokens for the center and the end. Their loss is on all tokens; that of Bachmann and
Nagarajan (gregorbachmann/Next-Token-Failures at b925a1e) is on the path, as here. Bachmann and
Nagarajan do not turn edges round.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from pe_lab.tasks._draws import distinct
from pe_lab.tasks.base import (
    Attribute,
    Example,
    Scalar,
    Task,
    Vocabulary,
    make_example,
    numerals,
)


def _on_path(task: "PathStar", example: Example, *, is_turned: bool) -> Bool[Array, "e t"]:
    """Return whether edge e of the prompt is the one after node t of the path."""
    prompt, target = jnp.asarray(example.prompt), jnp.asarray(example.target)
    edge = jnp.arange(len(prompt) // 3)
    # The 3 tokens of the question follow the edges.
    in_prompt = 3 * edge < jnp.asarray(example.prompt_mask).sum() - 3
    nodes = (prompt[3 * edge + 1], prompt[3 * edge + 2])
    start, end = nodes[::-1] if is_turned else nodes
    is_step = jnp.asarray(example.target_mask)[None, 1:] & in_prompt[:, None]
    return (start[:, None] == target[None, :-1]) & (end[:, None] == target[None, 1:]) & is_step


def _num_turned(task: "PathStar", example: Example) -> Scalar:
    return _on_path(task, example, is_turned=True).sum()


def _first_edge(task: "PathStar", example: Example) -> Scalar:
    """Return the index of the edge that decides the arm."""
    turned = _on_path(task, example, is_turned=True)
    not_turned = _on_path(task, example, is_turned=False)
    return (turned | not_turned)[:, 0].argmax()


@dataclass(frozen=True)
class PathStar(Task):
    """The target is the nodes of the path, from the center to the end of one arm.

    The length is the number of nodes of a path; all arms are equally long.

    Args:
      num_arms: the number of arms of the star.
      num_nodes: the number of nodes to draw from.
      turned: every edge is turned round with probability 1/2; else edges lead away from the center.
    """

    num_arms: int = 3
    num_nodes: int = 100
    turned: bool = True

    length_name = "nodes of a path"
    attributes: ClassVar = {
        "first_edge": Attribute(
            label="index of the first edge of the path, from 0",
            value=_first_edge,
            largest=lambda task, n: task.num_arms * (n - 1) - 1,
        ),
        "num_turned": Attribute(
            label="turned edges of the path",
            value=_num_turned,
            largest=lambda task, n: n - 1,
        ),
    }

    def __post_init__(self):
        if self.num_arms < 2 or self.num_nodes < self.num_arms + 1:
            raise ValueError(
                f"PathStar needs two arms or more and a node more than arms, got "
                f"num_arms={self.num_arms} and num_nodes={self.num_nodes}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*numerals(self.num_nodes), "-", ":")

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_nodes)

    @property
    def min_length(self) -> int:
        return 2

    @property
    def max_length(self) -> int | None:
        return 1 + (self.num_nodes - 1) // self.num_arms

    def prompt_bound(self, length: int) -> int:
        num_edges = self.num_arms * (length - 1)
        return 3 * num_edges + 3  # a colon, the center and the end

    def sample(self, key, length, bound, data=None) -> Example:
        node_key, order_key, turn_key, arm_key = jax.random.split(key, 4)
        num_edges = self.num_arms * (bound - 1)
        nodes = distinct(node_key, 1 + num_edges, self.num_nodes)
        center, others = nodes[0], nodes[1:]
        # Step s of arm a ends in node s * num_arms + a, so a wider bound adds nodes at the end.
        edge = jnp.arange(num_edges)
        previous_node = jnp.roll(others, self.num_arms)
        start = jnp.where(edge < self.num_arms, center, previous_node)
        is_turned = jax.random.bernoulli(turn_key, 0.5, (num_edges,)) & self.turned
        first_node = jnp.where(is_turned, others, start)
        second_node = jnp.where(is_turned, start, others)

        is_present = edge < self.num_arms * (length - 1)
        uniform = jax.random.uniform(order_key, (num_edges,))
        # Uniform numbers are below 1, so that absent edges come last.
        order = jnp.argsort(jnp.where(is_present, uniform, 2.0))
        marker = jnp.full(num_edges, self.num_nodes)
        edges = jnp.stack([marker, first_node[order], second_node[order]], axis=1)

        arm = jax.random.randint(arm_key, (), 0, self.num_arms)
        step = jnp.arange(bound - 1)
        path = jnp.append(center, others[step * self.num_arms + arm])
        target_mask = jnp.arange(bound) < length
        index = jnp.arange(self.prompt_bound(bound))
        question = 3 * self.num_arms * (length - 1)
        # The prompt's bound has 3 tokens more than the edges, for the question.
        edges_and_room = jnp.append(edges.reshape(-1), jnp.zeros(3, edges.dtype))
        prompt = jnp.select(
            [index == question, index == question + 1, index == question + 2],
            [self.num_nodes + 1, center, path[length - 1]],
            edges_and_room,
        )
        mask = index < question + 3
        return make_example(prompt, mask, path, target_mask)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(target)
