# SPDX-License-Identifier: Apache-2.0
"""blocks.py SOURCE LIST WORK PREFIX VARIABLE=VALUE..: every block of code of the documentation, as it stands there, is
compiled, run or configured against the installed tree, or stands in the list with the reason why not.

LIST has a line for each block:  page | how its first line begins | what is done | with which template, or why not
  build TEMPLATE    put into templates/TEMPLATE at @block@, compiled and linked; // needs: pkg-config packages
  run TEMPLATE      and run, on two ranks where there is MPI
  shell TEMPLATE    a script of bash, run in a folder of its own
  project           put into a project of CMake, which is configured
  parse             JSON
  no                the reason; scripts of shell and Python are still parsed
ONLY=share/doc/how-to/write-vtk.md looks at that page alone.
"..", "...", "/* ... */" stand for code left out. Variables: CC, CXX, FC, MPIRUN, PKG_CONFIG, CMAKE, BUILD; a block whose
packages are not installed is counted as left out."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

source, listing, work, prefix = (pathlib.Path(one).resolve() for one in sys.argv[1:5])
settings = dict(one.split("=", 1) for one in sys.argv[5:])
templates = pathlib.Path(__file__).parent / "templates"
environment = dict(os.environ, PREFIX=str(prefix), PKG_CONFIG_PATH=str(prefix / settings["LIBDIR"] / "pkgconfig"),
                   MODELS=str(prefix / "share/surrogate/models"), TEMPLATES=str(templates), SOURCE=str(source), **settings)
environment["PATH"] = f"{prefix}/bin:{environment['PATH']}"
problems, counts = [], {}


class LeftOut(Exception):
    pass


def blocks_of(file):
    """(language, text) of each fenced block."""
    for match in re.finditer(r"^```(\S*)\n(.*?)^```$", file.read_text(), re.M | re.S):
        yield match.group(1), match.group(2)


def read_list():
    rows = [[cell.strip() for cell in line.split(" | ")] for line in listing.read_text().splitlines()
            if line.strip() and not line.startswith("#")]
    for row in rows:
        if len(row) != 4:
            sys.exit(f"{listing.name}: four cells expected: {row}")
    return rows


def call(command, folder, **extra):
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, **extra)
    if done.returncode != 0:
        raise RuntimeError(f"{command}\n{done.stdout[-3000:]}")
    return done.stdout


def completed(text):
    """What is left out of the page is left out here."""
    text = re.sub(r", \.\.(?=})", "", text)
    return re.sub(r"^\s*(\.\.\.?|/\* \.\.\. \*/)$\n", "", text, flags=re.M)


def build(folder, name, block):
    text = (templates / name).read_text()
    needs = re.findall(r"(?<!-l)\bsurrogate\w*", text.split("\n")[0])
    flags = []
    for need in needs:
        asked = subprocess.run([settings["PKG_CONFIG"], "--cflags", "--libs", need], env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        if asked.returncode != 0:
            raise LeftOut(need)
        flags += asked.stdout.split()
    # A library that belongs to a package of another, or a flag of the compiler.
    flags += re.findall(r"-l\w+|-f[\w-]+", text.split("\n")[0])
    (folder / name).write_text(text.replace("@block@", completed(block)))
    compiler = {".c": [settings["CC"], "-std=c99"], ".cpp": [settings["CXX"], "-std=c++17"], ".F90": [settings["FC"], "-Wno-unused-dummy-argument"]}
    compiler = compiler[pathlib.Path(name).suffix]
    if not compiler[0]:
        raise LeftOut("a compiler")
    call([*compiler, "-Wall", "-Wno-unused", "-Wno-maybe-uninitialized", "-Wno-uninitialized", "-Werror", name, "-o", "program", *flags,
          f"-Wl,-rpath,{prefix / settings['LIBDIR']}"], folder)


def run(folder, name, block):
    build(folder, name, block)
    for model in (prefix / "share/surrogate/models").iterdir():
        os.symlink(model, folder / model.name)
    print(call([*settings["MPIRUN"].split(), "./program"], folder).strip())


def shell(folder, name, block):
    text = (templates / name).read_text()
    (folder / "script.sh").write_text(text.replace("@block@", block))
    output = call(["bash", "-eu", "script.sh"], folder)
    left_out = re.search(r"^LEFT OUT: (.*)", output, re.M)
    if left_out:
        raise LeftOut(left_out.group(1))


def project(folder, _, block):
    languages = re.search(r"project\(solver LANGUAGES (.*?)\)", block)
    text = re.sub(r"project\(.*?\).*\n", "", block)
    components = re.search(r"COMPONENTS ([a-z ]+)", block).group(1).split()
    for component in components:
        if not list((prefix / settings["LIBDIR"] / "pkgconfig").glob(f"surrogate_{component}.pc")):
            raise LeftOut(component)
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(solver LANGUAGES {languages.group(1) if languages else 'CXX'})\n"
        + ("add_library(solver INTERFACE)\n" + text.replace("PRIVATE", "INTERFACE")))
    call([settings["CMAKE"], "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"], folder)


def parse(_, __, block):
    text = block.strip()
    json.loads(text if text.startswith("{") else "{" + text + "}")


def no(folder, reason, block, language):
    if len(reason) < 10:
        raise RuntimeError("a reason is missing")
    if language == "python":
        compile(block, "block", "exec")
    elif language == "sh":
        call(["bash", "-n"], folder, input=block)


def main():
    rows, used = read_list(), set()
    shutil.rmtree(work, ignore_errors=True)
    pages = [source / "README.md", *sorted((source / "share/doc").rglob("*.md")), source / "share/spack/README.md"]
    for page in filter(pathlib.Path.exists, pages):
        name = str(page.relative_to(source))
        if not name.startswith(settings.get("ONLY", "")):
            used.update(i for i, row in enumerate(rows) if row[0] == name)
            continue
        for number, (language, block) in enumerate(blocks_of(page)):
            first = block.split("\n")[0]
            found = [i for i, row in enumerate(rows) if row[0] == name and first.startswith(row[1])]
            found = [i for i in found if i not in used][:1] if len(found) > 1 else found
            if not found:
                problems.append(f"{name}: the block that begins with '{first}' is not in {listing.name}")
                continue
            used.update(found)
            how, what = rows[found[0]][2:]
            folder = work / f"{name.replace(chr(47), chr(95))}_{number}"
            folder.mkdir(parents=True)
            try:
                if how == "no":
                    no(folder, what, block, language)
                else:
                    {"build": build, "run": run, "shell": shell, "project": project, "parse": parse}[how](folder, what, block)
                counts[how] = counts.get(how, 0) + 1
            except LeftOut as reason:
                counts["left out"] = counts.get("left out", 0) + 1
                print(f"left out: {name}, '{first}': no {reason} here")
            except (RuntimeError, SyntaxError, ValueError, subprocess.TimeoutExpired) as error:
                problems.append(f"{name}, the block that begins with '{first}': {error}")
    for i, row in enumerate(rows):
        if i not in used:
            problems.append(f"{listing.name}: no block of {row[0]} begins with '{row[1]}'")
    print(", ".join(f"{how} {n}" for how, n in sorted(counts.items())))
    if problems:
        sys.exit("\n\n".join(problems))


main()
