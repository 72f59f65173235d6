"""The same training in x-transformers on torch's CPU build, for comparison.

Both libraries are optional and imported only here. Decoder, sizes, activation, batch and lengths
are the same as in a run. Tokens are random, because the time of a step does not depend on them.
A batch is padded to its longest example. The optimizer is AdamW, with gradients clipped by norm.
Its four settings are timed, float32 or bfloat16 autocast, each with and without torch's fused
attention (`attn_flash`), because which one is fastest depends on the number of tokens.
"""

import os
import time
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import numpy as np

from pe_lab.contrib.grids.step_time import Program, peak_flops
from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.run import Run
from pe_lab.training.costs import step_flops

# What x-transformers calls an encoding; of others the step is not timed.
_ENCODINGS: dict[str, JsonObject] = {
    "nope": {},
    "rope": {"rotary_pos_emb": True},
    "alibi": {"alibi_pos_bias": True},
    "t5_bias": {"rel_pos_bias": True},
    "learned": {},
    "sinusoidal": {},
}
_SETTINGS = {  # whether products are in bfloat16, and whether attention is fused
    "float32": (False, False),
    "float32, flash": (False, True),
    "bfloat16 autocast": (True, False),
    "bfloat16 autocast, flash": (True, True),
}


class Peer:
    """One model of x-transformers, its optimizer and its batches."""

    def __init__(self, run: Run, program: Program, autocast: bool, flash: bool):
        torch, library = _libraries()
        model, self.torch, self.autocast, self.batch_size = (
            run.model,
            torch,
            autocast,
            run.train.batch_size,
        )
        name = model.encodings[0].name if model.encodings else "nope"
        if (
            name not in _ENCODINGS
            or len(model.encodings) > 1
            or program.setup.run.layout.name != "decoder"
        ):
            raise UserError(
                f"--peer knows decoders with one of these encodings: {', '.join(_ENCODINGS)}."
            )
        setup = program.setup
        (words,) = setup.layout.vocabularies(setup.task).values()
        self.counts = [
            setup.num_tokens(n)["decoder"]
            for n in range(run.train.min_length, run.train.max_length + 1)
        ]
        self.words = words
        width = dict(
            dim=model.width,
            depth=model.num_layers,
            heads=model.num_heads,
            attn_dim_head=model.width // model.num_heads,
        )
        activation = dict(
            ff_mult=model.feedforward_width / model.width,
            ff_custom_activation=getattr(torch.nn, _ACTIVATIONS[model.activation])(),
        )
        layers = library.Decoder(**width, **activation, **_ENCODINGS[name], attn_flash=flash)
        position = dict(
            use_abs_pos_emb=name in ("learned", "sinusoidal"),
            scaled_sinu_pos_emb=name == "sinusoidal",
        )
        torch.manual_seed(0)
        self.model = library.TransformerWrapper(
            num_tokens=words, max_seq_len=max(self.counts), attn_layers=layers, **position
        )
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def seconds(self, number: int) -> float:
        """Of one step, whose lengths depend on its number alone; making its batch is not
        counted.
        """
        torch, draw = self.torch, np.random.default_rng(number)
        lengths = torch.from_numpy(draw.choice(self.counts, self.batch_size))
        tokens = torch.from_numpy(
            draw.integers(0, self.words, (self.batch_size, int(lengths.max()) + 1))
        )
        mask = torch.arange(int(lengths.max()))[None] < lengths[:, None]
        whole = bool(mask.all())
        started = time.monotonic()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.autocast):
            logits = self.model(tokens[:, :-1], mask=None if whole else mask).float()
        labels = tokens[:, 1:] if whole else tokens[:, 1:].masked_fill(~mask, -100)
        torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return time.monotonic() - started


_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU"}


def compare(run: Run, num_steps: int) -> list[JsonObject]:
    """Steps of ours and of the peer's in turns.

    Returns:
      Ours first: what, seconds_per_step (median), steps_per_second, times_ours (the median over
      turns), share_of_peak (of float32's).
    """
    ours = Program(run)
    programs: Sequence[Any] = [
        ours,
        *(Peer(run, ours, *setting) for setting in _SETTINGS.values()),
    ]
    turns = np.array(
        [[*(p.seconds(i) for p in programs), peak_flops()] for i in range(num_steps + 1)]
    )[1:]
    names = ["pe_lab, float32", *(f"x-transformers, {name}" for name in _SETTINGS)]
    return [
        {
            "what": name,
            "seconds_per_step": float(np.median(own)),
            "steps_per_second": float(1 / np.median(own)),
            "times_ours": float(np.median(own / turns[:, 0])),
            "share_of_peak": float(np.median(step_flops(ours.setup) / own / turns[:, -1])),
            "versions": {
                library: metadata.version(library) for library in ("torch", "x-transformers")
            },
        }
        for name, own in zip(names, turns.T[:-1], strict=True)
    ]


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import x_transformers
    except ImportError as e:
        command = ".venv/bin/pip install torch x-transformers"
        raise UserError(
            f"--peer needs torch and x-transformers, which are not installed: {command}."
        ) from e
    torch.set_num_threads(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return torch, x_transformers
