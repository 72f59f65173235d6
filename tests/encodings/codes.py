"""One encoding outside of a model, as tests compute it: in every form, on every platform."""

import pytest

from pe_lab.contrib.laws.standalone import (  # noqa: F401  # tests use both as one module
    EQUATION,
    Form,
    attend,
    content_bias,
    embed,
    numbers,
    rngs,
    tokens,
)
from pe_lab.kernels.encodings import accelerator_hook, cpu_hook

KERNELS = {"cpu": Form(cpu_hook, True), "accelerator": Form(accelerator_hook, True)}
FORMS = {"equation": EQUATION, **KERNELS}
every_form = pytest.mark.parametrize("compute", FORMS.values(), ids=FORMS)
every_kernel = pytest.mark.parametrize("compute", KERNELS.values(), ids=KERNELS)
