! SPDX-License-Identifier: Apache-2.0
! An input that is one number per cloud is bound as a scalar variable or an array.
!   numbers_test <model> <the same model, with mobility per cloud>
program numbers_test
    use, intrinsic :: iso_c_binding
    use surrogate
    use checks
    implicit none
    integer, parameter :: dp = c_double, sp = c_float, n = 20
    type(surrogate_context) :: context
    type(surrogate_model) :: by_point, by_cloud
    type(surrogate_domain) :: domain
    type(surrogate_plan) :: plan, one
    type(surrogate_field_info) :: info
    real(dp), target :: x(2, n), a(n), p(n), expected(n), mobility, list(1)
    real(sp), target :: single
    integer(c_int) :: status
    integer :: i
    character(len=1024) :: path

    call surrogate_context_create(context, options="threads=1")
    call get_command_argument(1, path)
    call surrogate_model_load(by_point, context, path)
    call get_command_argument(2, path)
    call surrogate_model_load(by_cloud, context, path)
    do i = 1, n
        x(:, i) = [modulo(0.37_dp * i, 1.0_dp), modulo(0.61_dp * i, 1.0_dp)]
    end do
    call surrogate_domain_create_points(domain, context, x)
    call surrogate_plan_create(plan, by_point, domain)
    call surrogate_plan_bind_input(plan, "mobility", a, "m^2/(Pa s)")
    call surrogate_plan_bind_output(plan, "pressure", expected, "Pa")
    call surrogate_plan_create(one, by_cloud, domain)
    call surrogate_plan_bind_output(one, "pressure", p, "Pa")

    call surrogate_model_input(by_cloud, 2_c_int32_t, info)
    call check(info%role == surrogate_cloud, "the role is on the card")
    call surrogate_plan_bind_input(one, "mobility", mobility, "m^2/(Pa s)")
    do i = 4, 6   ! runs read the variable
        mobility = i
        call compare("a scalar variable")
    end do
    single = 5
    call surrogate_plan_bind_input(one, "mobility", single)
    mobility = 5
    call compare("a scalar in single precision")
    call surrogate_plan_bind_input(one, "mobility", list)
    list = 4
    mobility = 4
    call compare("an array of one cloud")
    call surrogate_plan_bind_input(one, "mobility", a, status=status)
    call check_status(status, surrogate_shape, "(20, 1)")
    call done()

contains

    subroutine compare(what)
        character(len=*), intent(in) :: what
        a = mobility
        call surrogate_plan_run(plan)
        call surrogate_plan_run(one)
        call check(all(p == expected), what)
    end subroutine
end program
