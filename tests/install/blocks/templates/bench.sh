# The shipped model under the page's name; ranks as the page has them, if there is MPI.
ln -s "$MODELS/darcy_flow.safetensors" MODEL
mpirun() {
    [ -n "$MPIRUN" ] || { echo "LEFT OUT: MPI"; exit 0; }
    shift 2
    command $MPIRUN "$@"
}
@block@
