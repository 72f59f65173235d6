"""Settings of how a run is saved and executed, which change no result."""

from dataclasses import dataclass
from typing import Literal

from pe_lab.runs.settings.declarations import setting


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """When a training is saved."""

    interval: float = setting(60.0, "Seconds between checkpoints. There is always one at the end.")
    keep_final: bool = setting(True, "The last checkpoint stays after the records are written.")
    keep_curve: bool = setting(
        False,
        "With keep_final, the parameters at every point of the curve stay too. pe-lab inspect "
        "shows the course of training from them.",
        in_all_records=False,
    )


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a run is executed. This changes the speed and no result, and is no part of a run's id."""

    members: Literal["auto", "map", "vmap"] = setting(
        "auto",
        "map: members run one after the other in one program; vmap: as one batch; auto: vmap on an "
        "accelerator.",
    )
    kernels: Literal["auto", "reference"] = setting(
        "auto",
        "auto: faster forms for the backend; reference: plain JAX with the equations as written.",
    )
    remat: bool = setting(False, "Recompute a layer's inner values in the backward pass.")
    chunk_steps: int = setting(100, "Steps of one call.", at_least=1)
    max_members: int = setting(8, "Members that share a program.", at_least=1)
    batch_devices: int = setting(
        1,
        "Devices that share the batch of a member. The members are sharded over the other devices "
        "of a process.",
        at_least=1,
        in_all_records=False,
    )
    compilation_cache: bool = setting(
        True,
        "Compiled programs are kept for later run groups of the same shapes, in the folder "
        "JAX_COMPILATION_CACHE_DIR or in pe_lab/jax of the user's cache directory.",
        in_all_records=False,
    )
    time_limit: float | None = setting(
        None,
        "Seconds that the process of a run group may take; then it is ended, and its runs are "
        "recorded as failed. Each new start after a preemption has the same time. None: no limit.",
        above=0,
        in_all_records=False,
    )
