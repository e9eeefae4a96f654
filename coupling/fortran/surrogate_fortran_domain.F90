! SPDX-License-Identifier: Apache-2.0
#include "macros.inc"
! Part of module surrogate: domains, orderings, partitions.
module surrogate_fortran_domain
    use, intrinsic :: iso_c_binding
    use surrogate_fortran_base
    use surrogate_fortran_context
    implicit none
    private

    type, extends(surrogate_object), public :: surrogate_domain
    contains
        final :: domain_final, domain_finals
    end type
    type, extends(surrogate_object), public :: surrogate_ordering
    contains
        final :: order_final, order_finals
    end type

    ! The struct surrogate_sphere, without latitudes and longitudes.
    type, public :: surrogate_sphere_info
        character(len=:), allocatable :: grid
        integer(c_int64_t) :: n_lat = 0, n_lon = 0, first_lat = 0, n_lat_local = 0, first_lon = 0, n_lon_local = 0
        integer(c_int32_t) :: south_to_north = 0
        real(c_double) :: first_longitude = 0
        integer(c_int64_t) :: lat_stride = 0, lon_stride = 0
    end type

    type, bind(c), public :: c_points
        type(c_array) :: x
        type(c_ptr) :: global_id, cloud, weight
    end type
    type, bind(c), public :: packed_points   ! of arrays.h
        type(c_points) :: points
        type(c_ptr) :: copies(4)
    end type
    type, bind(c) :: c_sphere
        type(c_ptr) :: grid
        integer(c_int64_t) :: n_lat, n_lon, first_lat, n_lat_local, first_lon, n_lon_local
        type(c_ptr) :: latitude, longitude
        integer(c_int32_t) :: south_to_north
        real(c_double) :: first_longitude
        integer(c_int64_t) :: lat_stride, lon_stride
    end type

    interface
        function c_domain_create_points(context, points, domain) &
            bind(c, name="surrogate_domain_create_points") result(found)
            import :: c_int, c_points, c_ptr
            type(c_ptr), value :: context
            type(c_points), intent(in) :: points
            type(c_ptr), intent(out) :: domain
            integer(c_int) :: found
        end function
        function c_domain_points(domain, points) bind(c, name="surrogate_domain_points") result(found)
            import :: c_int, c_points, c_ptr
            type(c_ptr), value :: domain
            type(c_points), intent(out) :: points
            integer(c_int) :: found
        end function
        function c_domain_move(domain, points) bind(c, name="surrogate_domain_update_points") result(found)
            import :: c_int, c_points, c_ptr
            type(c_ptr), value :: domain
            type(c_points), intent(in) :: points
            integer(c_int) :: found
        end function
        function c_domain_set_edges(domain, n_edge, source, target) &
            bind(c, name="surrogate_domain_set_edges") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: domain
            integer(c_int64_t), value :: n_edge
            integer(c_int64_t), intent(in) :: source(*), target(*)
            integer(c_int) :: found
        end function
        function c_domain_n_clouds(domain, n) bind(c, name="surrogate_domain_n_clouds") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: domain
            integer(c_int64_t), intent(out) :: n
            integer(c_int) :: found
        end function
        function c_domain_create_sphere(context, sphere, domain) &
            bind(c, name="surrogate_domain_create_sphere") result(found)
            import :: c_int, c_ptr, c_sphere
            type(c_ptr), value :: context
            type(c_sphere), intent(in) :: sphere
            type(c_ptr), intent(out) :: domain
            integer(c_int) :: found
        end function
        function c_sphere_nodes(grid, n_lat, n_lon, latitude, longitude, weight) &
            bind(c, name="surrogate_sphere_nodes") result(found)
            import :: c_char, c_int, c_int64_t, c_ptr
            character(kind=c_char), intent(in) :: grid(*)
            integer(c_int64_t), value :: n_lat, n_lon
            type(c_ptr), value :: latitude, longitude, weight
            integer(c_int) :: found
        end function
        function c_domain_sphere(domain, sphere) bind(c, name="surrogate_domain_sphere") result(found)
            import :: c_int, c_ptr, c_sphere
            type(c_ptr), value :: domain
            type(c_sphere), intent(out) :: sphere
            integer(c_int) :: found
        end function
        function c_domain_n_points(domain, n_local, n_global) bind(c, name="surrogate_domain_n_points") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: domain
            integer(c_int64_t), intent(out) :: n_local, n_global
            integer(c_int) :: found
        end function
        subroutine c_domain_destroy(domain) bind(c, name="surrogate_domain_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: domain
        end subroutine
        function c_order_create(domain, row_bytes, order) bind(c, name="surrogate_ordering_create") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: domain
            integer(c_int64_t), value :: row_bytes
            type(c_ptr), intent(out) :: order
            integer(c_int) :: found
        end function
        function c_order_range(order, first, n) bind(c, name="surrogate_ordering_range") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: order
            integer(c_int64_t), intent(out) :: first, n
            integer(c_int) :: found
        end function
        function c_order_forward(order, row_bytes, local, ordered) &
            bind(c, name="surrogate_ordering_to_canonical") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: order, local, ordered
            integer(c_int64_t), value :: row_bytes
            integer(c_int) :: found
        end function
        function c_order_backward(order, row_bytes, ordered, local) &
            bind(c, name="surrogate_ordering_to_local") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: order, ordered, local
            integer(c_int64_t), value :: row_bytes
            integer(c_int) :: found
        end function
        subroutine c_order_destroy(order) bind(c, name="surrogate_ordering_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: order
        end subroutine
        function c_partition(kind, n_rows, rank, size, rows, n_local) &
            bind(c, name="surrogate_partition") result(found)
            import :: c_char, c_int, c_int32_t, c_int64_t, c_ptr
            character(kind=c_char), intent(in) :: kind(*)
            integer(c_int64_t), value :: n_rows
            integer(c_int32_t), value :: rank, size
            type(c_ptr), value :: rows
            integer(c_int64_t), intent(out) :: n_local
            integer(c_int) :: found
        end function
        function c_partition_sphere(kind, n_lat, n_lon, rank, size, block) &
            bind(c, name="surrogate_partition_sphere") result(found)
            import :: c_char, c_int, c_int32_t, c_int64_t
            character(kind=c_char), intent(in) :: kind(*)
            integer(c_int64_t), value :: n_lat, n_lon
            integer(c_int32_t), value :: rank, size
            integer(c_int64_t), intent(out) :: block(*)
            integer(c_int) :: found
        end function
        function c_pack_points(x, global_id, cloud, weight, packed) &
            bind(c, name="surrogate_fortran_pack_points") result(found)
            import :: c_int, c_ptr, packed_points, surrogate_array
            type(surrogate_array), intent(in) :: x
            type(c_ptr), value :: global_id, cloud, weight
            type(packed_points), intent(out) :: packed
            integer(c_int) :: found
        end function
        subroutine c_free_points(packed) bind(c, name="surrogate_fortran_free_points")
            import :: packed_points
            type(packed_points), intent(inout) :: packed
        end subroutine
    end interface

    public :: surrogate_domain_create_points, surrogate_domain_points, surrogate_domain_update_points, surrogate_domain_set_edges, &
        surrogate_domain_n_clouds, &
        surrogate_domain_create_sphere, surrogate_domain_sphere, surrogate_sphere_nodes, &
        surrogate_domain_n_points, surrogate_domain_destroy
    public :: surrogate_ordering_create, surrogate_ordering_range, surrogate_ordering_to_canonical, surrogate_ordering_to_local, &
        surrogate_ordering_destroy, surrogate_partition, surrogate_partition_sphere
    ! For the other modules of this library.
    public :: take_points, c_free_points

contains

    ! Creates points for one call of C, freed by c_free_points. On error the coordinates have an
    ! invalid type, so that a collective function returns an error on all ranks.
    subroutine take_points(x, packed, found, global_id, cloud, weight)
        type(surrogate_array), intent(in) :: x
        type(packed_points), intent(out) :: packed
        integer(c_int), intent(out) :: found
        ANY_ARRAY, intent(in), optional, target :: global_id, cloud, weight
        type(surrogate_array), target :: views(3)
        type(c_ptr) :: addresses(3)
        addresses = c_null_ptr
        if (present(global_id)) call take(surrogate_array_of(global_id), views(1), addresses(1))
        if (present(cloud)) call take(surrogate_array_of(cloud), views(2), addresses(2))
        if (present(weight)) call take(surrogate_array_of(weight), views(3), addresses(3))
        found = c_pack_points(x, addresses(1), addresses(2), addresses(3), packed)
    end subroutine

    subroutine take(given, view, address)
        type(surrogate_array), intent(in) :: given
        type(surrogate_array), intent(out), target :: view
        type(c_ptr), intent(out) :: address
        view = given
        address = c_loc(view)
    end subroutine

    ! Creates a domain of this rank's points; collective, the arrays are copied.
    !   x          x(n_axis, n_point), real(4) or real(8); the points may have several dimensions: x(n_axis, n_x, n_y)
    !   global_id, cloud   [points] integer(4) or integer(8);   weight   [points] real(4) or real(8)
    subroutine surrogate_domain_create_points(domain, context, x, global_id, cloud, weight, status)
        type(surrogate_domain), intent(inout) :: domain
        type(surrogate_context), intent(in) :: context
        ANY_ARRAY, intent(in), target :: x
        ANY_ARRAY, intent(in), optional, target :: global_id, cloud, weight
        integer(c_int), intent(out), optional :: status
        type(packed_points) :: packed
        integer(c_int) :: found
        call surrogate_domain_destroy(domain)
        call take_points(surrogate_array_of(x), packed, found, global_id, cloud, weight)
        found = agree(context, found)
        if (found == surrogate_success) found = c_domain_create_points(context%handle, packed%points, domain%handle)
        call c_free_points(packed)
        call finish(found, "surrogate_domain_create_points", status)
    end subroutine

    ! Returns the data of this rank's points in a domain, in memory of the domain, read-only:
    ! x(n_local, n_axis), and pointers that are null for data that were not set.
    subroutine surrogate_domain_points(domain, x, global_id, cloud, weight, status)
        type(surrogate_domain), intent(in) :: domain
        real(c_double), pointer, intent(out) :: x(:, :)
        integer(c_int64_t), pointer, intent(out), optional :: global_id(:), cloud(:)
        real(c_double), pointer, intent(out), optional :: weight(:)
        integer(c_int), intent(out), optional :: status
        type(c_points) :: points
        real(c_double), pointer :: whole(:, :)
        integer(c_int64_t) :: n
        integer(c_int) :: found
        nullify (x)
        found = c_domain_points(domain%handle, points)
        n = 0
        if (found == surrogate_success) then
            n = points%x%shape(1)
            call c_f_pointer(points%x%data, whole, [max(points%x%stride(2), n), points%x%shape(2)])
            x => whole(1:n, :)
        else
            points%global_id = c_null_ptr
            points%cloud = c_null_ptr
            points%weight = c_null_ptr
        end if
        if (present(global_id)) call point_at_integers(points%global_id, n, global_id)
        if (present(cloud)) call point_at_integers(points%cloud, n, cloud)
        if (present(weight)) then
            nullify (weight)
            if (c_associated(points%weight)) call c_f_pointer(points%weight, weight, [n])
        end if
        call finish(found, "surrogate_domain_points", status)
    end subroutine

    subroutine point_at_integers(address, n, values)
        type(c_ptr), intent(in) :: address
        integer(c_int64_t), intent(in) :: n
        integer(c_int64_t), pointer, intent(out) :: values(:)
        nullify (values)
        if (c_associated(address)) call c_f_pointer(address, values, [n])
    end subroutine

    ! Updates points that have moved; arguments as in surrogate_domain_create_points; collective.
    subroutine surrogate_domain_update_points(domain, x, global_id, cloud, weight, status)
        type(surrogate_domain), intent(in) :: domain
        ANY_ARRAY, intent(in), target :: x
        ANY_ARRAY, intent(in), optional, target :: global_id, cloud, weight
        integer(c_int), intent(out), optional :: status
        type(packed_points) :: packed
        integer(c_int) :: found
        call take_points(surrogate_array_of(x), packed, found, global_id, cloud, weight)
        found = c_domain_move(domain%handle, packed%points)
        call c_free_points(packed)
        call finish(found, "surrogate_domain_update_points", status)
    end subroutine

    ! Sets edges between points by their global ids, each given once, by any rank; collective.
    subroutine surrogate_domain_set_edges(domain, source, target, status)
        type(surrogate_domain), intent(in) :: domain
        integer(c_int64_t), intent(in) :: source(:), target(:)
        integer(c_int), intent(out), optional :: status
        integer(c_int64_t) :: n_edge
        n_edge = size(source, kind=c_int64_t)
        if (size(target, kind=c_int64_t) /= n_edge) n_edge = -1   ! refused on all ranks
        call finish(c_domain_set_edges(domain%handle, n_edge, source, target), "surrogate_domain_set_edges", status)
    end subroutine

    subroutine surrogate_domain_n_clouds(domain, n, status)
        type(surrogate_domain), intent(in) :: domain
        integer(c_int64_t), intent(out) :: n
        integer(c_int), intent(out), optional :: status
        call finish(c_domain_n_clouds(domain%handle, n), "surrogate_domain_n_clouds", status)
    end subroutine

    ! Creates a domain of a block of a grid on the sphere; collective. first_lat, first_lon count
    ! from 0. latitude, longitude: degrees of this rank's rows and columns; absent: the nodes of the
    ! grid. lat_stride, lon_stride: see surrogate_sphere in surrogate.h. For arrays u(n_lon, n_lat)
    ! without ghosts they may be absent, for u(n_lat, n_lon) they are 1 and n_lat.
    subroutine surrogate_domain_create_sphere(domain, context, grid, n_lat, n_lon, first_lat, n_lat_local, first_lon, &
        n_lon_local, latitude, longitude, south_to_north, first_longitude, lat_stride, lon_stride, status)
        type(surrogate_domain), intent(inout) :: domain
        type(surrogate_context), intent(in) :: context
        character(len=*), intent(in) :: grid
        integer(c_int64_t), intent(in) :: n_lat, n_lon, first_lat, n_lat_local, first_lon, n_lon_local
        real(c_double), intent(in), optional :: latitude(:), longitude(:), first_longitude
        integer(c_int32_t), intent(in), optional :: south_to_north
        integer(c_int64_t), intent(in), optional :: lat_stride, lon_stride
        integer(c_int), intent(out), optional :: status
        character(kind=c_char), allocatable, target :: grid_name(:)
        real(c_double), allocatable, target :: rows(:), columns(:)
        type(c_sphere) :: sphere
        integer(c_int) :: found
        call surrogate_domain_destroy(domain)
        sphere = c_sphere(optional_text(grid, grid_name), n_lat, n_lon, first_lat, n_lat_local, first_lon, n_lon_local, &
            c_null_ptr, c_null_ptr, 0_c_int32_t, 0.0_c_double, 0_c_int64_t, 0_c_int64_t)
        found = surrogate_success
        call take_degrees("latitude", n_lat_local, latitude, rows, sphere%latitude, found)
        call take_degrees("longitude", n_lon_local, longitude, columns, sphere%longitude, found)
        if (present(first_longitude)) sphere%first_longitude = first_longitude
        if (present(lat_stride)) sphere%lat_stride = lat_stride
        if (present(lon_stride)) sphere%lon_stride = lon_stride
        if (present(south_to_north)) sphere%south_to_north = south_to_north
        found = agree(context, found)
        if (found == surrogate_success) found = c_domain_create_sphere(context%handle, sphere, domain%handle)
        call finish(found, "surrogate_domain_create_sphere", status)
    end subroutine

    subroutine take_degrees(what, n, degrees, kept, address, found)
        character(len=*), intent(in) :: what
        integer(c_int64_t), intent(in) :: n
        real(c_double), intent(in), optional :: degrees(:)
        real(c_double), allocatable, target, intent(out) :: kept(:)
        type(c_ptr), intent(inout) :: address
        integer(c_int), intent(inout) :: found
        if (.not. present(degrees)) return
        if (size(degrees) /= n) found = c_fail(c_null_ptr, surrogate_shape, &
            what//": has another size than this rank has rows or columns"//c_null_char)
        allocate (kept(max(size(degrees), 1)))
        kept(1:size(degrees)) = degrees
        address = c_loc(kept(1))
    end subroutine

    ! Returns the data of this rank's block in a spherical domain, with the strides in effect.
    subroutine surrogate_domain_sphere(domain, info, status)
        type(surrogate_domain), intent(in) :: domain
        type(surrogate_sphere_info), intent(out) :: info
        integer(c_int), intent(out), optional :: status
        type(c_sphere) :: given
        integer(c_int) :: found
        found = c_domain_sphere(domain%handle, given)
        if (found == surrogate_success) info = surrogate_sphere_info(surrogate_text(given%grid), given%n_lat, given%n_lon, &
            given%first_lat, given%n_lat_local, given%first_lon, given%n_lon_local, given%south_to_north, &
            given%first_longitude, given%lat_stride, given%lon_stride)
        call finish(found, "surrogate_domain_sphere", status)
    end subroutine

    ! Returns latitude(n_lat), longitude(n_lon) and weight(n_lat): nodes of a grid and the fraction
    ! of the sphere's area per point.
    subroutine surrogate_sphere_nodes(grid, n_lat, n_lon, latitude, longitude, weight, status)
        character(len=*), intent(in) :: grid
        integer(c_int64_t), intent(in) :: n_lat, n_lon
        real(c_double), intent(out), optional :: latitude(:), longitude(:), weight(:)
        integer(c_int), intent(out), optional :: status
        real(c_double), target :: all_latitude(max(n_lat, 1_c_int64_t)), all_longitude(max(n_lon, 1_c_int64_t)), &
            all_weight(max(n_lat, 1_c_int64_t))
        integer(c_int) :: found
        found = surrogate_success
        if (present(latitude)) call compare_sizes("latitude", size(latitude), n_lat, found)
        if (present(longitude)) call compare_sizes("longitude", size(longitude), n_lon, found)
        if (present(weight)) call compare_sizes("weight", size(weight), n_lat, found)
        if (found == surrogate_success) found = c_sphere_nodes(trim(grid)//c_null_char, n_lat, n_lon, &
            c_loc(all_latitude), c_loc(all_longitude), c_loc(all_weight))
        if (found == surrogate_success) then
            if (present(latitude)) latitude = all_latitude
            if (present(longitude)) longitude = all_longitude
            if (present(weight)) weight = all_weight
        end if
        call finish(found, "surrogate_sphere_nodes", status)
    end subroutine

    subroutine compare_sizes(what, n_found, n_expected, found)
        character(len=*), intent(in) :: what
        integer, intent(in) :: n_found
        integer(c_int64_t), intent(in) :: n_expected
        integer(c_int), intent(inout) :: found
        character(len=20) :: numbers(2)
        if (n_found == n_expected) return
        write (numbers, '(i0)') int(n_found, c_int64_t), n_expected
        found = c_fail(c_null_ptr, surrogate_shape, what//": expected "//trim(numbers(2))//" numbers, found "// &
            trim(numbers(1))//c_null_char)
    end subroutine

    subroutine surrogate_domain_n_points(domain, n_local, n_global, status)
        type(surrogate_domain), intent(in) :: domain
        integer(c_int64_t), intent(out) :: n_local, n_global
        integer(c_int), intent(out), optional :: status
        call finish(c_domain_n_points(domain%handle, n_local, n_global), "surrogate_domain_n_points", status)
    end subroutine

    subroutine surrogate_domain_destroy(domain)
        type(surrogate_domain), intent(inout) :: domain
        call c_domain_destroy(domain%handle)
    end subroutine

    subroutine domain_final(domain)
        type(surrogate_domain), intent(inout) :: domain
        call c_domain_destroy(domain%handle)
    end subroutine

    subroutine domain_finals(domain)
        type(surrogate_domain), intent(inout) :: domain(:)
        integer :: i
        do i = 1, size(domain)
            call c_domain_destroy(domain(i)%handle)
        end do
    end subroutine

    ! ---- orderings ----

    subroutine surrogate_ordering_create(order, domain, row_bytes, status)
        type(surrogate_ordering), intent(inout) :: order
        type(surrogate_domain), intent(in) :: domain
        integer(c_int64_t), intent(in) :: row_bytes
        integer(c_int), intent(out), optional :: status
        call surrogate_ordering_destroy(order)
        call finish(c_order_create(domain%handle, row_bytes, order%handle), "surrogate_ordering_create", status)
    end subroutine

    ! first counts from 0.
    subroutine surrogate_ordering_range(order, first, n, status)
        type(surrogate_ordering), intent(in) :: order
        integer(c_int64_t), intent(out) :: first, n
        integer(c_int), intent(out), optional :: status
        call finish(c_order_range(order%handle, first, n), "surrogate_ordering_range", status)
    end subroutine

    ! Sends rows of row_bytes bytes from the solver's partition to the ordering; collective. Both
    ! arrays are contiguous, of any type; a row has the data of one point: u(:, i).
    subroutine surrogate_ordering_to_canonical(order, row_bytes, local, ordered, status)
        type(surrogate_ordering), intent(in) :: order
        integer(c_int64_t), intent(in) :: row_bytes
        ANY_ARRAY, intent(in), target :: local
        BOUND_ARRAY :: ordered
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = c_order_forward(order%handle, row_bytes, rows_of(local), rows_of(ordered))
        call finish(found, "surrogate_ordering_to_canonical", status)
    end subroutine

    subroutine surrogate_ordering_to_local(order, row_bytes, ordered, local, status)
        type(surrogate_ordering), intent(in) :: order
        integer(c_int64_t), intent(in) :: row_bytes
        ANY_ARRAY, intent(in), target :: ordered
        BOUND_ARRAY :: local
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = c_order_backward(order%handle, row_bytes, rows_of(ordered), rows_of(local))
        call finish(found, "surrogate_ordering_to_local", status)
    end subroutine

    ! Returns the location of rows; null if they are not contiguous, which the library rejects if
    ! there are rows.
    function rows_of(array) result(address)
        ANY_ARRAY, intent(in), target :: array
        type(c_ptr) :: address
        type(surrogate_array) :: view
        view = surrogate_array_of(array)
        address = c_null_ptr
        if (c_is_contiguous(view) /= 0) address = view%data
    end function

    subroutine surrogate_ordering_destroy(order)
        type(surrogate_ordering), intent(inout) :: order
        call c_order_destroy(order%handle)
    end subroutine

    subroutine order_final(order)
        type(surrogate_ordering), intent(inout) :: order
        call c_order_destroy(order%handle)
    end subroutine

    subroutine order_finals(order)
        type(surrogate_ordering), intent(inout) :: order(:)
        integer :: i
        do i = 1, size(order)
            call c_order_destroy(order(i)%handle)
        end do
    end subroutine

    ! ---- partitions ----

    ! Returns the rows, counted from 0, of rank under a named partition.
    subroutine surrogate_partition(kind, n_rows, rank, size, rows, status)
        character(len=*), intent(in) :: kind
        integer(c_int64_t), intent(in) :: n_rows
        integer(c_int32_t), intent(in) :: rank, size
        integer(c_int64_t), allocatable, target, intent(out) :: rows(:)
        integer(c_int), intent(out), optional :: status
        integer(c_int64_t) :: n_local
        integer(c_int) :: found
        found = c_partition(trim(kind)//c_null_char, n_rows, rank, size, c_null_ptr, n_local)
        if (found /= surrogate_success) n_local = 0
        allocate (rows(n_local))
        if (n_local > 0) found = c_partition(trim(kind)//c_null_char, n_rows, rank, size, c_loc(rows(1)), n_local)
        call finish(found, "surrogate_partition", status)
    end subroutine

    ! Returns block: first row, rows, first column, columns.
    subroutine surrogate_partition_sphere(kind, n_lat, n_lon, rank, size, block, status)
        character(len=*), intent(in) :: kind
        integer(c_int64_t), intent(in) :: n_lat, n_lon
        integer(c_int32_t), intent(in) :: rank, size
        integer(c_int64_t), intent(out) :: block(4)
        integer(c_int), intent(out), optional :: status
        call finish(c_partition_sphere(trim(kind)//c_null_char, n_lat, n_lon, rank, size, block), &
            "surrogate_partition_sphere", status)
    end subroutine
end module
