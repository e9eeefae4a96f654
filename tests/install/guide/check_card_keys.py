# SPDX-License-Identifier: Apache-2.0
"""check_card_keys.py SOURCE: the tables of card keys in the reference list the keys that the readers
accept, and no others.

    pages    share/doc/reference/families/*.md and model-file.md: the first columns of tables whose
             first head is "key"
    readers  config.cpp of the families: names that are passed to Hyperparameters, and to functions
             of these files with a parameter `const char* ..key`; card.cpp: names in require_keys"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
families = source / "libsurrogate/src/model"
readers = {
    "bsa": ["bsa/config.cpp"],
    "erwin": ["bsa/erwin_config.cpp"],
    "flare": ["flare/config.cpp"],
    "hept": ["hept/config.cpp"],
    "sequoia": ["sequoia/config.cpp"],
    "sphere": ["sphere/config_readers.cpp", "sphere/config_models.cpp", "sphere/config_layers.cpp", "sphere/config.cpp"],
    "torch": ["exported/config.cpp"],
}
# Keys that a reader takes from a function of another file.
elsewhere = {"erwin": {"rotation"}}
# Keys of the card itself, which are in model-file.md.
of_card = {"sphere": {"conventions", "theta_cutoff_rule"}}
methods = "integer|positive|rate|number|boolean|text|integers|choice|choices|has"


def arguments(text, begin):
    """Returns the arguments of the call whose parenthesis opens before the position."""
    found, depth, start = [], 0, begin
    for i in range(begin, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}" and depth:
            depth -= 1
        elif text[i] in ",)" and not depth:
            found.append(text[start:i].strip())
            start = i + 1
            if text[i] == ")":
                return found
    return found


def accepted(text):
    """Returns the names of keys in the source of a reader."""
    text = re.sub(r"//.*", "", text)
    positions = {method: [0] for method in methods.split("|")}
    for match in re.finditer(r"^ *[\w:<>]+[&*]? (\w+)\(", text, re.M):
        parameters = arguments(text, match.end())
        keys = [i for i, one in enumerate(parameters)
                if re.fullmatch(r"const char\* (\w+_)?key", one)]
        if keys and match[1] not in positions:
            positions[match[1]] = keys
    found = set()
    for match in re.finditer(rf"\b({'|'.join(positions)})\(", text):
        given = arguments(text, match.end())
        for i in positions[match[1]]:
            if i < len(given) and re.fullmatch(r'"[\w.]+"', given[i]):
                found.add(given[i].strip('"').rpartition(".")[2])
    for names in re.findall(r"for \(const char\* key : \{(.*?)\}\)", text, re.S):
        found.update(re.findall(r'"(\w+)"', names))
    return found


def listed(text):
    """Returns the names in the first columns of the tables of keys of a page."""
    found, is_table = set(), False
    for line in text.split("\n"):
        first = line.strip("|").split("|")[0].strip()
        is_table = line.startswith("|") and (is_table or first == "key")
        if is_table:
            found.update(re.findall(r"`(\w+)\.?`", first))
    return found


def compare(page, keys):
    names = listed((source / "share/doc/reference" / page).read_text())
    missing, unknown = sorted(keys - names), sorted(names - keys)
    if missing:
        yield f"{page} does not list {', '.join(missing)}"
    if unknown:
        yield f"{page} lists keys that no reader accepts: {', '.join(unknown)}"


def main():
    problems, n = [], 0
    for file in sorted(families.glob("*/*.cpp")):
        name = str(file.relative_to(families))
        if re.search(r"Hyperparameters \w+\(|Hyperparameters \w+;", file.read_text()) and not any(
                name in files for files in readers.values()):
            problems.append(f"{name} reads keys of a card and is not in the list of readers here")
    for family, files in readers.items():
        keys = accepted("\n".join((families / file).read_text() for file in files))
        keys = (keys | elsewhere.get(family, set())) - of_card.get(family, set())
        n += len(keys)
        problems += compare(f"families/{family}.md", keys)
    card = (source / "libsurrogate/src/file/card.cpp").read_text()
    pooled = (source / "libsurrogate/src/file/pooled.cpp").read_text()
    lists = re.findall(r"require_keys\(\s*\w+, [^{]*\{(.*?)\}\)", card + pooled, re.S)
    keys = set(re.findall(r'"(\w+)"', " ".join(lists)))
    n += len(keys)
    problems += compare("model-file.md", keys)
    if n < 150:
        problems.append(f"{n} keys: there are more")
    if problems:
        sys.exit("\n".join(problems))
    print(f"{n} keys of cards, as in the pages")


main()
