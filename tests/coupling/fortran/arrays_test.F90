! SPDX-License-Identifier: Apache-2.0
! Arrays of every kind and layout give the bits of a contiguous one, and what lies around them stays as it was.
!   arrays_test <model>
program arrays_test
    use, intrinsic :: iso_c_binding
    use surrogate
    use checks
    implicit none
    integer, parameter :: dp = c_double, sp = c_float, n = 20, n_x = 5, n_y = 4
    type :: cell
        real(dp) :: mobility
        integer(c_int) :: colour
        real(sp) :: pressure
    end type
    type(surrogate_context) :: context
    type(surrogate_model) :: model
    type(surrogate_domain) :: domain
    type(surrogate_plan) :: plan
    real(dp), target :: x(2, n), a(n), p(n), expected(n)
    integer(c_int) :: status
    integer :: i
    character(len=1024) :: path

    call get_command_argument(1, path)
    call surrogate_context_create(context, options="threads=1")
    call surrogate_model_load(model, context, path)
    do i = 1, n
        x(:, i) = [modulo(0.37_dp * i, 1.0_dp), modulo(0.61_dp * i, 1.0_dp)]
        a(i) = 3 + 9 * modulo(i * 5, 8) / 8.0_dp   ! the same in single precision
    end do
    call surrogate_domain_create_points(domain, context, x)
    call surrogate_plan_create(plan, model, domain)
    call surrogate_plan_bind_input(plan, "mobility", a, "m^2/(Pa s)")
    call surrogate_plan_bind_output(plan, "pressure", expected, "Pa")
    call surrogate_plan_run(plan)
    call check(maxval(expected) > minval(expected), "the reference is a field")

    call ranks()
    call kinds()
    call sections()
    call components()
    call coordinates()
    call point_numbers()
    call gradients()
    call nothing()
    call network()
    call refused()
    call done()

