# The sources of the modules, by hand, in a copy of the installed tree.
if [ -z "$FC" ] || [ ! -d "$PREFIX/share/surrogate/fortran" ]; then echo "LEFT OUT: a Fortran compiler"; exit 0; fi
mkdir -p prefix/share/surrogate
cp -r "$PREFIX/share/surrogate/fortran" prefix/share/surrogate
cp -r "$PREFIX/include" prefix
cc() { command "$CC" "$@"; }
ftn() { command "$FC" "$@"; }
cd prefix
@block@
ls surrogate.mod
