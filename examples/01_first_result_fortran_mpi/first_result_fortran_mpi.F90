! SPDX-License-Identifier: Apache-2.0
! A first result on many ranks: the pressure of two fluids in a porous square, from a trained
! network. Parallel version of 01_first_result_fortran; differences are marked with MPI.
!
!   build   cmake -S examples/01_first_result_fortran_mpi -B first -DCMAKE_PREFIX_PATH=PREFIX
!           cmake --build first
!           with libsurrogate installed in PREFIX
!   run     mpirun -n 4 first/first_result_fortran_mpi
!   prints  pressure on 40 x 40 cells: 0.000062 .. 0.0194 Pa, mean 0.0108 Pa,
!           center (0.5004, 0.5010) m
!
! A round drop of the mobile fluid is in the middle of the square, so the true pressure is symmetric
! and its center is (0.5, 0.5). The network does not contain this symmetry: a center near (0.5, 0.5)
! is a first check that its inputs are correct.
program first_result_fortran_mpi
    use mpi_f08                                                                  ! MPI
    use surrogate_f08                                                            ! MPI: communicators of mpi_f08
    implicit none
    integer, parameter :: n = 40, dp = kind(1.0d0)
    real(dp), allocatable, target :: x(:, :, :), mobility(:, :), pressure(:, :)
    real(dp) :: low, high, sums(3)
    integer :: i, j, k, rank, size, first, last
    type(surrogate_context) :: context
    type(surrogate_model) :: model
    type(surrogate_domain) :: domain
    type(surrogate_plan) :: plan

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    first = n * rank / size + 1                                                  ! MPI: a strip of cells
    last = n * (rank + 1) / size
    allocate (x(2, n, first:last), mobility(n, first:last), pressure(n, first:last))

    ! 1. Create the fields of a solver: cell centers of the unit square in m, mobility in m^2/(Pa
    ! s).
    do j = first, last
        do i = 1, n
            x(:, i, j) = ([i, j] - 0.5_dp) / n
            mobility(i, j) = merge(12, 3, norm2(x(:, i, j) - 0.5_dp) < 0.25_dp)
        end do
    end do

    ! 2. Create a context, load the trained model, and describe the points.
    call surrogate_context_create(context, MPI_COMM_WORLD)                       ! MPI
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
    low = minval(pressure)
    high = maxval(pressure)
    sums = [sum(pressure), (sum(pressure * x(k, :, :)), k = 1, 2)]
    call MPI_Allreduce(MPI_IN_PLACE, low, 1, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, high, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(2(a, i0), a, f8.6, 2(a, f6.4), 2(a, f6.4), a)', "pressure on ", n, " x ", n, " cells: ", low, &
        " .. ", high, " Pa, mean ", sums(1) / n**2, " Pa, center (", sums(2) / sums(1), ", ", sums(3) / sums(1), ") m"
    if (norm2(sums(2:3) / sums(1) - 0.5_dp) > 0.01_dp) error stop 1
    call MPI_Finalize()
end program
