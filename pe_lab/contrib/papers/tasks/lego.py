"""Find the sign of a variable by following a chain of assignments.

    a = + 1 , b = - a , c = + b ? c -> -
    c = + b , a = + 1 , b = - a ? c -> -  # permuted=True
    d = - 1 , c = - d ? c -> +  # query="last"

Every variable except the first one is plus or minus the previous one, each equally often, so a
constant guess is right in half of the examples at every length. The letters are random. The answer
requires following the chain, in which each clause needs the previous one.

Papers: Zhang et al. 2022 (https://arxiv.org/abs/2206.04301): "LEGO", the origin of the task.
Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "LEGO", in training up to 8 variables, in
the test up to 16; with variables counted from 0, the query is uniform from half of them on, rounded
up.

Differs: prompts of Kazemnejad et al. are English sentences (`If a = +1, b = - a.`, then a question
about b with the answer `The answer is -1.`); here constant words are omitted, a sign is a symbol of
its own, and the answer is the sign of the value.
"""

import string
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._strings import random_order
from pe_lab.tasks.base import Example, Task, Vocabulary, one_symbol_example

_SIGNS = ("+", "-", "1", "=", ",", "?")
_ONE, _EQUALS, _COMMA, _QUERY = range(2, 6)


@dataclass(frozen=True)
class Lego(Task):
    """The target is one symbol: plus if the queried variable is 1, minus if it is -1.

    Args:
      num_names: the number of variable names, and the longest chain.
      permuted: the clauses are in random order; else in the order of the chain.
      query: "late": a variable of the second half, as in Kazemnejad et al.; "last": the end of the
        chain.
    """

    num_names: int = 26
    permuted: bool = False
    query: Literal["late", "last"] = "late"

    length_name = "variables"

    def __post_init__(self):
        if self.num_names < 2:
            raise ValueError(f"Lego needs two names or more, got num_names={self.num_names}.")

    @property
    def vocabulary(self) -> Vocabulary:
        letters = string.ascii_lowercase
        names = list(letters[: self.num_names])
        for number in range(len(letters), self.num_names):
            names.append(f"v{number}")
        return Vocabulary.of(*_SIGNS, *names)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.of("+", "-")

    @property
    def min_length(self) -> int:
        return 2

    @property
    def max_length(self) -> int | None:
        return self.num_names

    def prompt_bound(self, length: int) -> int:
        return 5 * length + 1

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        names_key, signs_key, order_key, query_key = jax.random.split(key, 4)
        index = jnp.arange(bound)
        name_order = random_order(names_key, self.num_names)
        name = len(_SIGNS) + name_order[:bound]
        sign = jax.random.randint(signs_key, (bound,), 0, 2)
        previous_name = jnp.roll(name, 1)
        source = jnp.where(index == 0, _ONE, previous_name)
        sort_key = index
        if self.permuted:
            sort_key = jax.random.uniform(order_key, (bound,))
        # Clauses that the example does not have come last: sort keys are below the bound.
        sort_key = jnp.where(index < length, sort_key, bound)
        order = sort_key.argsort()
        query = length - 1
        if self.query == "late":
            first_late = (length + 1) // 2
            query = jax.random.randint(query_key, (), first_late, length)

        equals = jnp.full(bound, _EQUALS)
        end = jnp.where(index == length - 1, _QUERY, _COMMA)
        columns = [
            name[order],
            equals,
            sign[order],
            source[order],
            end,
        ]
        clauses = jnp.stack(columns, axis=1).reshape(-1)
        clauses_and_room = jnp.append(clauses, 0)  # for the query of the longest chain
        prompt_index = jnp.arange(5 * bound + 1)
        query_index = 5 * length
        prompt = jnp.where(prompt_index == query_index, name[query], clauses_and_room)
        mask = prompt_index <= query_index
        # A minus is sign 1, so that the number of minuses decides.
        signs_to_query = jnp.where(index <= query, sign, 0)
        num_minuses = signs_to_query.sum()
        return one_symbol_example(prompt, mask, num_minuses % 2)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return (len(prompt) - 1) // 5
