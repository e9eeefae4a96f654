# SPDX-License-Identifier: Apache-2.0
"""Model files without the package safetensors: their card is read and replaced, and no tensor is touched."""

import json
import shutil
import struct

from . import model_file
from .errors import ExportError


def read_header(path):
    """The header of a safetensors file as a dict, and where the data begin."""
    try:
        with open(path, "rb") as file:
            (n_byte,) = struct.unpack("<Q", file.read(8))
            if n_byte > 16 << 20:
                raise ValueError(f"a header of {n_byte} bytes")
            return json.loads(file.read(n_byte)), 8 + n_byte
    except (OSError, ValueError, struct.error) as error:
        raise ExportError(f"'{path}' is no safetensors file: {error}") from None


def read_card(path):
    metadata = read_header(path)[0].get("__metadata__", {})
    if "surrogate.card" not in metadata:
        raise ExportError(f"'{path}' has no card: the metadata key 'surrogate.card' is missing")
    return json.loads(metadata["surrogate.card"])


def _checksum(text):
    try:
        import xxhash
    except ImportError:
        raise ExportError("the file has a checksum of its card: pip install xxhash makes the new one") from None
    return xxhash.xxh3_64_hexdigest(text.encode())


def write_with_card(source, card, path, overwrite):
    """The file `source` with another card, as `path`; they may be the same. All tensors keep their bytes."""
    header, begin = read_header(source)
    text = json.dumps(card, allow_nan=False)
    metadata = header["__metadata__"]
    metadata["surrogate.card"] = text
    if "surrogate.card_checksum" in metadata:
        metadata["surrogate.card_checksum"] = _checksum(text)
    new = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    new += b" " * (-len(new) % 8)  # readers may map the tensors, which then are aligned

    def save(temporary):
        with open(source, "rb") as old, open(temporary, "wb") as file:
            old.seek(begin)
            file.write(struct.pack("<Q", len(new)) + new)
            shutil.copyfileobj(old, file)

    model_file.write_whole(path, save, overwrite)
