# SPDX-License-Identifier: Apache-2.0
"""Weights out of files and modules, arrays out of .npz and .npy, classes out of Python files."""

import hashlib
import importlib
import importlib.util
import os
import sys

import numpy as np

from . import physicsnemo_flare
from .errors import ExportError

# Keys of a state_dict inside a checkpoint of training programs, the usual ones first.
usual_keys = ("model_state", "model_state_dict", "state_dict", "model")


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _is_state(value):
    import torch

    return isinstance(value, dict) and value and all(torch.is_tensor(one) for one in value.values())


def choose_state(content, key, path):
    """The state_dict inside what torch.save wrote, and a word on which one was taken."""
    if not isinstance(content, dict):
        raise ExportError(f"'{path}' holds a {type(content).__name__}, not a state_dict")
    if key is not None:
        if not _is_state(content.get(key)):
            raise ExportError(f"'{path}' has no state_dict under '{key}'; its keys: {', '.join(map(str, content))}")
        return content[key], f"key '{key}'"
    if _is_state(content):
        return content, "state_dict"
    inside = [name for name, value in content.items() if _is_state(value)]
    for name in usual_keys:
        if name in inside:
            return content[name], f"key '{name}'"
    if not inside:
        raise ExportError(f"'{path}' holds no state_dict; its keys: {', '.join(map(str, content))}")
    raise ExportError(f"'{path}' holds state_dicts under {', '.join(inside)}: choose one with --key")


def read_weights(path, key=None):
    """(state_dict, origin) of a .pt, .safetensors or .mdlus file."""
    import safetensors.torch
    import torch

    if not os.path.isfile(path):
        raise ExportError(f"there is no file '{path}'")
    if str(path).endswith(".safetensors"):
        return safetensors.torch.load_file(path), "safetensors"
    checkpoint = physicsnemo_flare.read_checkpoint(path)
    if checkpoint is not None:
        return checkpoint[1], physicsnemo_flare.origin
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises several kinds, and pickle more
        raise ExportError(
            f"'{path}' cannot be read as weights alone ({str(error).splitlines()[0][:200]}). A file that holds a whole "
            "module runs code when it is opened: in your own Python, save its state_dict "
            "(torch.save(model.state_dict(), path)), or call export_model(path, model=..)"
        ) from None
    return choose_state(content, key, path)


def unwrapped(module):
    """The module inside torch.compile and DataParallel."""
    import torch

    parallel = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    while True:
        if hasattr(module, "_orig_mod"):
            module = module._orig_mod
        elif isinstance(module, parallel):
            module = module.module
        else:
            return module


def clean_state(state):
    """Names without the prefixes of wrappers; tensors on the CPU, contiguous, of their own; F64 rounded to float32."""
    import torch

    cleaned = {}
    for name, tensor in state.items():
        if name.endswith(".num_batches_tracked"):
            continue  # counters of batch norms, which no network reads
        short = name
        while short.startswith(("_orig_mod.", "module.")):
            short = short.split(".", 1)[1]
        if short in cleaned:
            raise ExportError(f"two tensors are called '{short}' without the prefixes '_orig_mod.' and 'module.'")
        if short.startswith("check/"):
            raise ExportError(f"tensor '{short}': names that begin with check/ are those of check cases")
        value = tensor.detach().to("cpu")
        if value.dtype == torch.float64:
            value = value.to(torch.float32)
        if value.dtype not in (torch.float16, torch.bfloat16, torch.float32):
            raise ExportError(f"tensor '{short}' is {tensor.dtype}; weights are float16, bfloat16, float32 or float64")
        if not torch.isfinite(value).all():
            raise ExportError(f"tensor '{short}' has values that are not finite in {value.dtype}")
        cleaned[short] = value.clone().contiguous()
    if not cleaned:
        raise ExportError("there are no weights")
    return cleaned


def read_arrays(names):
    """Arrays by name, of files 'data.npz' and 'name=file.npy'."""
    arrays = {}
    for item in names:
        name, _, path = item.rpartition("=")
        if not os.path.isfile(path):
            raise ExportError(f"there is no file '{path}'")
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.lib.npyio.NpzFile):
            arrays |= {key: loaded[key] for key in loaded.files}
        else:
            arrays[name or os.path.splitext(os.path.basename(path))[0]] = loaded
    return arrays


def load_class(text):
    """The class named by 'folder/flare.py:FLAREModel' or 'package.module:Class'. Runs that code."""
    where, _, name = text.rpartition(":")
    if not where:
        raise ExportError(f"--class '{text}': expected FILE.py:CLASS or MODULE:CLASS")
    try:
        if where.endswith(".py"):
            spec = importlib.util.spec_from_file_location("surrogate_export_user_class", where)
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(where)
    except (ImportError, FileNotFoundError) as error:
        raise ExportError(f"--class '{text}': {error}; is everything installed that it imports?") from None
    if not hasattr(module, name):
        raise ExportError(f"--class '{text}': there is no class {name}")
    return getattr(module, name)
