! SPDX-License-Identifier: Apache-2.0
! Objects: finalizers, destroying twice, options, texts, and the errors of wrong calls.
!   objects_test <model> <file to write>
program objects_test
    use, intrinsic :: iso_c_binding
    use surrogate
    use checks
    implicit none
    interface
        function count_destroyed() bind(c) result(n)
            import :: c_int
            integer(c_int) :: n
        end function
    end interface
    type(surrogate_context) :: context
    type(surrogate_model) :: model
    integer(c_int) :: status
    character(len=1024) :: path, copy
    character(len=:), allocatable :: text

    call get_command_argument(1, path)
    call get_command_argument(2, copy)
    call surrogate_context_create(context, options="threads=1")
    call finalizers()
    call destroyed_twice()
    call options_as_text()
    call logs()
    call cards()
    call weights()
    call grids()
    call orders()
    call wrong_calls()
    call done()

contains

    subroutine local_model()
        type(surrogate_model) :: mine
        call surrogate_model_load(mine, context, path)
    end subroutine

    subroutine finalizers()
        type(surrogate_model), allocatable :: one, several(:)
        integer(c_int) :: before
        integer :: i
        before = count_destroyed()
        call local_model()
        call check(count_destroyed() == before + 1, "a local object")
        allocate (one, several(3))
        call surrogate_model_load(one, context, path)
        do i = 1, 3
            call surrogate_model_load(several(i), context, path)
        end do
        deallocate (one)
        call check(count_destroyed() == before + 2, "an allocatable object")
        deallocate (several)
        call check(count_destroyed() == before + 5, "an array of objects")
        call surrogate_model_load(model, context, path)
        call surrogate_model_load(model, context, path)
        call check(count_destroyed() == before + 6, "an object that is made again")
    end subroutine

    subroutine destroyed_twice()
        type(surrogate_context) :: other
        type(surrogate_plan) :: never
        call surrogate_context_create(other)
        call surrogate_context_destroy(other)
        call surrogate_context_destroy(other)
        call surrogate_plan_destroy(never)
        call check(.not. c_associated(other%handle), "destroyed twice")
    end subroutine

    subroutine options_as_text()
        type(surrogate_context) :: other
        type(surrogate_options) :: options
        type(surrogate_domain) :: domain
        type(surrogate_plan) :: plan
        real(c_double) :: x(2, 3) = reshape([0.1d0, 0.2d0, 0.3d0, 0.4d0, 0.5d0, 0.6d0], [2, 3])
        call surrogate_options_create(options)
        call surrogate_options_set(options, "threads ", "1 ")
        call surrogate_context_create(other, options_object=options)
        call surrogate_domain_create_points(domain, context, x)
        call surrogate_plan_create(plan, model, domain, options="  backend=ref   precision=fp64 ")
        call surrogate_plan_option(plan, "precision", text)
        call check(text == "fp64", "precision is "//text)
        call surrogate_plan_option(plan, "threads", text)
        call check(text == "1", "threads is "//text)
        call surrogate_plan_option(plan, "precison", text, status)
        call check_status(status, surrogate_unknown_name, "precision")
        call surrogate_context_create(other, options="thread=2", status=status)
        call check_status(status, surrogate_unknown_name, "threads")
        call surrogate_context_create(other, options="threads=many", status=status)
        call check_status(status, surrogate_invalid_argument, "many")
        call surrogate_context_create(other, options="threads=1 fast", status=status)
        call check_status(status, surrogate_invalid_argument, "options: expected key=value key=value .., found 'fast'")
        call surrogate_context_create(other, options="threads=1", options_object=options, status=status)
        call check_status(status, surrogate_invalid_argument, "expected one of them, found both")
    end subroutine

    subroutine count_lines(user, line) bind(c)
        type(c_ptr), value :: user, line
        integer, pointer :: n
        call c_f_pointer(user, n)
        if (index(surrogate_text(line), "points") > 0) n = n + 1
    end subroutine

    subroutine logs()
        type(surrogate_domain) :: domain
        type(surrogate_plan) :: plan
        integer, target :: n
        real(c_double) :: x(2, 1) = 0.5d0
        n = 0
        call surrogate_context_set_log(context, count_lines, c_loc(n))
        call surrogate_domain_create_points(domain, context, x)
        call surrogate_plan_create(plan, model, domain)
        call check(n == 1, "the log gets the plan's table")
        call surrogate_context_set_log(context)
        call surrogate_plan_create(plan, model, domain)
        call check(n == 1, "no log, no lines")
        call surrogate_plan_describe(plan, text)
        call check(index(text, "points") > 0, "the plan's table")
        call surrogate_context_describe(context, text)
        call check(index(text, surrogate_version()) > 0, "the context's table")
    end subroutine

    subroutine cards()
        type(surrogate_field_info) :: info
        type(surrogate_domain_info) :: where
        integer(c_int32_t) :: n_in, n_out
        call surrogate_model_n_inputs(model, n_in)
        call surrogate_model_n_outputs(model, n_out)
        call surrogate_model_input(model, n_in - 1_c_int32_t, info)
        call check(info%name == "mobility" .and. info%unit == "m^2/(Pa s)" .and. info%role == surrogate_field &
            .and. info%max > info%min, "the card's input "//info%name)
        call surrogate_model_output(model, 0_c_int32_t, info)
        call check(n_out == 1 .and. info%name == "pressure" .and. info%std > 0, "the card's output")
        call surrogate_model_input(model, n_in, info, status)
        call check(status == surrogate_invalid_argument, "no such input")
        call surrogate_model_domain(model, 0_c_int32_t, where)
        call check(where%kind == surrogate_points .and. where%grid == "", "the card's domain")
        call surrogate_model_family(model, text)
        call check(text == "flare", "the family")
        call surrogate_model_describe(model, text)
        call check(text(1:1) == "{" .and. text(len(text):) == "}", "the card as JSON")
    end subroutine

    ! Bytes of a file, a copy of it, tensors of its check case, and a network of no weights.
    subroutine weights()
        type(surrogate_model) :: other
        type(surrogate_check_case) :: check_case
        type(surrogate_tensor) :: tensor, tensors(1)
        integer(c_int8_t), allocatable, target :: bytes(:)
        real(c_float), pointer :: values(:, :)
        real(c_double), target :: numbers(4, 3)
        integer(c_int64_t) :: hash(2)
        integer(c_int32_t) :: n
        integer :: unit, n_byte
        inquire (file=path, size=n_byte)
        allocate (bytes(n_byte))
        open (newunit=unit, file=path, access="stream", form="unformatted", action="read")
        read (unit) bytes
        close (unit)
        call surrogate_model_load_memory(other, context, bytes)
        call surrogate_model_hash(model, hash(1))
        call surrogate_model_hash(other, hash(2))
        call check(hash(1) == hash(2), "the same model from memory")
        call surrogate_model_load_memory(other, context, bytes(::2), status)
        call check(status == surrogate_shape, "bytes with gaps")
        call surrogate_model_save(model, copy)
        call surrogate_model_load(other, context, copy)
        call surrogate_model_hash(other, hash(2))
        call check(hash(1) == hash(2), "the same model from a copy")

        call surrogate_check_case_load(check_case, context, path)
        call surrogate_check_case_n_tensors(check_case, n)
        call surrogate_check_case_tensor(check_case, 0_c_int32_t, tensor)
        call check(n > 0 .and. scan(tensor%name, "/") > 0, "a check case")
        call c_f_pointer(tensor%array%data, values, tensor%array%shape(1:2))
        call check(tensor%array%stride(2) == tensor%array%shape(1) .and. size(values) > 0, "row-major is column-major")
        call surrogate_check_case_tensor(check_case, n, tensor, status)
        call check(status == surrogate_invalid_argument, "no such tensor")

        tensors(1) = surrogate_make_tensor("weight", numbers(1:3, :))
        call surrogate_model_create(other, context, "{}", tensors, status)
        call check_status(status, surrogate_shape, "tensor weight: expected a contiguous array")
        tensors(1) = surrogate_make_tensor("weight", numbers)
        call surrogate_model_create(other, context, "{}", tensors, status)
        call check(status == surrogate_bad_file, "a card without a network")
    end subroutine

    subroutine grids()
        type(surrogate_domain) :: sphere
        type(surrogate_sphere_info) :: info
        real(c_double) :: latitude(8), longitude(16), weight(8)
        integer(c_int64_t) :: n_local, n_global
        integer(c_int64_t), allocatable :: rows(:)
        integer(c_int64_t) :: block(4)
        call surrogate_sphere_nodes("legendre-gauss", 8_c_int64_t, 16_c_int64_t, latitude, longitude, weight)
        call check(abs(sum(weight) * 16 - 1) < 1d-12 .and. latitude(1) > latitude(8), "nodes on the sphere")
        call surrogate_sphere_nodes("legendre-gauss", 9_c_int64_t, 16_c_int64_t, latitude, status=status)
        call check_status(status, surrogate_shape, "latitude: expected 9 numbers, found 8")
        call surrogate_domain_create_sphere(sphere, context, "legendre-gauss", 8_c_int64_t, 16_c_int64_t, 0_c_int64_t, &
            8_c_int64_t, 0_c_int64_t, 16_c_int64_t, latitude(8:1:-1), longitude)
        call surrogate_domain_n_points(sphere, n_local, n_global)
        call check(n_local == 128 .and. n_global == 128, "a grid on the sphere")
        call surrogate_domain_sphere(sphere, info)
        call check(info%grid == "legendre-gauss" .and. info%n_lat_local == 8 .and. info%lat_stride == 16, "its block")
        call surrogate_domain_create_sphere(sphere, context, "legendre-gauss", 8_c_int64_t, 16_c_int64_t, 0_c_int64_t, &
            8_c_int64_t, 0_c_int64_t, 16_c_int64_t, latitude(1:7), status=status)
        call check_status(status, surrogate_shape, "latitude: has another size")
        call surrogate_domain_create_sphere(sphere, context, "gauss", 8_c_int64_t, 16_c_int64_t, 0_c_int64_t, &
            8_c_int64_t, 0_c_int64_t, 16_c_int64_t, south_to_north=1_c_int32_t, status=status)
        call check_status(status, surrogate_invalid_argument, "gauss")
        call surrogate_partition("contiguous", 10_c_int64_t, 1_c_int32_t, 3_c_int32_t, rows)
        call check(all(rows == [4, 5, 6]), "rows of a partition")
        call surrogate_partition_sphere("contiguous", 8_c_int64_t, 16_c_int64_t, 0_c_int32_t, 2_c_int32_t, block)
        call check(all(block == [0, 4, 0, 16]), "a block of the sphere")
    end subroutine

    subroutine orders()
        type(surrogate_domain) :: domain
        type(surrogate_ordering) :: order
        real(c_double) :: x(2, 3), rows(2, 3), sorted(2, 3), back(2, 3)
        integer(c_int64_t) :: first, n
        x = reshape([0.1d0, 0.2d0, 0.3d0, 0.4d0, 0.5d0, 0.6d0], [2, 3])
        rows = reshape([1, 2, 3, 4, 5, 6], [2, 3])
        call surrogate_domain_create_points(domain, context, x, global_id=[30, 10, 20])
        call surrogate_ordering_create(order, domain, 16_c_int64_t)
        call surrogate_ordering_range(order, first, n)
        call check(first == 0 .and. n == 3, "the range of an order")
        call surrogate_ordering_to_canonical(order, 16_c_int64_t, rows, sorted)
        call check(all(sorted == rows(:, [2, 3, 1])), "rows by global id")
        call surrogate_ordering_to_local(order, 16_c_int64_t, sorted, back)
        call check(all(back == rows), "and back")
        call surrogate_ordering_to_canonical(order, 8_c_int64_t, rows(1, :), sorted(1, :), status)
        call check(status == surrogate_invalid_argument, "rows that are not contiguous")
    end subroutine

    subroutine wrong_calls()
        type(surrogate_context) :: no_context
        type(surrogate_plan) :: no_plan
        type(surrogate_model) :: other
        type(surrogate_domain) :: domain
        real(c_double), target :: x(2, 3) = 0
        real(c_double) :: values(2) = [1, 2]
        call surrogate_plan_run(no_plan, status)
        call check(status == surrogate_invalid_argument, "a plan that was not made")
        call surrogate_plan_bind_input(no_plan, "mobility", x, status=status)
        call check(status == surrogate_invalid_argument, "a field of a plan that was not made")
        call surrogate_model_load(other, no_context, path, status)
        call check(status == surrogate_invalid_argument, "a context that was not made")
        call surrogate_domain_create_points(domain, no_context, x, status=status)
        call check(status == surrogate_invalid_argument, "points without a context")
        call surrogate_model_load(other, context, "no such file  ", status)
        call check_status(status, surrogate_io, "no such file")
        call check(index(surrogate_error(context), "no such file") > 0, "the context's text")
        call surrogate_context_reduce(context, surrogate_sum, values)
        call surrogate_context_reduce(context, 7_c_int, values, status)
        call check(status == surrogate_invalid_argument .and. values(1) > 0, "no such reduction")
        call surrogate_context_agree(context, surrogate_io, "the disk is full", status)
        call check_status(status, surrogate_io, "the disk is full")
        call surrogate_plan_agree(no_plan, surrogate_io, status=status)
        call check(status == surrogate_invalid_argument, "nobody to agree with")
        call surrogate_context_fail(context, surrogate_limit, "too many", status)
        call check_status(status, surrogate_limit, "too many")
    end subroutine
end program
