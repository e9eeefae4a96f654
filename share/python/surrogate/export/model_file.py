# SPDX-License-Identifier: Apache-2.0
"""Writing: checksums, metadata, and a file that is there whole or not at all."""

import json
import os
import tempfile

from .errors import ExportError


def checksums_of(tensors):
    """xxh3-64 of the bytes of each tensor; None without the package xxhash."""
    import torch

    try:
        import xxhash
    except ImportError:
        return None
    return {
        name: xxhash.xxh3_64_hexdigest(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        for name, tensor in tensors.items()
    }


def metadata_of(card, note):
    """The texts of the file's header. `card` with its checksums, if any."""
    text = json.dumps(card, allow_nan=False)
    metadata = {"surrogate.card": text}
    if note is not None:
        metadata["surrogate.check"] = json.dumps(note, allow_nan=False)
    if "checksums" in card:
        import xxhash

        metadata["surrogate.card_checksum"] = xxhash.xxh3_64_hexdigest(text.encode())
    return metadata


def require_writable(path, overwrite):
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ExportError(f"there is no folder '{folder}' for '{path}'")
    if os.path.isdir(path):
        raise ExportError(f"'{path}' is a folder")
    if os.path.exists(path) and not overwrite:
        raise ExportError(f"'{path}' exists; --overwrite (overwrite=True) replaces it")


def _publish(temporary, path, overwrite):
    """A file that has come into being meanwhile is not replaced either."""
    if not overwrite:
        try:
            os.link(temporary, path)
            os.unlink(temporary)
            return
        except FileExistsError:
            raise ExportError(f"'{path}' exists; --overwrite (overwrite=True) replaces it") from None
        except OSError:  # file systems without links
            require_writable(path, overwrite)
    os.replace(temporary, path)


def write(path, tensors, metadata, overwrite):
    import safetensors.torch

    def save(temporary):
        try:
            safetensors.torch.save_file(tensors, temporary, metadata=metadata)
        except safetensors.SafetensorError as error:
            raise ExportError(f"'{path}' cannot be written: {error}") from None

    write_whole(path, save, overwrite)


def write_whole(path, save, overwrite):
    """save(temporary) to a file beside it, flushed to the disk, then renamed: a kill or a full disk leaves what was there."""
    require_writable(path, overwrite)
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path) + ".", suffix=".part")
    try:
        os.close(handle)
        try:
            save(temporary)
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise ExportError(f"'{path}' cannot be written: {error}") from None
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        _publish(temporary, path, overwrite)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
