# SPDX-License-Identifier: Apache-2.0
"""What share/python/export.py is made of; share/doc/how-to/export-from-pytorch.md shows its use."""

from .errors import ExportError
from .export import export_model

__all__ = ["ExportError", "export_model"]
