"""Faster forms of single hooks of encodings, registered by the encoding's class.

A form takes the encoding, the platform's `Diagonals` and the arguments of the hook that it
replaces. A subclass of an encoding, which may change its equation, gets the reference form.
"""

import functools
from collections.abc import Callable, Mapping

from pe_lab.encodings.base import AttentionEncoding, OffsetBias
from pe_lab.encodings.cope import CoPE
from pe_lab.encodings.dape import DAPE
from pe_lab.encodings.deberta import DeBERTa
from pe_lab.encodings.fire import FIRE
from pe_lab.encodings.music_transformer import MusicTransformer
from pe_lab.encodings.relative_logits import RelativeLogits
from pe_lab.encodings.sandwich import Sandwich
from pe_lab.encodings.shaw import Shaw
from pe_lab.encodings.transformer_xl import TransformerXL
from pe_lab.kernels import diagonals
from pe_lab.kernels.diagonals import Diagonals
from pe_lab.kernels.encodings import (
    biases,
    cope,
    dape,
    deberta,
    relative_vectors,
    shaw,
    transformer_xl,
)

FORMS: Mapping[type, Mapping[str, Callable]] = {
    CoPE: {"transform_logits": cope.transform_logits},
    DAPE: {"transform_logits": dape.transform_logits},
    DeBERTa: {"content_bias": deberta.content_bias},
    FIRE: {"bias": biases.fire},
    MusicTransformer: {"content_bias": relative_vectors.music_transformer},
    RelativeLogits: {"content_bias": relative_vectors.relative_logits},
    Sandwich: {"bias": biases.sandwich},
    Shaw: {"content_bias": shaw.content_bias, "combine": shaw.combine},
    TransformerXL: {"content_bias": transformer_xl.content_bias},
}


def hook(platform: Diagonals, encoding: AttentionEncoding, name: str) -> Callable:
    """The fast form of a hook where there is one, else the encoding's own."""
    forms = FORMS.get(type(encoding), {})
    form = forms.get(name)
    is_of_offset = isinstance(encoding, OffsetBias) and type(encoding).bias is OffsetBias.bias
    if form is None and name == "bias" and is_of_offset:
        form = biases.offset_bias
    if form is None:
        return getattr(encoding, name)
    return functools.partial(form, encoding, platform)


cpu_hook = functools.partial(hook, diagonals.CPU)
accelerator_hook = functools.partial(hook, diagonals.ACCELERATOR)
