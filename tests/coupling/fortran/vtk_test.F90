! SPDX-License-Identifier: Apache-2.0
! A time series and a picture from Fortran. What is in the files is tested in tests/coupling/vtk_*.
!   vtk_test <path of the series without .pvd>
program vtk_test
    use, intrinsic :: iso_c_binding
    use surrogate
    use surrogate_vtk
    use checks
    implicit none
    type(surrogate_series) :: series
    type(surrogate_piece) :: piece
    type(surrogate_image) :: image
    type(surrogate_sphere_surface) :: surface
    real(c_double), target :: h(4, 3), u(2, 4, 3), ghosts(0:5, 0:4), x(3, 4), rows(6, 4)
    real(c_float), target :: t(4)
    character(len=1024) :: path
    integer(c_int) :: status
    integer :: n_byte, n_plain
    logical :: is_there

    call get_command_argument(1, path)
    h = 1
    u = 2
    t = 3
    ghosts = 4
    rows = 5
    x = reshape([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [3, 4])

    image%whole_extent = [0, 4, 0, 3, 0, 0]
    image%extent = image%whole_extent
    call surrogate_series_create(series, trim(path)//"_image.pvd", 0_c_int, 1_c_int)
    call surrogate_series_set(series, "compress", "none")
    call surrogate_series_write_image(series, 0.5d0, image, [ &
        surrogate_make_series_field("height", h, "m", surrogate_cell), &
        surrogate_make_series_field("velocity", u, "m/s", surrogate_cell, component_dim=1_c_int)], piece)
    call surrogate_series_publish(series, [piece])
    call check(piece%status == surrogate_success .and. piece%n_cells == 12, "an image")
    inquire (file=trim(path)//"_image.pvd", exist=is_there)
    call check(is_there, "the series")
    call surrogate_series_write_image(series, 1.0d0, image, &
        [surrogate_make_series_field("height", ghosts(1:4, 1:3), location=surrogate_cell)], piece, status)
    call check_status(status, surrogate_shape, "height: the points lie at no single distance")
    call check(piece%status /= surrogate_success, "the piece of a failed write")
    call surrogate_series_publish(series, [piece], status)
    call check(status /= surrogate_success, "a failed piece is not published")

    call surrogate_series_create(series, trim(path)//"_mesh.pvd", 0_c_int, 1_c_int)
    call surrogate_series_write_mesh(series, 0.0d0, x, [surrogate_make_series_field("t", t, "K")], piece, &
        offsets=[0_c_int64_t, 4_c_int64_t], connectivity=[0_c_int64_t, 1_c_int64_t, 2_c_int64_t, 3_c_int64_t], &
        types=[10_c_int8_t])
    call surrogate_series_publish(series, [piece])
    call check(piece%n_points == 4 .and. piece%n_cells == 1, "a mesh of one tetrahedron")

    surface%n_lat = 4
    surface%n_lon = 6
    surface%n_lat_local = 4
    surface%latitude = [60d0, 20d0, -20d0, -60d0]
    call surrogate_series_create(series, trim(path)//"_sphere.pvd", 0_c_int, 1_c_int)
    call surrogate_series_write_sphere(series, 0.0d0, surface, [surrogate_make_series_field("z", rows)], piece)
    call surrogate_series_publish(series, [piece])
    call check(piece%n_points > 0, "a sphere")
    deallocate (surface%latitude)
    call surrogate_series_write_sphere(series, 1.0d0, surface, [surrogate_make_series_field("z", rows)], piece, status)
    call check(status == surrogate_invalid_argument .and. len(surrogate_vtk_error()) > 0, "a sphere without latitudes")

    call surrogate_png_write(trim(path)//".png", [surrogate_make_png_panel(ghosts(1:4, 1:3)), &
        surrogate_make_png_panel(h, -1d0, 1d0, surrogate_color_diverging)])
    inquire (file=trim(path)//".png", size=n_byte)
    call check(n_byte > 100, "a picture")
    call surrogate_png_write(trim(path)//".png", [surrogate_make_png_panel(t)], status)
    call check_status(status, surrogate_shape, "panel: expected values(n_x, n_y)")
    call surrogate_png_write_labeled(trim(path)//"_labels.png", "two panels", [surrogate_make_png_panel(ghosts(1:4, 1:3)), &
        surrogate_make_png_panel(h, -1d0, 1d0, surrogate_color_diverging)], &
        [surrogate_png_label(title="left", quantity="pressure", unit="Pa", frame=surrogate_frame_axes, &
        x=surrogate_png_axis("x", "m", 0d0, 1d0), y=surrogate_png_axis("y", "m", 0d0, 2d0)), &
        surrogate_png_label(title="right", is_log10=.true.)])
    n_plain = n_byte
    inquire (file=trim(path)//"_labels.png", size=n_byte)
    call check(n_byte > n_plain, "a picture with words")
    call surrogate_png_write_labeled(trim(path)//"_no.png", "", [surrogate_make_png_panel(h)], [surrogate_png_label ::], status)
    call check_status(status, surrogate_shape, "a label for each panel")
    call surrogate_png_write_labeled(trim(path)//"_no.png", "", [surrogate_make_png_panel(h)], &
        [surrogate_png_label(frame=surrogate_frame_axes)], status)
    call check_status(status, surrogate_invalid_argument, "labels[0].x goes from")
    call done()
end program
