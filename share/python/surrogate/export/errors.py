# SPDX-License-Identifier: Apache-2.0
"""The one exception, and the words that several modules share."""

import difflib


class ExportError(ValueError):
    """Something that keeps a model from being exported; nothing has been written."""


def did_you_mean(found, known):
    """"; did you mean 'std'? (known: mean, std)"."""
    near = difflib.get_close_matches(str(found), list(known), n=1, cutoff=0.6)
    return (f"; did you mean '{near[0]}'?" if near else "") + f" (known: {', '.join(known)})"


def refuse_unknown_keys(found, known, where):
    for key in found:
        if key not in known:
            raise ExportError(f"{where}: unknown key '{key}'{did_you_mean(key, known)}")
