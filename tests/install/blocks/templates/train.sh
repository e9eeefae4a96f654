# The configuration of the page, on a small set of the example's; told what it would take.
if [ ! -x "$BUILD/bin/darcy_data" ]; then echo "LEFT OUT: the example darcy_data"; exit 0; fi
surrogate train --help | grep -q dry-run || { echo "LEFT OUT: surrogate train"; exit 0; }
"$BUILD/bin/darcy_data" -runs 4
awk '/^```toml$/ { inside = 1; next } /^```$/ && inside { exit } inside' "$SOURCE/share/doc/how-to/train.md" >darcy.toml
program=$(command -v surrogate)
surrogate() { "$program" "$@" --dry-run; }
mpirun() {
    shift 2
    command $MPIRUN "$program" "${@:2}" --dry-run
}
@block@