contains

    subroutine run_and_compare(found, what)
        real(dp), intent(in) :: found(n)
        character(len=*), intent(in) :: what
        call check(all(found == expected), what)
    end subroutine

    subroutine ranks()
        real(dp), target :: a2(n_x, n_y), a3(n_x, 2, 2), a4(1, n_x, 2, 2), p2(n_x, n_y), p3(n_x, 2, 2), p4(n_x, 1, 2, 2)
        a2 = reshape(a, shape(a2))
        a3 = reshape(a, shape(a3))
        a4 = reshape(a, shape(a4))
        p2 = -1
        p3 = -1
        p4 = -1
        call surrogate_plan_bind_input(plan, "mobility", a2)
        call surrogate_plan_bind_output(plan, "pressure", p3)
        call surrogate_plan_run(plan)
        call check(all(reshape(p3, [n]) == expected), "rank 2 in, rank 3 out")
        call surrogate_plan_bind_input(plan, "mobility", a3)
        call surrogate_plan_bind_output(plan, "pressure", p4)
        call surrogate_plan_run(plan)
        call check(all(reshape(p4, [n]) == expected), "rank 3 in, rank 4 out")
        call surrogate_plan_bind_input(plan, "mobility", a4)
        call surrogate_plan_bind_output(plan, "pressure", p2)
        call surrogate_plan_run(plan)
        call check(all(reshape(p2, [n]) == expected), "rank 4 in, rank 2 out")
        call surrogate_plan_bind_input(plan, "mobility", a2, component_dim=0_c_int)
        call surrogate_plan_bind_output_block(plan, "pressure", p2, "Pa")
        p2 = -1
        call surrogate_plan_run(plan)
        call check(all(reshape(p2, [n]) == expected), "a block without ghosts")
    end subroutine

    subroutine kinds()
        real(sp), target :: a_single(n), p_single(n), x_single(2, n)
        type(surrogate_domain) :: other
        type(surrogate_plan) :: other_plan
        a_single = real(a, sp)
        x_single = real(x, sp)
        p_single = -1
        call surrogate_plan_bind_input(plan, "mobility", a_single, "m^2/(Pa s)")
        call surrogate_plan_bind_output(plan, "pressure", p_single, "Pa")
        call surrogate_plan_run(plan)
        call check(all(p_single == real(expected, sp)), "real(4)")
        call surrogate_domain_create_points(other, context, x_single)
        call surrogate_plan_create(other_plan, model, other)
        call surrogate_plan_bind_input(other_plan, "mobility", a)
        call surrogate_plan_bind_output(other_plan, "pressure", p)
        call surrogate_plan_run(other_plan)
        call check(maxval(abs(p - expected)) < 1e-5 * maxval(abs(expected)), "coordinates in real(4)")
    end subroutine

    ! Inner parts of arrays with ghosts, every second element, reversed, more than one at once.
    subroutine sections()
        real(dp), target :: ghosts(0:n_x + 1, 0:n_y + 1), out(0:n_x + 2, n_y, 2), twice(2 * n), back(n), deep(3, n_x, 3, 2, 4, 2)
        ghosts = 1e30_dp
        ghosts(1:n_x, 1:n_y) = reshape(a, [n_x, n_y])
        out = -1
        call surrogate_plan_bind_input(plan, "mobility", ghosts(1:n_x, 1:n_y), "m^2/(Pa s)")
        call surrogate_plan_bind_output(plan, "pressure", out(1:n_x, :, 2), "Pa")
        call surrogate_plan_run(plan)
        call check(all(reshape(out(1:n_x, :, 2), [n]) == expected), "inner parts")
        call check(all(out(:, :, 1) == -1) .and. all(out([0, n_x + 1, n_x + 2], :, 2) == -1), "ghosts stay")
        call check(count(ghosts == 1e30_dp) == size(ghosts) - n, "inputs are only read")

        twice = 1e30_dp
        twice(2::2) = a
        back = -1
        call surrogate_plan_bind_input(plan, "mobility", twice(2::2))
        call surrogate_plan_bind_output(plan, "pressure", back(n:1:-1))
        call surrogate_plan_run(plan)
        call check(all(back(n:1:-1) == expected), "every second element, and backwards")

        ghosts(1:n_x, n_y:1:-1) = reshape(a, [n_x, n_y])
        out = -1
        call surrogate_plan_bind_input(plan, "mobility", ghosts(1:n_x, n_y:1:-1))
        call surrogate_plan_bind_output(plan, "pressure", out(n_x:1:-1, :, 1))
        call surrogate_plan_run(plan)
        call check(all(reshape(out(n_x:1:-1, :, 1), [n]) == expected), "blocks backwards")

        deep = -1
        deep(2, :, 1:3:2, 1, 1:4:3, 2) = reshape(a, [n_x, 2, 2])
        call surrogate_plan_bind_input(plan, "mobility", deep(2, :, 1:3:2, 1, 1:4:3, 2))
        call surrogate_plan_bind_output(plan, "pressure", deep(1, :, 1:3:2, 2, 1:4:3, 1))
        call surrogate_plan_run(plan)
        call check(all(reshape(deep(1, :, 1:3:2, 2, 1:4:3, 1), [n]) == expected), "a block of three axes")
        call check(count(deep /= -1) == 2 * n, "what lies between stays")
    end subroutine

    ! Fields inside derived types, and addresses.
    subroutine components()
        type(cell), target :: cells(n)
        real(dp), pointer :: mobility(:)
        real(dp), target :: rows(n, 3), columns(3, n)
        type(surrogate_array) :: view
        cells%mobility = a
        cells%colour = 7
        cells%pressure = -1
        view = surrogate_array_of(cells%mobility)
        call check(view%stride(1) * view%n_byte == storage_size(cells(1)) / 8, "cells%mobility is not copied")
        call surrogate_plan_bind_input(plan, "mobility", view)
        view = surrogate_array_of(cells%pressure)
        call surrogate_plan_bind_output(plan, "pressure", view)
        call surrogate_plan_run(plan)
        call check(all(cells%pressure == real(expected, sp)) .and. all(cells%colour == 7), "components of derived types")

        mobility => cells%mobility
        p = -1
        view = surrogate_array_of(mobility)
        call surrogate_plan_bind_input(plan, "mobility", view)
        view = surrogate_make_array(c_loc(p(1)), [n_x, n_y], [1, n_x])
        call surrogate_plan_bind_output(plan, "pressure", view, "Pa")
        call surrogate_plan_run(plan)
        call run_and_compare(p, "a pointer, an address")

        rows = 1e30_dp
        rows(:, 2) = a
        columns = -1
        call surrogate_plan_bind_input(plan, "mobility", rows(:, 2:2), component_dim=2_c_int)
        call surrogate_plan_bind_output(plan, "pressure", columns(3:3, :), component_dim=1_c_int)
        call surrogate_plan_run(plan)
        call check(all(columns(3, :) == expected) .and. all(columns(1:2, :) == -1), "a vector of one component")
    end subroutine

    ! x(2, n_x, n_y), with gaps that no single distance describes, and given back by the domain.
    subroutine coordinates()
        real(dp), target :: gaps(0:3, 0:n_x, n_y + 1)
        type(surrogate_domain) :: other
        type(surrogate_plan) :: other_plan
        real(dp), pointer :: kept(:, :)
        integer(c_int64_t), pointer :: ids(:)
        gaps = 1e30_dp
        gaps(1:2, 1:, 1:n_y) = reshape(x, [2, n_x, n_y])
        call surrogate_domain_create_points(other, context, gaps(1:2, 1:, 1:n_y), global_id=[(i, i = 101, 100 + n)])
        call surrogate_domain_points(other, kept, ids)
        call check(all(kept == transpose(x)) .and. all(ids == [(i, i = 101, 100 + n)]), "coordinates and ids are kept")
        call surrogate_plan_create(other_plan, model, other)
        call surrogate_plan_bind_input(other_plan, "mobility", a)
        call surrogate_plan_bind_output(other_plan, "pressure", p)
        p = -1
        call surrogate_plan_run(other_plan)
        call run_and_compare(p, "coordinates with gaps")
    end subroutine

    ! Numbers of points in any kind and layout.
    subroutine point_numbers()
        integer(c_int64_t) :: wide(2, n)
        integer(c_int32_t) :: narrow(n_x, n_y)
        real(sp) :: weight(n)
        type(surrogate_domain) :: other
        integer(c_int64_t), pointer :: ids(:), clouds(:)
        real(dp), pointer :: kept(:, :), weights(:)
        wide(1, :) = -1
        wide(2, :) = [(2_c_int64_t**40 + i, i = 1, n)]
        narrow = reshape([(merge(0, 1, i < 10), i = 0, n - 1)], [n_x, n_y])
        weight = 0.5_sp
        call surrogate_domain_create_points(other, context, x, wide(2, :), narrow, weight)
        call surrogate_domain_points(other, kept, ids, clouds, weights)
        call check(all(ids == wide(2, :)), "integer(8) every second element")
        call check(all(clouds == reshape(narrow, [n])), "integer(4) of rank 2")
        call check(all(weights == 0.5_dp), "weights in real(4)")
        call surrogate_domain_create_points(other, context, x, wide(:, 1:3), status=status)
        call check_status(status, surrogate_shape, "global_id: expected a number for each of 20 points")
        call surrogate_domain_create_points(other, context, x, weight, status=status)
        call check_status(status, surrogate_invalid_argument, "global_id: expected integer(4) or integer(8); found real of 4")
        call check(.not. c_associated(other%handle), "nothing is left of a domain that failed")
    end subroutine

    ! Blocks with ghosts and contiguous arrays have the same derivatives.
    subroutine gradients()
        real(dp), target :: w(n), g(n), w_in(0:n_x + 1, 0:n_y + 1), g_in(0:n_x + 1, 0:n_y + 1)
        real(dp), target :: v(n), jv(n), v_in(0:n_x + 1, 0:n_y + 1), jv_in(0:n_x + 1, 0:n_y + 1)
        type(surrogate_plan) :: back
        call surrogate_plan_create(back, model, domain, options="gradients=inputs")
        call surrogate_plan_bind_input(back, "mobility", a, "m^2/(Pa s)")
        call surrogate_plan_bind_output(back, "pressure", p, "Pa")
        do i = 1, n
            w(i) = modulo(i * 7, 5) - 2
        end do
        call surrogate_plan_bind_output_gradient(back, "pressure", w, "Pa")
        call surrogate_plan_bind_input_gradient(back, "mobility", g, "m^2/(Pa s)")
        call surrogate_plan_run_backward(back, status)
        call check_status(status, surrogate_invalid_argument, "call surrogate_plan_run first")
        call surrogate_plan_run(back)
        call surrogate_plan_run_backward(back)
        call check(all(p == expected) .and. maxval(abs(g)) > 0, "predictions and derivatives")

        w_in = 1e30_dp
        w_in(1:n_x, 1:n_y) = reshape(w, [n_x, n_y])
        g_in = -1
        call surrogate_plan_bind_output_gradient(back, "pressure", w_in(1:n_x, 1:n_y))
        call surrogate_plan_bind_input_gradient_block(back, "mobility", g_in(1:n_x, 1:n_y))
        call surrogate_plan_run(back)
        call surrogate_plan_run_backward(back)
        call check(all(reshape(g_in(1:n_x, 1:n_y), [n]) == g), "derivatives in inner parts")
        call check(count(g_in == -1) >= size(g_in) - n, "ghosts of derivatives stay")

        ! <w, J v> = <J^T w, v>
        do i = 1, n
            v(i) = modulo(i * 3, 7) - 3
        end do
        call surrogate_plan_bind_input_tangent(back, "mobility", v, "m^2/(Pa s)")
        call surrogate_plan_bind_output_tangent(back, "pressure", jv, "Pa")
        call surrogate_plan_run_tangent(back)
        call check(abs(dot_product(w, jv) - dot_product(g, v)) < 2e-4_dp * abs(dot_product(g, v)), "both products agree")
        v_in = 1e30_dp
        v_in(1:n_x, 1:n_y) = reshape(v, [n_x, n_y])
        jv_in = -1
        call surrogate_plan_bind_input_tangent_block(back, "mobility", v_in(1:n_x, 1:n_y))
        call surrogate_plan_bind_output_tangent_block(back, "pressure", jv_in(1:n_x, 1:n_y))
        call surrogate_plan_run_tangent(back)
        call check(all(reshape(jv_in(1:n_x, 1:n_y), [n]) == jv), "tangents in inner parts")
        call check(count(jv_in == -1) >= size(jv_in) - n, "ghosts of tangents stay")
    end subroutine

    subroutine nothing()
        real(dp), target :: no_x(2, 0), none(0), no_block(3, 0)
        type(surrogate_domain) :: empty
        type(surrogate_plan) :: empty_plan
        integer(c_int64_t) :: n_local, n_global
        call surrogate_domain_create_points(empty, context, no_x)
        call surrogate_domain_n_points(empty, n_local, n_global)
        call check(n_local == 0 .and. n_global == 0, "no points")
        call surrogate_plan_create(empty_plan, model, empty)
        call surrogate_plan_bind_input(empty_plan, "mobility", none)
        call surrogate_plan_bind_output(empty_plan, "pressure", no_block(3:1, :))
        call surrogate_plan_run(empty_plan)
    end subroutine

    ! The bare network takes u(n_channel, n_point).
    subroutine network()
        type(surrogate_port_info) :: port
        real(dp), allocatable, target :: in(:, :)
        real(dp), target :: out(1, 2, n), short(3)
        type(surrogate_named_array) :: inputs(1), outputs(1)
        integer(c_int32_t) :: n_ports
        call surrogate_model_n_ports(model, n_ports)
        call surrogate_model_port(model, 0_c_int32_t, port)
        call check(n_ports == 2 .and. port%name == "x" .and. port%is_output == 0, "ports")
        allocate (in(port%n_channel, n))
        in = 0.25_dp
        out = -1
        inputs(1) = surrogate_make_named_array("x", in)
        outputs(1) = surrogate_make_named_array("y", out(:, 2, :))
        call surrogate_plan_run_network(plan, inputs, outputs)
        call check(all(out(:, 1, :) == -1) .and. all(out(:, 2, :) /= -1), "the network's output")
        outputs(1) = surrogate_make_named_array("y", short)
        call surrogate_plan_run_network(plan, inputs, outputs, status)
        call check_status(status, surrogate_shape, "y: expected an array whose first dimension runs over columns")
    end subroutine

    ! Arrays that cannot be used are named.
    subroutine refused()
        integer(c_int), target :: whole(n)
        complex(dp), target :: z(n)
        logical, target :: yes(n)
        character(len=8), target :: words(n)
        type(cell), target :: cells(n)
        real(dp), target :: deep(1, 1, 1, 1, n), deeper(1, 1, 1, 1, 1, n)
        call surrogate_plan_bind_input(plan, "mobility", whole, status=status)
        call check_status(status, surrogate_invalid_argument, "mobility: expected real(4) or real(8); found integer of 4")
        call surrogate_plan_bind_input(plan, "mobility", z, status=status)
        call check_status(status, surrogate_invalid_argument, "found complex of 16 bytes, shape 20")
        call surrogate_plan_bind_input(plan, "mobility", yes, status=status)
        call check_status(status, surrogate_invalid_argument, "mobility: expected real(4) or real(8); found")
        call surrogate_plan_bind_input(plan, "mobility", words, status=status)
        call check_status(status, surrogate_invalid_argument, "found character of 8 bytes")
        call surrogate_plan_bind_input(plan, "mobility", cells, status=status)
        call check_status(status, surrogate_invalid_argument, "found a derived type of 16 bytes")
        call surrogate_plan_bind_input(plan, "mobility", deeper, status=status)
        call check_status(status, surrogate_invalid_argument, "an array of more than 5 dimensions")
        call surrogate_plan_bind_input(plan, "mobility", deep, status=status)
        call check_status(status, surrogate_shape, "mobility: a field has at most 4 dimensions, found 5")
        call surrogate_plan_bind_input(plan, "mobility", a, component_dim=2_c_int, status=status)
        call check_status(status, surrogate_shape, "component_dim is 2, the array has rank 1")
        call surrogate_plan_bind_input(plan, "mobility", a(2:), status=status)
        call check(status == surrogate_shape, "one point too few")
        call surrogate_plan_bind_input(plan, "mobility", a, "bar", status=status)
        call check_status(status, surrogate_invalid_argument, "bar")
        call surrogate_plan_bind_input(plan, "mobilty   ", a, status=status)
        call check_status(status, surrogate_unknown_name, "mobilty'")
        call surrogate_domain_create_points(domain, context, a, status=status)
        call check_status(status, surrogate_shape, "coordinates: expected an array whose first dimension runs over columns")
        call surrogate_domain_create_points(domain, context, whole, status=status)
        call check_status(status, surrogate_invalid_argument, "expected real(4) or real(8) x(n_axis, n_point); found integer")
    end subroutine
end program
