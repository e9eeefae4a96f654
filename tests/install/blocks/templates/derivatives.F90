! needs: surrogate_fortran surrogate_mpi
subroutine solve(plan, p, w, g, measured)
    use surrogate
    type(surrogate_plan), intent(in) :: plan
    real(8), target, intent(inout) :: p(12), w(12), g(12)
    real(8), intent(in) :: measured(12)
    @block@
end subroutine
program main
end program
