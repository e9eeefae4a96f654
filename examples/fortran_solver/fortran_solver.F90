! SPDX-License-Identifier: Apache-2.0
! Two fluids in a porous square: a Fortran program with its own grid, halo exchange, conjugate
! gradients and time loop. The six lines that end with !+ are all that a trained network needs.
!
!   build   cmake -S examples/fortran_solver -B solver -DCMAKE_PREFIX_PATH=PREFIX
!           cmake --build solver
!           with libsurrogate installed in PREFIX
!   run     mpirun -n 4 solver/fortran_solver [cells per side, default 40 [tolerance, default 1e-2]]
!   prints  for each pressure method: iterations of the linear solver in all steps, and the distance
!           of the fluids at the end from the result with a tight tolerance. The network's pressure
!           has small, rough errors: at a loose tolerance it saves more iterations than the pressure
!           of the previous step, from 1e-6 on it saves none.
!
! The injected fluid (c = 1) displaces the other one:
!     u = -a grad p,   div u = 1,   p = 0 at the edges,   a = 3 + 9 c    mobility in m^2/(Pa s)
!     dc/dt + div(u c) - D laplace c = 1                                 explicit, upwind
!
! Each rank has a block of n_x x n_y cells, in arrays with one layer of ghost cells around it. The
! network reads and writes the inner part of these arrays in place.
program fortran_solver
    use mpi
    use surrogate                                                                                   !+
    implicit none
    integer, parameter :: dp = kind(1.0d0), n_step = 24
    integer, parameter :: reference = 1, zero = 2, previous = 3, network = 4, alone = 5
    real(dp), parameter :: dt = 0.02_dp, diffusion = 1e-3_dp, tight = 1e-8_dp
    character(len=*), parameter :: names(5) = [character(len=44) :: "solved to 1e-8", "solved from zero", &
        "solved from the previous pressure", "solved from the network's pressure", "the network's pressure, nothing solved"]
    real(dp), allocatable, target :: a(:, :), p(:, :)   ! mobility, pressure: with ghost cells
    real(dp), allocatable :: c(:, :), c_first(:, :), x(:, :, :), r(:, :), d(:, :), q(:, :), z(:, :)
    real(dp) :: h, tolerance, asked, largest, mean
    integer :: n, n_x, n_y, rank, comm, west, east, south, north, way, step, n_iteration, ierr
    character(len=16) :: argument
    type(surrogate_plan) :: plan                                                                    !+

    call MPI_Init(ierr)
    call get_command_argument(1, argument)
    n = 40
    if (argument /= "") read (argument, *) n
    call get_command_argument(2, argument)
    asked = 1e-2_dp
    if (argument /= "") read (argument, *) asked
    h = 1.0_dp / n
    call make_grid()

    call surrogate_plan_open(plan, comm, MODEL, x)                                                  !+
    call surrogate_plan_bind_input(plan, "mobility", a(1:n_x, 1:n_y), "m^2/(Pa s)")                 !+
    call surrogate_plan_bind_output(plan, "pressure", p(1:n_x, 1:n_y), "Pa")                        !+

    if (rank == 0) print '(3(a, i0), a, es7.1)', "Two fluids in a porous square: ", n, " x ", n, " cells, ", n_step, &
        " steps, pressure to ", asked
    if (rank == 0) print '(a44, 3a14)', "pressure", "iterations", "largest error", "mean error"
    do way = reference, alone
        tolerance = merge(tight, asked, way == reference)
        call set_fluid()
        p = 0
        n_iteration = 0
        do step = 1, n_step
            a = 3 + 9 * c
            call exchange(a, 1.0_dp)
            if (way == zero) p = 0
            if (way >= network) call surrogate_plan_run(plan)                                       !+
            if (way /= alone) call solve_pressure(n_iteration)
            call move_fluid()
        end do
        if (way == reference) c_first = c
        largest = maxval(abs(c(1:n_x, 1:n_y) - c_first(1:n_x, 1:n_y)))
        mean = sum(abs(c(1:n_x, 1:n_y) - c_first(1:n_x, 1:n_y))) * h**2
        call MPI_Allreduce(MPI_IN_PLACE, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, ierr)
        call MPI_Allreduce(MPI_IN_PLACE, mean, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
        if (rank == 0) print '(a44, i14, 2es14.1)', names(way), n_iteration, largest, mean
    end do
    call MPI_Finalize(ierr)

contains

    ! Sets up this rank's block, the neighbors, and the centers of its cells.
    subroutine make_grid()
        integer :: size, i, j, sides(2), place(2), first(2), last(2)
        call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
        sides = 0
        call MPI_Dims_create(size, 2, sides, ierr)
        call MPI_Cart_create(MPI_COMM_WORLD, 2, sides, [.false., .false.], .false., comm, ierr)
        call MPI_Comm_rank(comm, rank, ierr)
        call MPI_Cart_coords(comm, rank, 2, place, ierr)
        call MPI_Cart_shift(comm, 0, 1, west, east, ierr)
        call MPI_Cart_shift(comm, 1, 1, south, north, ierr)
        first = n * place / sides
        last = n * (place + 1) / sides
        n_x = last(1) - first(1)
        n_y = last(2) - first(2)
        allocate (a(0:n_x + 1, 0:n_y + 1), x(2, n_x, n_y))
        allocate (p, c, c_first, r, d, q, z, mold=a)
        do j = 1, n_y
            do i = 1, n_x
                x(:, i, j) = (first + [i, j] - 0.5_dp) * h
            end do
        end do
    end subroutine

    ! Sets the initial fluids: a smooth pattern.
    subroutine set_fluid()
        real(dp), parameter :: pi = acos(-1.0_dp)
        c = 0
        c(1:n_x, 1:n_y) = 1 / (1 + exp(-4 * (cos(pi * x(1, :, :)) + 1.5_dp * cos(2 * pi * x(2, :, :)) &
            + cos(3 * pi * x(1, :, :)) * cos(2 * pi * x(2, :, :)))))
    end subroutine

    ! Fills the ghost cells: from the neighbors, at the edges of the square with mirror * the cell
    ! inside.
    subroutine exchange(f, mirror)
        real(dp), intent(inout) :: f(0:, 0:)
        real(dp), intent(in) :: mirror
        real(dp) :: sent(n_y), received(n_y)
        sent = f(1, 1:n_y)
        received = mirror * f(n_x, 1:n_y)
        call swap(sent, received, n_y, west, east)
        f(n_x + 1, 1:n_y) = received
        sent = f(n_x, 1:n_y)
        received = mirror * f(1, 1:n_y)
        call swap(sent, received, n_y, east, west)
        f(0, 1:n_y) = received
        f(1:n_x, n_y + 1) = mirror * f(1:n_x, n_y)
        call swap(f(1:n_x, 1), f(1:n_x, n_y + 1), n_x, south, north)
        f(1:n_x, 0) = mirror * f(1:n_x, 1)
        call swap(f(1:n_x, n_y), f(1:n_x, 0), n_x, north, south)
    end subroutine

    subroutine swap(sent, received, n_value, to, from)
        integer, intent(in) :: n_value, to, from
        real(dp), intent(in) :: sent(n_value)
        real(dp), intent(inout) :: received(n_value)
        call MPI_Sendrecv(sent, n_value, MPI_DOUBLE_PRECISION, to, 0, received, n_value, MPI_DOUBLE_PRECISION, from, 0, &
            comm, MPI_STATUS_IGNORE, ierr)
    end subroutine

    ! Returns the flux of a face per pressure difference, for cells with mobilities a1 and a2: their
    ! harmonic mean. At an edge the ghost's p is -p: half the distance.
    elemental function face(a1, a2)
        real(dp), intent(in) :: a1, a2
        real(dp) :: face
        face = 2 * a1 * a2 / (a1 + a2)
    end function

    ! Computes g, the outflow of each cell for the pressure f.
    subroutine apply(f, g)
        real(dp), intent(inout) :: f(0:, 0:)
        real(dp), intent(inout) :: g(0:, 0:)
        integer :: i, j
        call exchange(f, -1.0_dp)
        do j = 1, n_y
            do i = 1, n_x
                g(i, j) = face(a(i, j), a(i - 1, j)) * (f(i, j) - f(i - 1, j)) &
                    + face(a(i, j), a(i + 1, j)) * (f(i, j) - f(i + 1, j)) &
                    + face(a(i, j), a(i, j - 1)) * (f(i, j) - f(i, j - 1)) &
                    + face(a(i, j), a(i, j + 1)) * (f(i, j) - f(i, j + 1))
            end do
        end do
    end subroutine

    function dot(f, g)
        real(dp), intent(in) :: f(0:, 0:), g(0:, 0:)
        real(dp) :: dot
        dot = sum(f(1:n_x, 1:n_y) * g(1:n_x, 1:n_y))
        call MPI_Allreduce(MPI_IN_PLACE, dot, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
    end function

    ! Runs conjugate gradients from the values in p, preconditioned approximately by the diagonal,
    ! until |r| <= tolerance |h^2|.
    subroutine solve_pressure(n_iteration)
        integer, intent(inout) :: n_iteration
        real(dp) :: rz, rz_old, step_length
        call apply(p, q)
        r = h**2 - q
        d = 0
        rz_old = huge(rz_old)
        do while (sqrt(dot(r, r)) > tolerance * h)   ! |h^2| over n^2 cells is h
            z = r / a
            rz = dot(r, z)
            d = z + rz / rz_old * d
            call apply(d, q)
            step_length = rz / dot(d, q)
            p = p + step_length * d
            r = r - step_length * q
            rz_old = rz
            n_iteration = n_iteration + 1
        end do
    end subroutine

    ! Performs one step of the fluids with the velocity of p, in sub-steps that move at most half of
    ! the content of a cell.
    subroutine move_fluid()
        real(dp) :: flux(4, n_x, n_y), next(n_x, n_y), around(4), largest_outflow
        integer :: i, j, sub, n_sub
        call exchange(p, -1.0_dp)
        do j = 1, n_y
            do i = 1, n_x
                flux(:, i, j) = [face(a(i, j), a(i - 1, j)) * (p(i, j) - p(i - 1, j)), &
                    face(a(i, j), a(i + 1, j)) * (p(i, j) - p(i + 1, j)), &
                    face(a(i, j), a(i, j - 1)) * (p(i, j) - p(i, j - 1)), &
                    face(a(i, j), a(i, j + 1)) * (p(i, j) - p(i, j + 1))]
            end do
        end do
        largest_outflow = maxval(sum(max(flux, 0.0_dp), 1))
        call MPI_Allreduce(MPI_IN_PLACE, largest_outflow, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, ierr)
        n_sub = max(1, ceiling(2 * dt * (largest_outflow + 4 * diffusion) / h**2))
        do sub = 1, n_sub
            call exchange(c, 1.0_dp)
            do j = 1, n_y
                do i = 1, n_x
                    around = [c(i - 1, j), c(i + 1, j), c(i, j - 1), c(i, j + 1)]
                    next(i, j) = c(i, j) + dt / n_sub * (1 - (sum(max(flux(:, i, j), 0.0_dp)) * c(i, j) &
                        + sum(min(flux(:, i, j), 0.0_dp) * around) + diffusion * sum(c(i, j) - around)) / h**2)
                end do
            end do
            c(1:n_x, 1:n_y) = min(max(next, 0.0_dp), 1.0_dp)   ! an exact pressure needs no limits
        end do
    end subroutine
end program
