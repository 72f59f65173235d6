"""Written by `python -m docs.build`."""

from pe_lab.tasks.addition import Addition as Addition
from pe_lab.tasks.associative_recall import AssociativeRecall as AssociativeRecall
from pe_lab.tasks.base import Attribute as Attribute
from pe_lab.tasks.base import Example as Example
from pe_lab.tasks.base import Task as Task
from pe_lab.tasks.base import Vocabulary as Vocabulary
from pe_lab.tasks.batch import Batch as Batch
from pe_lab.tasks.batch import Side as Side
from pe_lab.tasks.copy import Copy as Copy
from pe_lab.tasks.flip_flop import FlipFlop as FlipFlop
from pe_lab.tasks.language_model import LanguageModel as LanguageModel
from pe_lab.tasks.layouts import Decoder as Decoder
from pe_lab.tasks.layouts import Encoder as Encoder
from pe_lab.tasks.layouts import EncoderDecoder as EncoderDecoder
from pe_lab.tasks.layouts import Layout as Layout
from pe_lab.tasks.parity import Parity as Parity
from pe_lab.tasks.reverse import Reverse as Reverse
from pe_lab.tasks.sort import Sort as Sort
