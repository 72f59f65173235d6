"""Follow a cycle of words for a number of steps.

    w2 w0 w1 w2 w0 w1 -> [>1 w0] w1 [>2 w1] w0 [>4 w2] w0
    w1. w0 w1. w0 w1. w1. -> [>1 w1.] w0 w1. [>2 w0 w1.] w0 w1.  # longest_word=2

The prompt is the edges of a cycle through all words, in random order: each edge is a word and its
successor. A question is a number of hops k and a word, and its answer is the k-th successor of the
word, counted around the cycle. One lookup finds the first successor, and each hop needs another
one.

Paper: Allen-Zhu 2025 (Physics of Language Models 4.1, https://arxiv.org/abs/2512.17351): "Depo".
Checked in the authors' code (facebookresearch/PhysicsLM4 at 7580696,
data-synthetic-pretrain/Depo/depo.py). Depo1 has words of 1 to 2 tokens over 50 symbols, cycles of
up to 225, 300 or 375 words and up to 8 hops; Depo2 has words of 5 to 7 tokens over 3 symbols,
cycles of up to 75, 100 or 125 words and up to 16 hops. Both have up to 10 questions.

Differs: the number of words has the distribution of the training lengths; theirs is n with weight
1 / (n + sqrt(N)) from 3 to the longest cycle N. A token of theirs separates the word of a question
from the answer; here the end of the word does, as the last token of a word is of an alphabet of its
own in both. Their number of hops in a test is a power of two.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from pe_lab.tasks._packing import packed, packing_order
from pe_lab.tasks._strings import check_num_symbols
from pe_lab.tasks.base import (
    Attribute,
    Example,
    Ints,
    RandomKey,
    Scalar,
    Task,
    Vocabulary,
    make_example,
)

_MOST_WORDS = 100_000  # a draw gives every possible word a random number


def _most_hops(task: "MultiHop", example: Example) -> Scalar:
    hops = jnp.asarray(example.target) - task._first_hop + 1
    return jnp.maximum(hops, 0).max()


@dataclass(frozen=True)
class MultiHop(Task):
    """The target is questions, each a number of hops and a word, which the model answers.

    The questions have different words. The number of hops is uniform.

    Args:
      word_symbols: the size of the alphabet of the words. Their last token has another one of the
        same size.
      shortest_word: the fewest tokens of a word. The number of tokens is uniform.
      longest_word: the most tokens of a word.
      max_hops: the most hops of a question.
      max_questions: the most questions of an example; a shorter cycle has one for each word.
    """

    word_symbols: int = 64
    shortest_word: int = 1
    longest_word: int = 1
    max_hops: int = 4
    max_questions: int = 10

    length_name = "words"
    attributes: ClassVar = {
        "most_hops": Attribute(
            label="most hops of a question",
            value=_most_hops,
            largest=lambda task, n: task.max_hops,
        )
    }

    def __post_init__(self):
        check_num_symbols(self, self.word_symbols)
        if not 1 <= self.shortest_word <= self.longest_word:
            raise ValueError(
                f"MultiHop needs 1 <= shortest_word <= longest_word, got "
                f"{self.shortest_word} and {self.longest_word}."
            )
        if self.max_hops < 1 or self.max_questions < 1:
            raise ValueError(
                f"MultiHop needs a hop and a question or more, got max_hops={self.max_hops} and "
                f"max_questions={self.max_questions}."
            )
        if self.max_length > _MOST_WORDS:
            raise ValueError(
                f"MultiHop's alphabet makes {self.max_length:,} words, more than {_MOST_WORDS:,}."
            )

    @property
    def _first_hop(self) -> int:
        """The symbol of one hop. The ends of words come first, then their other tokens."""
        return self.word_symbols * (1 if self.longest_word == 1 else 2)

    @property
    def vocabulary(self) -> Vocabulary:
        words = [f"w{number}" for number in range(self.word_symbols)]
        hops = [f">{number}" for number in range(1, self.max_hops + 1)]
        if self.longest_word == 1:
            return Vocabulary.of(*words, *hops)
        ends = [f"{word}." for word in words]
        return Vocabulary.of(*ends, *words, *hops)

    @property
    def min_length(self) -> int:
        return 2

    @property
    def max_length(self) -> int:
        """The number of words that the alphabet makes."""
        sizes = range(self.shortest_word, self.longest_word + 1)
        return sum(self.word_symbols**size for size in sizes)

    @property
    def gives_tokens(self) -> bool:
        return True

    def prompt_bound(self, length: int) -> int:
        return 2 * self.longest_word * length

    def target_bound(self, length: int) -> int:
        return min(length, self.max_questions) * (1 + 2 * self.longest_word)

    def sample(self, key, length, bound, data=None) -> Example:
        word_key, edge_key, question_key, hops_key = jax.random.split(key, 4)
        cycle, is_token = self._draw_cycle(word_key, length, bound)
        edge = _random_order(edge_key, length, bound)
        successor = (edge + 1) % length
        in_edge = (jnp.arange(bound) < length)[:, None]
        edges = jnp.concatenate([cycle[edge], cycle[successor]], axis=1)
        in_prompt = jnp.concatenate([is_token[edge], is_token[successor]], axis=1) & in_edge
        prompt, prompt_mask = packed(edges, in_prompt)

        most = min(bound, self.max_questions)
        asked = _random_order(question_key, length, bound)[:most]
        hops = jax.random.randint(hops_key, (most,), 1, self.max_hops + 1)
        answer = (asked + hops) % length
        is_question = (jnp.arange(most) < length)[:, None]  # a short cycle has fewer questions
        hop_symbol = (self._first_hop + hops - 1)[:, None]
        questions = jnp.concatenate([hop_symbol, cycle[asked], cycle[answer]], axis=1)
        is_hop = jnp.ones_like(is_question)
        used = jnp.concatenate([is_hop, is_token[asked], is_token[answer]], axis=1) & is_question
        target, target_mask = packed(questions, used)
        # The columns are the hops, the word and the answer.
        in_answer = jnp.arange(questions.shape[1])[None] > self.longest_word
        in_answer = jnp.broadcast_to(in_answer, questions.shape)
        is_answer = in_answer.reshape(-1)[packing_order(used)] & target_mask
        return make_example(
            prompt,
            prompt_mask,
            target,
            target_mask,
            answer_mask=is_answer,
            asked_mask=is_answer,
        )

    def _draw_cycle(
        self, key: RandomKey, length: Scalar, bound: int
    ) -> tuple[Int[Array, "n w"], Bool[Array, "n w"]]:
        """Draw different words in the order of the cycle, and the mask of their tokens.

        Drawing words until enough differ is drawing without replacement, with the probability of a
        word as its weight. The largest values of log weight + Gumbel noise are such draws.
        """
        noise_key, order_key = jax.random.split(key)
        words, sizes = self._words()
        log_weight = -jnp.log(float(self.word_symbols)) * jnp.asarray(sizes)
        score = log_weight + jax.random.gumbel(noise_key, log_weight.shape)
        _, drawn = jax.lax.top_k(score, bound)
        # Words of few tokens are drawn early, so a random order follows.
        drawn = drawn[_random_order(order_key, length, bound)]
        cycle = jnp.asarray(words)[drawn]
        size = jnp.asarray(sizes)[drawn]
        is_token = jnp.arange(self.longest_word)[None] < size[:, None]
        return cycle, is_token

    def _words(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens of all words, [N, longest_word], and their numbers of tokens, [N]."""
        words, sizes = [], []
        base = self.word_symbols
        for size in range(self.shortest_word, self.longest_word + 1):
            number = np.arange(base**size)
            powers = base ** np.arange(size)
            digits = number[:, None] // powers % base
            inner = digits + base
            last = digits[:, -1:]
            padding = np.zeros((len(number), self.longest_word - size), np.int64)
            words.append(np.concatenate([inner[:, :-1], last, padding], axis=1))
            sizes.append(np.full(len(number), size))
        return np.concatenate(words).astype(np.int32), np.concatenate(sizes).astype(np.int32)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        is_end = prompt < self.word_symbols
        return int(is_end.sum()) // 2


def _random_order(key: RandomKey, length: Scalar, bound: int) -> Ints:
    """Draw an order of 0..length-1; the entries after it are arbitrary."""
    uniform = jax.random.uniform(key, (bound,))
    # Uniform numbers are below 1, so that entries outside of the length come last.
    return jnp.argsort(jnp.where(jnp.arange(bound) < length, uniform, 2.0))
