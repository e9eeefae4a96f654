# The program on the shipped model; ranks as the page has them, if there is MPI.
ln -s "$MODELS/darcy_flow.safetensors" model.safetensors
cp "$TEMPLATES/mesh.vtu" mesh.vtu
cp mesh.vtu in.vtu
MODEL=model.safetensors
[ -f "$PREFIX/$LIBDIR/pkgconfig/surrogate_vtk.pc" ] || { echo "LEFT OUT: VTK"; exit 0; }
mpirun() {
    [ -n "$MPIRUN" ] || { echo "LEFT OUT: MPI"; exit 0; }
    shift 2
    command $MPIRUN "$@"
}
@block@
