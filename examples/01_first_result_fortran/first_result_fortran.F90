! SPDX-License-Identifier: Apache-2.0
! A first result: the pressure of two fluids in a porous square, from a trained network instead of a
! linear solve.
!
!   build   cmake -S examples/01_first_result_fortran -B first -DCMAKE_PREFIX_PATH=PREFIX
!           cmake --build first
!           with libsurrogate installed in PREFIX
!   run     first/first_result_fortran
!   prints  pressure on 40 x 40 cells: 0.000062 .. 0.0194 Pa, mean 0.0108 Pa,
!           center (0.5004, 0.5010) m
!
! A round drop of the mobile fluid is in the middle of the square, so the true pressure is symmetric
! and its center is (0.5, 0.5). The network does not contain this symmetry: a center near (0.5, 0.5)
! is a first check that its inputs are correct.
program first_result_fortran
    use surrogate
    implicit none
    integer, parameter :: n = 40, dp = kind(1.0d0)
    real(dp), target :: x(2, n, n), mobility(n, n), pressure(n, n)
    real(dp) :: centre(2)
    integer :: i, j
    type(surrogate_context) :: context
    type(surrogate_model) :: model
    type(surrogate_domain) :: domain
    type(surrogate_plan) :: plan

    ! 1. Create the fields of a solver: cell centers of the unit square in m, mobility in m^2/(Pa
    ! s).
    do j = 1, n
        do i = 1, n
            x(:, i, j) = ([i, j] - 0.5_dp) / n
            mobility(i, j) = merge(12, 3, norm2(x(:, i, j) - 0.5_dp) < 0.25_dp)
        end do
    end do

    ! 2. Create a context, load the trained model, and describe the points.
    call surrogate_context_create(context)
    call surrogate_model_load(model, context, MODEL)
    call surrogate_domain_create_points(domain, context, x)

    ! 3. Create a plan once. Fields are bound by the names and units of the model card; bound arrays
    ! are TARGETs.
    call surrogate_plan_create(plan, model, domain)
    call surrogate_plan_bind_input(plan, "mobility", mobility, "m^2/(Pa s)")
    call surrogate_plan_bind_output(plan, "pressure", pressure, "Pa")

    ! 4. Run. A solver does this in every time step.
    call surrogate_plan_run(plan)

    ! 5. Check the result: extremes, mean and center.
    do i = 1, 2
        centre(i) = sum(pressure * x(i, :, :)) / sum(pressure)
    end do
    print '(2(a, i0), a, f8.6, 2(a, f6.4), 2(a, f6.4), a)', "pressure on ", n, " x ", n, " cells: ", minval(pressure), &
        " .. ", maxval(pressure), " Pa, mean ", sum(pressure) / n**2, " Pa, center (", centre(1), ", ", centre(2), ") m"
    if (norm2(centre - 0.5_dp) > 0.01_dp) error stop 1
end program
