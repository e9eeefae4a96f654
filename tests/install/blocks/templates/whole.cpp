// needs: surrogate_mpi
@block@
