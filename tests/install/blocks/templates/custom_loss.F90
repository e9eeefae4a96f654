! needs: surrogate_fortran surrogate_mpi
module given
    use surrogate, only: surrogate_plan
    type(surrogate_plan) :: plan
    real(8), target :: p(12), derivative(12)
    real(8) :: loss
contains
    real(8) function residual(pressure, derivative)
        real(8), intent(in) :: pressure(:)
        real(8), intent(out) :: derivative(:)
        derivative = 0
        residual = sum(pressure)
    end function
end module
subroutine solve()
    use given
    use surrogate_train
    type(surrogate_trainer_options) :: settings
    type(surrogate_trainer) :: trainer
    call surrogate_trainer_options_create(settings)
    @block@
end subroutine
program main
end program
