"""The sign of a variable at the end of a chain of assignments.

    a = + 1 , b = - a , c = + b ? c -> -
    c = + b , a = + 1 , b = - a ? c -> -  # permuted=True
    d = - 1 , c = - d ? c -> +  # query="last"

Every variable but the first is plus or minus the one before it, each as often, so chance is a half
at every length; which letters they are is random. To answer is to follow the chain, whose clauses
each need the one before.

Papers: Zhang et al. 2022 (https://arxiv.org/abs/2206.04301): "LEGO", where the task comes from.
Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "LEGO", in training up to 8 variables, in
the test up to 16; of variables counted from 0 one from half of them on, rounded up, is asked for,
each as often.

Differs: prompts of Kazemnejad et al. are English sentences (`If a = +1, b = - a. Then, what is the
value of b?`, answered by `The answer is -1.`); here the words that never change are left out, a
sign is a symbol of its own, and the answer is the sign of the value.
"""

import string
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary, random_string

_SIGNS = ("+", "-", "1", "=", ",", "?")
_ONE, _EQUALS, _COMMA, _QUERY = range(2, 6)


@dataclass(frozen=True)
class Lego(Task):
    """The target is one symbol: plus where the queried variable is 1, minus where it is -1.

    Args:
      num_names: of which variables take theirs, so never more variables than this.
      permuted: clauses stand in any order, each as often; else a variable's follows that of the one
        before.
      query: "late": one of the later half, as Kazemnejad et al.; "last": the end of the chain.
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
        names = (letters[i] if i < len(letters) else f"v{i}" for i in range(self.num_names))
        return Vocabulary(len(_SIGNS) + self.num_names, (*_SIGNS, *names))

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(2, _SIGNS[:2])

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
        of_names, of_signs, of_order, of_query = jax.random.split(key, 4)
        place = jnp.arange(bound)
        name = len(_SIGNS) + random_string(of_names, self.num_names, bound, distinct=True)
        sign = jax.random.randint(of_signs, (bound,), 0, 2)
        source = jnp.where(place == 0, _ONE, jnp.roll(name, 1))
        shown = jax.random.uniform(of_order, (bound,)) if self.permuted else place
        order = jnp.where(
            place < length, shown, bound
        ).argsort()  # of the clauses that there are; uniforms are below the bound
        query = (
            length - 1
            if self.query == "last"
            else jax.random.randint(of_query, (), (length + 1) // 2, length)
        )
        behind = jnp.where(place == length - 1, _QUERY, _COMMA)
        clauses = jnp.stack(
            [name[order], jnp.full(bound, _EQUALS), sign[order], source[order], behind], axis=1
        ).reshape(-1)
        step = jnp.arange(5 * bound + 1)
        prompt = jnp.select(
            [step < 5 * length, step == 5 * length], [jnp.append(clauses, 0), name[query]], 0
        )
        value, one = jnp.where(place <= query, sign, 0).sum(keepdims=True) % 2, jnp.ones(1, bool)
        return Example(prompt, step <= 5 * length, value, one, one, jnp.full(1, -1))

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return (len(prompt) - 1) // 5

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        clauses, query = self.vocabulary.text(prompt.tolist()).split(" ? ")
        assigned = {
            (words := clause.split())[0]: (words[2], words[3]) for clause in clauses.split(" , ")
        }
        value = 1
        while query != "1":
            sign, query = assigned[query]
            value = -value if sign == "-" else value
        return np.array([self.target_vocabulary.names.index("+" if value == 1 else "-")])
