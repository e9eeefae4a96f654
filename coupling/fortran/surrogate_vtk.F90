! SPDX-License-Identifier: Apache-2.0
#include "macros.inc"
! Time series and figures: one procedure for each function of surrogate_vtk.h, which has the
! contracts. Conventions as in module surrogate. A type(surrogate_piece) is gathered as
! storage_size(piece) / 8 bytes of MPI_BYTE.
module surrogate_vtk
    use, intrinsic :: iso_c_binding
    use surrogate_fortran_base
    implicit none
    private

    type, extends(surrogate_object), public :: surrogate_series
    contains
        final :: series_final, series_finals
    end type

    integer(c_int), parameter, public :: surrogate_point = 0, surrogate_cell = 1
    integer(c_int), parameter, public :: surrogate_color_sequential = 0, surrogate_color_diverging = 1
    integer(c_int), parameter, public :: surrogate_color_on_white = 2
    integer(c_int), parameter, public :: surrogate_frame_none = 0, surrogate_frame_axes = 1, surrogate_frame_scale = 2
    integer(c_int), parameter, public :: surrogate_nan_gray = 0, surrogate_nan_white = 1, surrogate_nan_outlined = 2

    type, bind(c), public :: surrogate_image
        integer(c_int32_t) :: whole_extent(6) = 0, extent(6) = 0
        real(c_double) :: origin(3) = 0, spacing(3) = 1
    end type

    type, bind(c), public :: surrogate_piece
        integer(c_int) :: status = 0
        integer(c_int32_t) :: step = 0, kind = 0, extent(6) = 0, whole_extent(6) = 0, reserved = 0
        integer(c_int64_t) :: n_points = 0, n_cells = 0, layout = 0
    end type

    ! This rank's rows of a grid on the sphere; longitude may stay unallocated.
    type, public :: surrogate_sphere_surface
        integer(c_int64_t) :: n_lat = 0, n_lon = 0, first_lat = 0, n_lat_local = 0
        real(c_double), allocatable :: latitude(:), longitude(:)
        real(c_double) :: radius = 1
        integer(c_int32_t) :: is_lon_lat = 0, n_overlap = 0
    end type

    ! A field of one step, created by surrogate_make_series_field.
    type, public :: surrogate_series_field
        character(len=128) :: name = "", unit = ""
        integer(c_int) :: location = surrogate_point, component_dim = 0
        type(surrogate_array) :: array
    end type

    ! values(n_x, n_y): element (i, j) is drawn at column i from the left and row j from the bottom.
    type, public :: surrogate_png_panel
        type(surrogate_array) :: values
        real(c_double) :: min = 0, max = 0
        integer(c_int) :: color_map = surrogate_color_sequential
    end type

    ! Text of a panel: surrogate_png_label(title="solver", quantity="pressure", unit="Pa").
    type, public :: surrogate_png_axis
        character(len=128) :: name = "", unit = ""
        real(c_double) :: first = 0, last = 0
    end type
    type, public :: surrogate_png_label
        character(len=128) :: title = "", quantity = "", unit = ""
        type(surrogate_png_axis) :: x, y
        integer(c_int) :: frame = surrogate_frame_none, nan = surrogate_nan_gray
        logical :: is_log10 = .false.
    end type

    type, bind(c) :: c_mesh
        type(c_array) :: points
        integer(c_int64_t) :: n_cells
        type(c_ptr) :: offsets, connectivity, types
    end type
    type, bind(c) :: c_surface
        integer(c_int64_t) :: n_lat, n_lon, first_lat, n_lat_local
        type(c_ptr) :: latitude, longitude
        real(c_double) :: radius
        integer(c_int32_t) :: is_lon_lat, n_overlap
    end type
    type, bind(c) :: c_field
        type(c_ptr) :: name, unit
        integer(c_int32_t) :: location
        type(c_array) :: array
    end type
    type, bind(c) :: c_panel
        type(c_array) :: values
        real(c_double) :: min, max
        integer(c_int32_t) :: color_map
    end type
    type, bind(c) :: c_axis
        type(c_ptr) :: name, unit
        real(c_double) :: first, last
    end type
    type, bind(c) :: c_label
        type(c_ptr) :: title, quantity, unit
        type(c_axis) :: x, y
        integer(c_int32_t) :: frame, nan, is_log10
    end type
    type :: label_texts
        character(kind=c_char), allocatable :: title(:), quantity(:), unit(:), x_name(:), x_unit(:), y_name(:), y_unit(:)
    end type
    type :: field_texts
        character(kind=c_char), allocatable :: name(:), unit(:)
    end type

    interface
        function c_vtk_error() bind(c, name="surrogate_vtk_error") result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function
        function c_series_create(path, rank, size, series) bind(c, name="surrogate_series_create") result(found)
            import :: c_char, c_int, c_int32_t, c_ptr
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int32_t), value :: rank, size
            type(c_ptr), intent(out) :: series
            integer(c_int) :: found
        end function
        function c_series_set(series, key, value) bind(c, name="surrogate_series_set") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: series
            character(kind=c_char), intent(in) :: key(*)
            character(kind=c_char), intent(in) :: value(*)
            integer(c_int) :: found
        end function
        function c_series_write_mesh(series, time_s, mesh, n_fields, fields, piece) &
            bind(c, name="surrogate_series_write_mesh") result(found)
            import :: c_double, c_field, c_int, c_int32_t, c_mesh, c_ptr, surrogate_piece
            type(c_ptr), value :: series
            real(c_double), value :: time_s
            type(c_mesh), intent(in) :: mesh
            integer(c_int32_t), value :: n_fields
            type(c_field), intent(in) :: fields(*)
            type(surrogate_piece), intent(inout) :: piece
            integer(c_int) :: found
        end function
        function c_series_write_image(series, time_s, image, n_fields, fields, piece) &
            bind(c, name="surrogate_series_write_image") result(found)
            import :: c_double, c_field, c_int, c_int32_t, c_ptr, surrogate_image, surrogate_piece
            type(c_ptr), value :: series
            real(c_double), value :: time_s
            type(surrogate_image), intent(in) :: image
            integer(c_int32_t), value :: n_fields
            type(c_field), intent(in) :: fields(*)
            type(surrogate_piece), intent(inout) :: piece
            integer(c_int) :: found
        end function
        function c_series_write_sphere(series, time_s, surface, n_fields, fields, piece) &
            bind(c, name="surrogate_series_write_sphere") result(found)
            import :: c_double, c_field, c_int, c_int32_t, c_ptr, c_surface, surrogate_piece
            type(c_ptr), value :: series
            real(c_double), value :: time_s
            type(c_surface), intent(in) :: surface
            integer(c_int32_t), value :: n_fields
            type(c_field), intent(in) :: fields(*)
            type(surrogate_piece), intent(inout) :: piece
            integer(c_int) :: found
        end function
        function c_series_publish(series, n_pieces, pieces) bind(c, name="surrogate_series_publish") result(found)
            import :: c_int, c_int32_t, c_ptr, surrogate_piece
            type(c_ptr), value :: series
            integer(c_int32_t), value :: n_pieces
            type(surrogate_piece), intent(in) :: pieces(*)
            integer(c_int) :: found
        end function
        subroutine c_series_close(series) bind(c, name="surrogate_series_close")
            import :: c_ptr
            type(c_ptr), intent(inout) :: series
        end subroutine
        function c_png_write(path, n_panels, panels) bind(c, name="surrogate_png_write") result(found)
            import :: c_char, c_int, c_int32_t, c_panel
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int32_t), value :: n_panels
            type(c_panel), intent(in) :: panels(*)
            integer(c_int) :: found
        end function
        function c_png_write_labeled(path, heading, n_panels, panels, labels) &
            bind(c, name="surrogate_png_write_labeled") result(found)
            import :: c_char, c_int, c_int32_t, c_label, c_panel
            character(kind=c_char), intent(in) :: path(*), heading(*)
            integer(c_int32_t), value :: n_panels
            type(c_panel), intent(in) :: panels(*)
            type(c_label), intent(in) :: labels(*)
            integer(c_int) :: found
        end function
        function c_field_rows(array, name, component_dim, rows) &
            bind(c, name="surrogate_fortran_field_rows") result(found)
            import :: c_array, c_char, c_int, c_int32_t, surrogate_array
            type(surrogate_array), intent(in) :: array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int32_t), value :: component_dim
            type(c_array), intent(out) :: rows
            integer(c_int) :: found
        end function
    end interface

    public :: surrogate_vtk_error, surrogate_series_create, surrogate_series_set, surrogate_series_write_mesh, &
        surrogate_series_write_image, surrogate_series_write_sphere, surrogate_series_publish, surrogate_series_close, &
        surrogate_png_write, surrogate_png_write_labeled, surrogate_make_series_field, surrogate_make_png_panel

