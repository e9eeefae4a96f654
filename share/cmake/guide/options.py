# SPDX-License-Identifier: Apache-2.0
"""options.py SOURCE [--check]: reference/options.md from the tables of options in the sources and the comments of headers."""
import pathlib
import re
import sys

from generated import block_before, descriptions, finish, literals, paragraph, table, table_text, without_column

source = pathlib.Path(sys.argv[1])


def read(name):
    return (source / name).read_text()


def code(words):
    return ", ".join(f"`{word}`" for word in words)


def table_of_keys(text):
    return re.search(r"keys\(\) \{\n    static const std::vector<Key> table = \{\n(.*?)\n    \};", text, re.S)[1]


def context_options():
    rows = []
    header = read("libsurrogate/include/surrogate/surrogate.h")
    entries = re.findall(r'\{"(\w+)", \{(.*?)\}(?:, (\d+), (\d+))?\}', table_of_keys(read("libsurrogate/src/context/options.cpp")))
    texts = descriptions(block_before(header, "surrogate_options_create"), [entry[0] for entry in entries])
    for name, values, least, most in entries:
        words = re.findall(r'"(\w+)"', values)
        allowed = code(words) + (f", or a whole number from {least} to {most}" if most else "")
        rows.append([f"`{name}`", f"`{words[0]}`", allowed,
                     table_text(without_column(texts.get(name, ""), words[0], words))])
    return table(["key", "default", "values", "description"], rows)


def training_settings():
    rows = []
    text = re.sub(r"\(\n? *(\"\w+\"),\s+\{", r"(\1, {", table_of_keys(read("libsurrogate/src/train/settings.cpp")))
    text = re.sub(r"word\([^()]*\)", lambda match: re.sub(r"\s+", " ", match[0]).replace("( ", "("), text)
    text = re.sub(r"added\((.*)\),$", r"\1,", text, flags=re.M)
    entries = re.findall(r'(?:(\w+)\(|\{)"(\w+)", (.*?)[)}],(?: +//.*)?$', text, re.M)
    header = read("libsurrogate/include/surrogate/surrogate_train.h")
    create = re.search(r"(surrogate_train\w*_create)\(surrogate_train\w+\*\* \w+\)", header)[1]
    texts = descriptions(block_before(header, create), [entry[1] for entry in entries])
    for kind, name, rest in entries:
        words = re.findall(r'"([^"]*)"', rest)
        numbers = rest.split(", ")
        if kind == "word":
            allowed = code(words)
        elif kind == "positive":
            allowed = "a number above 0"
        elif kind == "not_negative":
            allowed = "a number from 0"
        elif kind in ("share", "fraction"):
            allowed = "a number from 0 to " + ("below 1" if "true" in rest else "1")
        elif kind == "whole":
            allowed = f"a whole number from {numbers[1]}"
        else:
            allowed = "a number above 0 to 1"
        default = f"`{words[0]}`" if words[0] else "see description"
        about = without_column(texts.get(name, ""), words[0], words if kind == "word" else [])
        rows.append([f"`{name}`", default, allowed, table_text(about)])
    return table(["key", "default", "values", "description"], rows)


def loop_options():
    text = read("coupling/timeloop/settings.cpp")
    keys = literals(text[text.index("known_keys =") + len("known_keys ="):]).split(", ")
    expected = dict(re.findall(r'name == "(\w+)"\) \{\n\s+const std::string expected = "([^"]+)"', text))
    header = read("coupling/timeloop/include/surrogate/surrogate_timeloop.h")
    texts = descriptions(block_before(header, "surrogate_timeloop_set"), keys)
    guards, known = re.search(r"^ \* Guards (.*?)^ \* Policies(.*?)^ \*$", header, re.M | re.S).groups()
    known = re.findall(r"^ \*   (\w+) +(.*?)(?=^ \*   \w|\Z)", known, re.M | re.S)
    policies = {guard: [policy for policy, about in known if not re.search(rf"not for [\w\s*]*\b{guard}\b", about)]
                for guard in re.findall(r"^ \*   (\w+) ", guards, re.M)}
    rows = [[f"`{key}`", code(policies[key]) if key in policies else expected.get(key, ""), table_text(texts.get(key, ""))]
            for key in keys]
    return table(["key", "values", "description"], rows)


def petsc_options():
    text = read("coupling/petsc/context_petsc.cpp")
    rows = []
    for match in re.finditer(r'\{"\w+", "(-surrogate_\w+)",', text):
        help_text = literals(text[match.end():])
        default = re.match(r'[^}]*?,\s*(?:"(\w+)"|PETSC_(\w+))\}', text[match.end():].split(help_text[-8:] + '"', 1)[1])
        rows.append([f"`{match[1]}`", f"`{default[1] or default[2].lower()}`", table_text(help_text)])
    text = read("coupling/petsc/predictor/settings.cpp")
    guesses = []
    for match in re.finditer(r'PetscOptions(String|RealArray|Bool|Real)\("(-surrogate_\w+)",', text):
        value = {"String": "text", "RealArray": "numbers", "Bool": "flag", "Real": "number"}[match[1]]
        guesses.append([f"`{match[2]}`", value, table_text(literals(text[match.end():]))])
    return table(["option", "default", "description"], rows), table(["option", "value", "description"], guesses)


of_context, of_guess = petsc_options()
finish("options.md", f"""# Options

{paragraph('''This page lists the options of contexts and plans, trainers, time loops and the PETSc adapter, with their
defaults and allowed values. It is generated from the sources by `share/cmake/guide/options.py`.''')}
**Prerequisites**: [concepts](../explanation/concepts.md).

## Contexts and plans

{paragraph('''Set by `surrogate_options_set`, as a list of pairs in C++, as `options="key=value .."` in Fortran, as `--key`
of the [`surrogate` command](cli.md), and as `-surrogate_<key>` in the database of PETSc. An unknown key is an error that
lists similar keys. Options of a context are defaults of its plans; options of a plan apply to this plan.''')}
{context_options()}
## Trainers

{paragraph('''Set by `surrogate_trainer_options_set`, as a list of pairs in C++, and in the section `[training]` of
[the configuration of `surrogate train`](training-configuration.md).''')}
{training_settings()}
## Time loops

{paragraph('''Set by `surrogate_timeloop_set`; see [guardrails](../how-to/time-loop.md#guardrails). The first five keys are
guards; their values are policies.''')}
{loop_options()}
## PETSc: contexts

{paragraph('''Read by `surrogate_context_create_petsc`, with the prefix of its second argument.''')}
{of_context}
## PETSc: initial guesses

{paragraph('''Read by a KSP or SNES whose initial guess is a prediction, with the prefix of the solver; see
[initial guesses](../how-to/initial-guess.md).''')}
{of_guess}""")
