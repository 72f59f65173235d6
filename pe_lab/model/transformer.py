"""The transformer: an encoder, a decoder, or both, over token ids.

Vaswani et al. 2017, "Attention Is All You Need", https://arxiv.org/abs/1706.03762, with today's
usual choices as fields of `Model`. A decoder is one causal stack, an encoder one
bidirectional stack. An encoder–decoder has one of each, and the decoder's blocks attend to the
encoder's output.

The forward pass has two halves. `position_terms` computes all that depends on positions alone.
`__call__` reads tokens:

    streams = {"decoder": stream}
    terms = model.position_terms(streams)
    logits = model(streams, terms=terms)
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int, Key

from pe_lab.encodings.base import AttentionEncoding, InputEncoding
from pe_lab.kernels import REFERENCE, Kernels
from pe_lab.model.block import fold_keys
from pe_lab.model.keys import Keys
from pe_lab.model.stack import Stack
from pe_lab.model.streams import Streams, answering_stack
from pe_lab.model.terms import Biases, StackTerms
from pe_lab.runs.settings.settings import Model

_OUTPUT = 2  # stream of the initialization key; stacks have 0, 1 and 3


Terms = Mapping[str, StackTerms]  # the position terms of each stack, by its name


class Transformer(nnx.Module):
    """A decoder, an encoder or an encoder–decoder, with the encodings of its config.

    Args:
      model: sizes, choices and encodings.
      vocabularies: stack -> V, for "decoder", "encoder" or both; its keys are the architecture.
      kernels: implementations of parts of the forward pass.
      key: of the initialization. One key gives one backbone, whatever the encodings.

    Raises:
      UserError: an encoding does not fit the sizes or the architecture.
    """

    def __init__(
        self,
        model: Model,
        vocabularies: Mapping[str, int],
        *,
        kernels: Kernels = REFERENCE,
        key: Key[Array, ""],
    ):
        def stack(name: str, cross: bool = False) -> Stack | None:
            if name not in vocabularies:
                return None
            return Stack(model, name, vocabularies[name], cross, kernels=kernels, key=key)

        self.encoder = stack("encoder")
        self.decoder = stack("decoder", cross="encoder" in vocabularies)
        answering = answering_stack(vocabularies)
        output_key = jax.random.fold_in(key, _OUTPUT)
        output = nnx.Linear(
            model.width,
            vocabularies[answering],
            use_bias=False,
            dtype=jnp.dtype(model.compute_dtype),
            dot_general=kernels.dot_general,
            preferred_element_type=jnp.float32,
            rngs=nnx.Rngs(params=output_key),
        )
        self.output = None if model.tied_output else output

    @property
    def answering(self) -> Stack:
        """The stack whose outputs become logits."""
        return self.stacks[self.answering_name]

    @property
    def answering_name(self) -> str:
        return answering_stack(self.stacks)

    @property
    def stacks(self) -> dict[str, Stack]:
        """The stacks by name, an encoder before a decoder."""
        stacks = {"encoder": self.encoder, "decoder": self.decoder}
        return {name: stack for name, stack in stacks.items() if stack is not None}

    @property
    def num_schemes(self) -> int:
        """The number of position schemes that a stream has: the study's, then encodings' own."""
        schemes = [site.scheme for stack in self.stacks.values() for site in stack.all_sites]
        return 1 + max(schemes, default=0)

    @property
    def input_encodings(self) -> list[InputEncoding]:
        stacks = self.stacks.values()
        return [e for stack in stacks for e in stack.input_encodings]

    @property
    def attention_encodings(self) -> list[AttentionEncoding]:
        stacks = self.stacks.values()
        return [e for stack in stacks for e in stack.attention_encodings]

    def position_terms(
        self, streams: Streams, *, biases: Mapping[str, Biases] | None = None
    ) -> Terms:
        """The first half of the forward pass: all that depends on positions alone.

        Args:
          streams: the input of each stack.
          biases: result of `shared_biases`, for at least as many tokens.
        """
        biases = {} if biases is None else biases
        terms: dict[str, StackTerms] = {}
        memory = None
        for name, stack in self.stacks.items():
            terms[name] = stack.position_terms(streams[name], memory, biases.get(name))
            memory = terms[name].view  # a decoder after an encoder attends to it
        return terms

    def shared_biases(self, streams: Streams) -> tuple[dict[str, Biases], dict[str, Biases]]:
        """Biases that all examples of a batch share: with parameters, and without."""
        learned: dict[str, Biases] = {}
        fixed: dict[str, Biases] = {}
        memory = None
        for name, stack in self.stacks.items():
            view = stack.view(streams[name])
            learned[name], fixed[name] = stack.shared_biases(view, memory)
            memory = view
        return learned, fixed

    def __call__(
        self,
        streams: Streams,
        *,
        terms: Terms | None = None,
        dropout_keys: Key[Array, "b"] | None = None,
        num_loops: Int[Array, ""] | None = None,
        remat: bool = False,
    ) -> Float[Array, "b l v"]:
        """Logits in float32: of the next token (decoder), of the same one (encoder).

        Args:
          streams: the input of each stack.
          terms: result of `position_terms` for these streams; None: computed here.
          dropout_keys: one for each example; None turns dropout off.
          num_loops: loops over the layers, at most the model's; None: all.
          remat: recompute inner values in the backward pass instead of keeping them.
        """
        if terms is None:
            terms = self.position_terms(streams)
        memory = None
        if len(self.stacks) == 2:
            memory_keys = fold_keys(dropout_keys, 1)
            memory = self._memory(streams, terms, memory_keys, num_loops, remat)
        stack, name = self.answering, self.answering_name
        before = stack.before(terms[name].view)
        x = stack.embed(streams[name].tokens, terms[name].embeddings, before)
        keys = fold_keys(dropout_keys, 0)  # the encoder has 1
        x, _ = stack(
            x,
            terms[name],
            memory,
            dropout_keys=keys,
            num_loops=num_loops,
            remat=remat,
        )
        return self.logits(x)

    def _memory(
        self,
        streams: Streams,
        terms: Terms,
        dropout_keys: Key[Array, "b"] | None,
        num_loops: Int[Array, ""] | None,
        remat: bool,
    ) -> tuple[Keys, ...]:
        """The encoder's output as keys of the decoder's cross-attention."""
        encoder = self.stacks["encoder"]
        x = encoder.embed(streams["encoder"].tokens, terms["encoder"].embeddings)
        x, _ = encoder(
            x,
            terms["encoder"],
            dropout_keys=dropout_keys,
            num_loops=num_loops,
            remat=remat,
        )
        valid = terms["encoder"].view.valid
        return self.answering.memory(x, valid, terms["decoder"].cross)

    def logits(self, x: Float[Array, "b l d"]) -> Float[Array, "b l v"]:
        if self.output is not None:
            return self.output(x)
        # Tied: the rows of the embedding are the columns of the output's matrix.
        # In the type of x, like the matrix of an output that is not tied.
        table = self.answering.embedding.embedding[...].astype(x.dtype)
        return jnp.einsum("bld,vd->blv", x, table, preferred_element_type=jnp.float32)
