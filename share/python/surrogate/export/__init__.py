# SPDX-License-Identifier: Apache-2.0
"""Makes model files of PyTorch modules; share/doc/how-to/export-from-pytorch.md shows the use.

Needs numpy; torch is imported when a module or a checkpoint is exported. Needs no library.
"""

from .errors import ExportError
from .export import export_model
from .torch_package import torch_package

__all__ = ["ExportError", "export_model", "torch_package"]