contains

    function surrogate_vtk_error() result(text)
        character(len=:), allocatable :: text
        text = surrogate_text(c_vtk_error())
    end function

    ! array: of any rank over this rank's points or cells, first dimension fastest; component_dim is
    ! the dimension of a vector's components. The write that gets the field uses the array, which
    ! must be a TARGET until then.
    function surrogate_make_series_field(name, array, unit, location, component_dim) result(field)
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: location, component_dim
        type(surrogate_series_field) :: field
        field%name = name
        field%array = surrogate_array_of(array)
        if (present(unit)) field%unit = unit
        if (present(location)) field%location = location
        if (present(component_dim)) field%component_dim = component_dim
    end function

    function surrogate_make_png_panel(values, min, max, color_map) result(panel)
        BOUND_ARRAY :: values
        real(c_double), intent(in), optional :: min, max
        integer(c_int), intent(in), optional :: color_map
        type(surrogate_png_panel) :: panel
        panel%values = surrogate_array_of(values)
        if (present(min)) panel%min = min
        if (present(max)) panel%max = max
        if (present(color_map)) panel%color_map = color_map
    end function

    subroutine surrogate_series_create(series, path, rank, size, status)
        type(surrogate_series), intent(inout) :: series
        character(len=*), intent(in) :: path
        integer(c_int32_t), intent(in) :: rank, size
        integer(c_int), intent(out), optional :: status
        call surrogate_series_close(series)
        call finish(c_series_create(trim(path)//c_null_char, rank, size, series%handle), "surrogate_series_create", status)
    end subroutine

    subroutine surrogate_series_set(series, key, value, status)
        type(surrogate_series), intent(in) :: series
        character(len=*), intent(in) :: key, value
        integer(c_int), intent(out), optional :: status
        call finish(c_series_set(series%handle, trim(key)//c_null_char, trim(value)//c_null_char), &
            "surrogate_series_set", status)
    end subroutine

    ! Creates fields for C. An invalid field gets an invalid location, so that the write returns an
    ! error and fills the piece. reason: its text.
    subroutine take_fields(fields, texts, given, found, reason)
        type(surrogate_series_field), intent(in) :: fields(:)
        type(field_texts), target, intent(inout) :: texts(:)
        type(c_field), intent(out) :: given(:)
        integer(c_int), intent(out) :: found
        character(len=:), allocatable, intent(out) :: reason
        integer(c_int) :: each
        integer :: i
        found = surrogate_success
        reason = ""
        do i = 1, size(fields)
            texts(i)%name = name_of(fields(i)%name)
            texts(i)%unit = name_of(fields(i)%unit)
            given(i)%name = c_loc(texts(i)%name(1))
            given(i)%unit = c_null_ptr
            if (fields(i)%unit /= "") given(i)%unit = c_loc(texts(i)%unit(1))
            given(i)%location = fields(i)%location
            each = c_field_rows(fields(i)%array, texts(i)%name, fields(i)%component_dim, given(i)%array)
            if (each == surrogate_success) cycle
            given(i)%location = -1
            if (found /= surrogate_success) cycle
            found = each
            reason = surrogate_error_of(c_null_ptr)
        end do
    end subroutine

    ! points(n_axis, n_point). With cells: offsets(n_cells + 1), connectivity and types as in surrogate_vtk.h, point numbers
    ! from 0.
    subroutine surrogate_series_write_mesh(series, time_s, points, fields, piece, offsets, connectivity, types, status)
        type(surrogate_series), intent(in) :: series
        real(c_double), intent(in) :: time_s
        ANY_ARRAY, intent(in), target :: points
        type(surrogate_series_field), intent(in) :: fields(:)
        type(surrogate_piece), intent(inout) :: piece
        integer(c_int64_t), intent(in), optional :: offsets(:), connectivity(:)
        integer(c_int8_t), intent(in), optional :: types(:)
        integer(c_int), intent(out), optional :: status
        type(c_field) :: given(size(fields))
        type(field_texts), target :: texts(size(fields))
        integer(c_int64_t), allocatable, target :: kept_offsets(:), kept_connectivity(:)
        integer(c_int8_t), allocatable, target :: kept_types(:)
        type(c_mesh) :: mesh
        character(len=:), allocatable :: reason
        integer(c_int) :: found, wrong
        call take_fields(fields, texts, given, wrong, reason)
        mesh%n_cells = 0
        mesh%offsets = c_null_ptr
        mesh%connectivity = c_null_ptr
        mesh%types = c_null_ptr
        found = c_rows(surrogate_array_of(points), "points"//c_null_char, mesh%points)
        if (found /= surrogate_success) then
            mesh%points%dtype = -1
            if (wrong == surrogate_success) reason = surrogate_error_of(c_null_ptr)
            if (wrong == surrogate_success) wrong = found
        end if
        if (present(offsets) .and. present(connectivity) .and. present(types)) then
            allocate (kept_offsets(size(offsets) + 1), kept_connectivity(size(connectivity) + 1), &
                kept_types(size(types) + 1))
            kept_offsets(1:size(offsets)) = offsets
            kept_connectivity(1:size(connectivity)) = connectivity
            kept_types(1:size(types)) = types
            mesh%n_cells = size(types)
            mesh%offsets = c_loc(kept_offsets(1))
            mesh%connectivity = c_loc(kept_connectivity(1))
            mesh%types = c_loc(kept_types(1))
        end if
        found = c_series_write_mesh(series%handle, time_s, mesh, int(size(given), c_int32_t), given, piece)
        if (wrong /= surrogate_success) found = c_fail(c_null_ptr, wrong, reason//c_null_char)
        call finish(found, "surrogate_series_write_mesh", status)
    end subroutine

    subroutine surrogate_series_write_image(series, time_s, image, fields, piece, status)
        type(surrogate_series), intent(in) :: series
        real(c_double), intent(in) :: time_s
        type(surrogate_image), intent(in) :: image
        type(surrogate_series_field), intent(in) :: fields(:)
        type(surrogate_piece), intent(inout) :: piece
        integer(c_int), intent(out), optional :: status
        type(c_field) :: given(size(fields))
        type(field_texts), target :: texts(size(fields))
        character(len=:), allocatable :: reason
        integer(c_int) :: found, wrong
        call take_fields(fields, texts, given, wrong, reason)
        found = c_series_write_image(series%handle, time_s, image, int(size(given), c_int32_t), given, piece)
        if (wrong /= surrogate_success) found = c_fail(c_null_ptr, wrong, reason//c_null_char)
        call finish(found, "surrogate_series_write_image", status)
    end subroutine

    subroutine surrogate_series_write_sphere(series, time_s, surface, fields, piece, status)
        type(surrogate_series), intent(in) :: series
        real(c_double), intent(in) :: time_s
        type(surrogate_sphere_surface), intent(in), target :: surface
        type(surrogate_series_field), intent(in) :: fields(:)
        type(surrogate_piece), intent(inout) :: piece
        integer(c_int), intent(out), optional :: status
        type(c_field) :: given(size(fields))
        type(field_texts), target :: texts(size(fields))
        type(c_surface) :: rows
        character(len=:), allocatable :: reason
        integer(c_int) :: found, wrong
        call take_fields(fields, texts, given, wrong, reason)
        rows = c_surface(surface%n_lat, surface%n_lon, surface%first_lat, surface%n_lat_local, c_null_ptr, c_null_ptr, &
            surface%radius, surface%is_lon_lat, surface%n_overlap)
        if (allocated(surface%latitude)) then
            if (size(surface%latitude) >= surface%n_lat_local + surface%n_overlap .and. size(surface%latitude) > 0) &
                rows%latitude = c_loc(surface%latitude(1))
        end if
        if (allocated(surface%longitude)) then
            if (size(surface%longitude) == surface%n_lon) rows%longitude = c_loc(surface%longitude(1))
        end if
        found = c_series_write_sphere(series%handle, time_s, rows, int(size(given), c_int32_t), given, piece)
        if (wrong /= surrogate_success) found = c_fail(c_null_ptr, wrong, reason//c_null_char)
        call finish(found, "surrogate_series_write_sphere", status)
    end subroutine

    ! Call on rank 0, after all ranks have written; pieces in the order of ranks.
    subroutine surrogate_series_publish(series, pieces, status)
        type(surrogate_series), intent(in) :: series
        type(surrogate_piece), intent(in) :: pieces(:)
        integer(c_int), intent(out), optional :: status
        call finish(c_series_publish(series%handle, int(size(pieces), c_int32_t), pieces), "surrogate_series_publish", &
            status)
    end subroutine

    subroutine surrogate_series_close(series)
        type(surrogate_series), intent(inout) :: series
        call c_series_close(series%handle)
    end subroutine

    subroutine series_final(series)
        type(surrogate_series), intent(inout) :: series
        call c_series_close(series%handle)
    end subroutine

    subroutine series_finals(series)
        type(surrogate_series), intent(inout) :: series(:)
        integer :: i
        do i = 1, size(series)
            call c_series_close(series(i)%handle)
        end do
    end subroutine

    ! Panels created by surrogate_make_png_panel, side by side.
    subroutine surrogate_png_write(path, panels, status)
        character(len=*), intent(in) :: path
        type(surrogate_png_panel), intent(in) :: panels(:)
        integer(c_int), intent(out), optional :: status
        type(c_panel) :: given(size(panels))
        integer(c_int) :: found
        call take_panels(panels, given, found)
        if (found == surrogate_success) found = c_png_write(trim(path)//c_null_char, int(size(given), c_int32_t), given)
        call finish(found, "surrogate_png_write", status)
    end subroutine

    ! Writes a figure with texts and numbers: a label for each panel, and a heading, which may be
    ! "".
    subroutine surrogate_png_write_labeled(path, heading, panels, labels, status)
        character(len=*), intent(in) :: path, heading
        type(surrogate_png_panel), intent(in) :: panels(:)
        type(surrogate_png_label), intent(in) :: labels(:)
        integer(c_int), intent(out), optional :: status
        type(c_panel) :: given(size(panels))
        type(c_label) :: words(size(labels))
        type(label_texts), target :: texts(size(labels))
        integer(c_int) :: found
        integer :: i
        call take_panels(panels, given, found)
        if (found == surrogate_success .and. size(labels) /= size(panels)) found = c_fail(c_null_ptr, surrogate_shape, &
            "surrogate_png_write_labeled: a label for each panel"//c_null_char)
        do i = 1, size(labels)
            call take_label(labels(i), texts(i), words(i))
        end do
        if (found == surrogate_success) found = c_png_write_labeled(trim(path)//c_null_char, trim(heading)//c_null_char, &
            int(size(given), c_int32_t), given, words)
        call finish(found, "surrogate_png_write_labeled", status)
    end subroutine

    subroutine take_panels(panels, given, found)
        type(surrogate_png_panel), intent(in) :: panels(:)
        type(c_panel), intent(out) :: given(:)
        integer(c_int), intent(out) :: found
        integer :: i
        found = surrogate_success
        do i = 1, size(panels)
            given(i)%min = panels(i)%min
            given(i)%max = panels(i)%max
            given(i)%color_map = panels(i)%color_map
            if (found == surrogate_success) found = take_plane(panels(i)%values, given(i)%values)
        end do
    end subroutine

    ! Creates the label for C; its texts are stored in `texts`.
    subroutine take_label(label, texts, words)
        type(surrogate_png_label), intent(in) :: label
        type(label_texts), target, intent(inout) :: texts
        type(c_label), intent(out) :: words
        texts%title = name_of(label%title)
        texts%quantity = name_of(label%quantity)
        texts%unit = name_of(label%unit)
        texts%x_name = name_of(label%x%name)
        texts%x_unit = name_of(label%x%unit)
        texts%y_name = name_of(label%y%name)
        texts%y_unit = name_of(label%y%unit)
        words%title = c_loc(texts%title(1))
        words%quantity = c_loc(texts%quantity(1))
        words%unit = c_loc(texts%unit(1))
        words%x = c_axis(c_loc(texts%x_name(1)), c_loc(texts%x_unit(1)), label%x%first, label%x%last)
        words%y = c_axis(c_loc(texts%y_name(1)), c_loc(texts%y_unit(1)), label%y%first, label%y%last)
        words%frame = label%frame
        words%nan = label%nan
        words%is_log10 = merge(1, 0, label%is_log10)
    end subroutine

    ! Fortran's (n_x, n_y) is C's array of shape {n_x, n_y}.
    function take_plane(values, plane) result(found)
        type(surrogate_array), intent(in) :: values
        type(c_array), intent(out) :: plane
        integer(c_int) :: found
        found = surrogate_success
        plane = c_array(values%data, values%shape(1:2), values%stride(1:2), values%dtype, values%space)
        if (values%n_dim /= 2) found = c_fail(c_null_ptr, surrogate_shape, "panel: expected values(n_x, n_y)"//c_null_char)
    end function
end module
