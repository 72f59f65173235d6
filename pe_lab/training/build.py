"""The one way to a setup: assembled from a run, and checked."""

from pe_lab.model.transformer import Transformer
from pe_lab.runs.run import Run
from pe_lab.runs.system import jax_settings
from pe_lab.training import checks
from pe_lab.training.setup import Setup, assemble


def build_setup(
    run: Run,
    *,
    trained: bool = True,
    platform: str | None = None,
    abstract_model: Transformer | None = None,
) -> Setup:
    """Build the plugins that a run's config names, and check that they fit together.

    Args:
      trained: the run is trained with this setup; otherwise it is only evaluated.
      platform, abstract_model: as in `assemble`.

    Raises:
      UserError: an encoding, scheme or task refuses its arguments, the sizes or the lengths, or
        this process has other settings of JAX than pe_lab's.
    """
    setup = assemble(run, platform=platform, abstract_model=abstract_model)
    checks.check(setup, trained)
    jax_settings.check()  # last: plugins have been imported and built
    return setup
