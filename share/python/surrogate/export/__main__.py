# SPDX-License-Identifier: Apache-2.0
"""Makes a model file of libsurrogate from a PyTorch checkpoint: python3 -m surrogate.export."""

import argparse
import json
import sys

from . import ExportError, export_model, families, hyperparameters, physicsnemo_flare, sources

example = """\
example:
  python3 -m surrogate.export trained.pt --class flare.py:FLAREModel --card card.json --data train.npz -o model.safetensors
  surrogate check model.safetensors

card.json:
  { "family": "flare",
    "network": { "num_heads": 8 },
    "inputs":  [ { "name": "x", "role": "coordinate", "axis": 0, "unit": "m" },
                 { "name": "y", "role": "coordinate", "axis": 1, "unit": "m" },
                 { "name": "mobility", "unit": "m^2/(Pa s)" } ],
    "outputs": [ { "name": "pressure", "unit": "Pa" } ],
    "provenance": { "data": "1000 states of 200 runs", "license": "CC-BY-4.0" } }

train.npz holds the arrays x, y, mobility and pressure, in the units of the card: (samples, points), on the sphere
(samples, n_lat, n_lon). --class may also name a function that
makes the module of the card's network. share/doc/how-to/export-from-pytorch.md walks through it. The program needs Python with torch and safetensors,
xxhash if the file is to have checksums, and what the official class imports.

exit status: 0 written, 2 nothing written"""


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python3 -m surrogate.export",
        description="Makes a model file of libsurrogate: weights of an official class, card, statistics, check case.",
        epilog=example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("weights", help="checkpoint of torch.save (.pt), .safetensors with the weights, or .mdlus of a FLARE of PhysicsNeMo")
    add("-o", "--out", required=True, metavar="FILE", help="model file to be written")
    add("--card", required=True, metavar="FILE", help="card as JSON, see share/doc/reference/model-file.md; statistics may be left out")
    add("--class", dest="class_", metavar="WHERE:CLASS", help="official class, flare.py:FLAREModel or "
        "torch_harmonics.examples.models:SphericalTransformer; its code is run to compute the check case")
    add("--data", action="append", default=[], metavar="FILE",
        help=".npz with an array a field, or NAME=FILE.npy; may be given several times")
    add("--key", help="where in the checkpoint the weights are, such as ema_shadow")
    add("--forward", metavar="WHERE:FUNCTION", help="function of the module and a dict of tensors that returns y: how a network "
        "of the families bsa, erwin, sequoia and hept is called")
    add("--check", metavar="FILE", help="check case that was computed elsewhere: .npz with arrays input/.., output/y, output64/y")
    add("--sample", type=int, default=0, metavar="N", help="sample the check case is made of (0)")
    add("--points", type=int, default=2048, metavar="N", help="at most so many points in the check case (2048)")
    add("--no-check", action="store_true", help="write no check case: then nobody can tell wrong hyperparameters")
    add("--overwrite", action="store_true", help="replace an existing file")
    add("--quiet", action="store_true", help="say warnings only")
    return parser.parse_args(arguments)


def read_card(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise ExportError(f"card '{path}' cannot be read: {error}") from None


def build(class_, card):
    """The module of the class, with the card's hyperparameters; its weights are replaced later."""
    try:
        return class_(**families.arguments_of(card.get("network", {})))
    except Exception as error:  # whatever the user's class raises is about its arguments
        raise ExportError(f"{class_.__name__} cannot be built with the card's network: {error}") from None


def complete_network(card, state, class_):
    """Hyperparameters that the weights of a FLARE tell, so that the card need not repeat them."""
    family = card.get("family") or families.family_of_class(class_.__name__)
    if physicsnemo_flare.is_state(state):
        network = {"model": physicsnemo_flare.class_name, **card.get("network", {})}
        card["network"] = physicsnemo_flare.complete_network(card | {"network": network}, state, {})
    elif family == "flare" and card.get("network", {}).get("model", "FLAREModel") in families.families["flare"]:
        card["network"] = hyperparameters.join(
            card.get("network", {}), hyperparameters.flare_from_weights(state), "the weights have"
        )
        if card["network"].get("num_heads") is None:
            raise ExportError("card: network.num_heads is missing; weights cannot show it (training said how many)")


def run(options):
    say = (lambda text: None) if options.quiet else print

    def tell(text):
        if text.startswith("warning"):
            print(text, file=sys.stderr)
        else:
            say(text)

    card = read_card(options.card)
    weights, origin = sources.read_weights(options.weights, options.key)
    tell(f"weights of {options.weights} ({origin})")
    physicsnemo_flare.refuse_others({}, weights)
    state = physicsnemo_flare.complete_state(sources.clean_state(weights))
    module = None
    if origin == physicsnemo_flare.origin:
        if options.class_:
            raise ExportError(f"--class is given, but '{options.weights}' names its class; leave it out")
        module = options.weights
    elif options.class_ and not options.no_check and not options.check:
        class_ = sources.load_class(options.class_)
        complete_network(card, state, class_)
        module = build(class_, card)
    arrays = sources.read_arrays(options.data)
    check_input = arrays.pop("check_input", None)
    point_weights = arrays.pop("point_weights", None)
    has_fields = "inputs" in card
    export_model(
        options.out,
        module,
        state_dict=None if origin == physicsnemo_flare.origin else state,
        card=card,
        inputs=arrays if has_fields else None,
        outputs=arrays if has_fields else None,
        point_weights=point_weights,
        check=not options.no_check,
        check_input=check_input,
        check_sample=options.sample,
        check_points=options.points,
        check_tensors=sources.read_arrays([options.check]) if options.check else None,
        forward=sources.load_class(options.forward) if options.forward else None,
        overwrite=options.overwrite,
        say=tell,
        weights_path=options.weights,
    )


def main(arguments=None):
    options = parse(arguments)
    try:
        run(options)
    except ModuleNotFoundError as error:
        print(f"export: this Python has no {error.name}: pip install torch safetensors numpy", file=sys.stderr)
        return 2
    except ExportError as error:
        print(f"export: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
