! SPDX-License-Identifier: Apache-2.0
! On ranks: communicators as integers of both kinds and as type(MPI_Comm), a rank without points, one that fails, and
! objects that are left when MPI has gone.
!   ranks_test <model>
program ranks_test
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use surrogate_f08
    use checks
    implicit none
    integer, parameter :: dp = c_double, n = 12
    type(surrogate_context), allocatable :: context
    type(surrogate_context) :: alone
    type(surrogate_model), allocatable :: model
    real(dp), target :: expected(n, n)
    integer :: rank, size
    integer(c_int) :: status
    character(len=1024) :: path

    call get_command_argument(1, path)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    allocate (context, model)
    call one_rank()
    call communicators()
    call surrogate_context_create(context, MPI_COMM_WORLD, options="threads=1")
    call surrogate_model_load(model, context, path)
    call strips()
    call one_call()
    call one_fails()
    call MPI_Allreduce(MPI_IN_PLACE, n_failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Finalize()
    deallocate (model)
    deallocate (context)
    if (rank == 0 .or. n_failed > 0) call done()

contains

    subroutine fill(first, last, x, a)
        integer, intent(in) :: first, last
        real(dp), intent(out) :: x(2, n, first:last), a(n, first:last)
        integer :: i, j
        do j = first, last
            do i = 1, n
                x(:, i, j) = ([i, j] - 0.5_dp) / n
                a(i, j) = 3 + 9 * modulo(i * j, 4) / 4.0_dp
            end do
        end do
    end subroutine

    ! Each rank finds these numbers by itself.
    subroutine one_rank()
        type(surrogate_plan) :: plan
        real(dp), target :: x(2, n, n), a(n, n)
        call fill(1, n, x, a)
        call surrogate_plan_open(plan, path, x, options="threads=1")
        call surrogate_plan_bind_input(plan, "mobility", a)
        call surrogate_plan_bind_output(plan, "pressure", expected)
        call surrogate_plan_run(plan)
        call surrogate_plan_context(plan, alone)
    end subroutine

    subroutine compare(comm, what)
        type(surrogate_context), intent(in) :: comm
        character(len=*), intent(in) :: what
        integer(c_int32_t) :: my_rank, my_size
        call surrogate_context_rank(comm, my_rank, my_size)
        call check(my_rank == rank .and. my_size == size, what)
    end subroutine

    subroutine communicators()
        type(surrogate_context) :: other
        type(MPI_Comm) :: half
        integer(c_int32_t) :: my_rank, my_size
        call surrogate_context_create(other, MPI_COMM_WORLD)
        call compare(other, "type(MPI_Comm)")
        call surrogate_context_create(other, MPI_COMM_WORLD%MPI_VAL)
        call compare(other, "integer")
        call surrogate_context_create(other, int(MPI_COMM_WORLD%MPI_VAL, c_int64_t))
        call compare(other, "integer(8)")
        call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), -rank, half)
        call surrogate_context_create(other, half)
        call surrogate_context_rank(other, my_rank, my_size)
        call check(my_size == (size + 1 - modulo(rank, 2)) / 2, "half of the ranks")
        call MPI_Comm_free(half)
        call surrogate_context_create(other, MPI_COMM_NULL, status=status)
        call check_status(status, surrogate_invalid_argument, "MPI_COMM_NULL")
    end subroutine

    ! Strips of the square; rank 0 of several has none.
    subroutine strips()
        type(surrogate_domain) :: domain
        type(surrogate_plan) :: plan
        real(dp), allocatable, target :: x(:, :, :), a(:, :), p(:, :)
        integer :: first, last
        call share(first, last)
        allocate (x(2, n, first:last), a(n, first:last), p(0:n + 1, first:last))
        call fill(first, last, x, a)
        call surrogate_domain_create_points(domain, context, x)
        call surrogate_plan_create(plan, model, domain)
        call surrogate_plan_bind_input(plan, "mobility", a)
        call surrogate_plan_bind_output(plan, "pressure", p(1:n, :))
        call surrogate_plan_run(plan)
        call check(all(abs(p(1:n, :) - expected(:, first:last)) <= 1e-5_dp * maxval(abs(expected))), "strips")
    end subroutine

    subroutine share(first, last)
        integer, intent(out) :: first, last
        first = 1
        last = n
        if (size == 1) return
        first = n * (rank - 1) / (size - 1) + 1
        last = n * rank / (size - 1)
        if (rank == 0) first = last + 1
    end subroutine

    subroutine one_call()
        type(surrogate_plan) :: plan
        real(dp), allocatable, target :: x(:, :, :), a(:, :), p(:, :)
        integer :: first, last
        call share(first, last)
        allocate (x(2, n, first:last), a(n, first:last), p(n, first:last))
        call fill(first, last, x, a)
        call surrogate_plan_open(plan, MPI_COMM_WORLD, path, x, options="threads=1")
        call surrogate_plan_bind_input(plan, "mobility", a)
        call surrogate_plan_bind_output(plan, "pressure", p)
        call surrogate_plan_run(plan)
        call check(all(abs(p - expected(:, first:last)) <= 1e-5_dp * maxval(abs(expected))), "a plan in one call")
    end subroutine

    ! The last rank gives too few ids, then invalid numbers: all ranks return its status, no rank waits.
    subroutine one_fails()
        type(surrogate_domain) :: domain
        type(surrogate_plan) :: plan
        real(dp) :: x(2, 3)
        logical :: no_numbers(2, 3)
        integer(c_int) :: ids(3)
        x = reshape([1, 2, 3, 4, 5, 6], [2, 3]) + 10 * rank
        ids = [1, 2, 3] + 3 * rank
        if (rank == size - 1) then
            call surrogate_domain_create_points(domain, context, x, ids(1:2), status=status)
        else
            call surrogate_domain_create_points(domain, context, x, ids, status=status)
        end if
        call check_status(status, surrogate_shape, "global_id: expected a number for each of 3 points")
        if (rank == size - 1) then
            call surrogate_plan_open(plan, MPI_COMM_WORLD, path, no_numbers, status=status)
        else
            call surrogate_plan_open(plan, MPI_COMM_WORLD, path, x, status=status)
        end if
        call check(status /= surrogate_success .and. .not. c_associated(plan%handle), "no plan where one rank fails")
        call surrogate_domain_create_points(domain, context, x, ids)
        if (rank == size - 1) then
            call surrogate_domain_update_points(domain, x(:, 1:3), ids(1:2), status=status)
        else
            call surrogate_domain_update_points(domain, x, ids, status=status)
        end if
        call check(status /= surrogate_success, "no move where one rank fails")
    end subroutine
end program
