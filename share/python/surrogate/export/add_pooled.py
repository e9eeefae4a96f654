# SPDX-License-Identifier: Apache-2.0
"""Adds to a model file how its pooled training inputs were distributed, or says how far other states are from them."""

import argparse
import sys

from . import ExportError, families, fields, plain_file, pooled, sources

example = """\
examples:
  python3 -m surrogate.export.add_pooled model.safetensors --data train.npz --note "all states of 200 runs"
  python3 -m surrogate.export.add_pooled model.safetensors --compare other_runs.npz

train.npz holds an array for each input that is a field, in the units of the card: (samples, points), on the sphere (samples,
n_lat, n_lon); an array point_weights (points) if points do not count alike. The card's key `pooled` is written
(share/doc/reference/model-file.md), everything else in the file stays. The program needs Python with numpy, and xxhash if the card has
a checksum.

exit status: 0 done, 2 nothing written"""


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python3 -m surrogate.export.add_pooled", description=__doc__, epilog=example, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("model", help="model file")
    add("--data", action="append", default=[], metavar="FILE",
        help="training samples: .npz with an array a field, or NAME=FILE.npy; may be given several times")
    add("--compare", action="append", default=[], metavar="FILE", help="other states: how far they are is printed")
    add("--quantile", type=float, default=0.99, metavar="Q", help="share of the samples that counts as near (0.99)")
    add("--note", metavar="TEXT", help="what the samples are, for the card's provenance")
    add("-o", "--out", metavar="FILE", help="another file to be written; the model file itself stays")
    add("--overwrite", action="store_true", help="replace an existing FILE of -o")
    options = parser.parse_args(arguments)
    if not options.data and not options.compare:
        parser.error("give --data or --compare")
    if not 0 < options.quantile < 1:
        parser.error("--quantile must lie between 0 and 1")
    return options


def features_of(card, names):
    grid = None
    if card["family"] == "sphere":
        constructor = families.constructor_of("sphere", card["network"])
        grid = families.value_of(card["network"], constructor, "img_size") if constructor else None
    arrays = sources.read_arrays(names)
    weights = arrays.pop("point_weights", None)
    samples = {name: fields.samples_of(name, array, grid) for name, array in arrays.items()}
    return pooled.features(card, samples, None if weights is None else fields.samples_of("point_weights", weights, grid))


def compare(statistics, rows):
    found = pooled.distances(statistics, rows)
    share = 100 * float((found > statistics["distance"]).mean())
    print(
        f"{len(found)} states: {share:.3g} % are farther than {statistics['distance']:.4g}; "
        f"distances {found.min():.3g} .. {found.max():.3g}"
    )


def run(options):
    card = plain_file.read_card(options.model)
    if "inputs" not in card:
        raise ExportError("the file is a bare network: its card has no inputs")
    if options.data:
        card["pooled"] = pooled.statistics(features_of(card, options.data), options.quantile)
        if options.note:
            card.setdefault("provenance", {})["pooled"] = options.note
    elif "pooled" not in card:
        raise ExportError("the card has no statistics of pooled inputs; --data makes them")
    for name in options.compare:
        compare(card["pooled"], features_of(card, [name]))
    if options.data:
        path = options.out or options.model
        plain_file.write_with_card(options.model, card, path, options.overwrite or not options.out)
        found = card["pooled"]
        print(
            f"wrote {path}: {len(found['mean'])} features of {found['samples']} samples, "
            f"{100 * found['quantile']:.6g} % within distance {found['distance']:.4g}"
        )


def main(arguments=None):
    options = parse(arguments)
    try:
        run(options)
    except ExportError as error:
        print(f"add_pooled: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
