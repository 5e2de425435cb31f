"""The models the catalog names: where each shape is from, how users spell them, what their checkpoints weigh.

`build_models.py` turns these rows into `catalogs/models.json`. A row's `config` is the stem of a published config, or
the fields of one as its publisher or paper states them.
"""

from __future__ import annotations

from benchmarks.model_rows.experts import MLA_AND_MOE
from benchmarks.model_rows.llama import LLAMA_1_AND_2, LLAMA_3
from benchmarks.model_rows.mistral import MISTRAL
from benchmarks.model_rows.more import MORE
from benchmarks.model_rows.others import OTHERS
from benchmarks.model_rows.qwen import QWEN
from benchmarks.model_rows.recent import RECENT
from benchmarks.model_rows.row import ModelRow

ROWS: tuple[ModelRow, ...] = (*LLAMA_1_AND_2, *LLAMA_3, *MISTRAL, *QWEN, *MLA_AND_MOE, *OTHERS, *MORE, *RECENT)
