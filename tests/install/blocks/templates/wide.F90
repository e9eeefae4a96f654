! needs: surrogate_fortran -fdefault-integer-8
module given
    use surrogate
    type(surrogate_domain) :: domain
    type(surrogate_plan) :: plan
    real(8), target :: u(3, 4, 4)
end module
subroutine solve()
    use given, only: domain, plan, u
    @block@
end subroutine
program main
end program
