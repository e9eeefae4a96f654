# A solver in C that writes a series, by hand.
if [ ! -f "$PREFIX/$LIBDIR/pkgconfig/surrogate_vtk.pc" ]; then echo "LEFT OUT: surrogate_vtk"; exit 0; fi
if [ ! -f "$PREFIX/$LIBDIR/pkgconfig/surrogate_mpi.pc" ]; then echo "LEFT OUT: surrogate_mpi"; exit 0; fi
export HOME=$PWD/home
P=$PREFIX
mkdir -p "$HOME/opt"
ln -s "$PREFIX" "$HOME/opt/surrogate"
cat >solver.c <<'END'
#include <stdio.h>
#include <surrogate/surrogate_mpi.h>
#include <surrogate/surrogate_vtk.h>
int main(void) { return printf("%s %s\n", surrogate_version(), surrogate_vtk_error()) < 0; }
END
@block@
./a.out
