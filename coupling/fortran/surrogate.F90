! SPDX-License-Identifier: Apache-2.0
! libsurrogate for Fortran: learned attention surrogates inside MPI solvers. One procedure for each
! function of surrogate.h, with the same name; the contracts are in surrogate.h, and the page
! how-to/couple-fortran.md describes the conventions.
!
!     use surrogate
!     real(8), allocatable, target :: h(:, :), p(:, :)          bound arrays are TARGETs
!     type(surrogate_context) :: context
!     ..
!     call surrogate_context_create(context, MPI_COMM_WORLD, options="threads=2")
!     call surrogate_model_load(model, context, "flow.safetensors")
!     call surrogate_domain_create_points(domain, context, x)   x(n_axis, n_x, n_y)
!     call surrogate_plan_create(plan, model, domain)
!     call surrogate_plan_bind_input(plan, "height", h(1:n_x, 1:n_y), "m")
!     call surrogate_plan_bind_output(plan, "pressure", p(1:n_x, 1:n_y), "Pa")
!     do step = 1, n_step
!         call surrogate_plan_run(plan)
!     end do
!
! - The first argument is the object that gives the procedure its name, then follow C's arguments in
!   C's order. Optional arguments come last, status at the very end. Without status an error stops
!   the program with the library's text.
! - Objects have finalizers, and surrogate_.._destroy, which may be called again. An object has one
!   owner: assigning it stops the program; use a pointer to share it. After MPI_Finalize destroying
!   only frees memory.
! - Arrays have any suitable kind and rank, sections included, and are used without a copy.
!   u(n_field, n_point) is the C array [n_point][n_field]. Points in several dimensions are numbered
!   with the first dimension fastest.
! - Bound arrays must keep their address as long as the plan runs, and must be TARGETs. Otherwise
!   the compiler may keep values in registers, or in a copy, while the library reads the memory.
! - gfortran copies components such as cells%h when it calls a procedure of Fortran: bind
!   surrogate_array_of(cells%h), kept in a variable.
! - Names, units, keys and paths lose trailing blanks. Texts are returned as allocatable characters.
! - Integers have kind c_int, counts c_int64_t, independent of the default integer. Fields, ports
!   and ranks count from 0.
module surrogate
    use surrogate_fortran_base, only: surrogate_success, surrogate_invalid_argument, surrogate_unknown_name, &
        surrogate_shape, surrogate_io, surrogate_bad_file, surrogate_not_supported, surrogate_no_memory, &
        surrogate_not_finite, surrogate_limit, surrogate_mpi, surrogate_broken, surrogate_internal, surrogate_device, &
        surrogate_out_of_range, surrogate_callback, surrogate_float32, surrogate_float64, surrogate_int32, &
        surrogate_int64, surrogate_uint8, surrogate_host, surrogate_cuda, surrogate_object, surrogate_array, &
        surrogate_version, surrogate_status_name, surrogate_text, surrogate_make_array, surrogate_array_of
    use surrogate_fortran_context, only: surrogate_options, surrogate_context, surrogate_sum, surrogate_max, surrogate_min, &
        surrogate_options_create, surrogate_options_set, surrogate_options_destroy, surrogate_context_create, &
        surrogate_context_rank, surrogate_context_agree, surrogate_context_fail, surrogate_context_reduce, &
        surrogate_context_describe, surrogate_context_set_log, surrogate_context_destroy, surrogate_error, &
        surrogate_log_function
    use surrogate_fortran_model, only: surrogate_model, surrogate_check_case, surrogate_field, surrogate_coordinate, &
        surrogate_points, surrogate_sphere, surrogate_on_input, surrogate_on_output, surrogate_on_clouds, surrogate_on_nodes, &
        surrogate_coordinates, surrogate_class, surrogate_cloud, surrogate_real, &
        surrogate_integer, surrogate_field_info, surrogate_input_statistics, surrogate_domain_info, surrogate_port_info, &
        surrogate_tensor, surrogate_model_load, surrogate_model_load_memory, surrogate_model_create, surrogate_model_save, &
        surrogate_model_n_inputs, surrogate_model_n_outputs, surrogate_model_input, surrogate_model_output, &
        surrogate_model_input_statistics, surrogate_model_hash, surrogate_model_domain, surrogate_model_n_ports, &
        surrogate_model_port, surrogate_model_port_is_optional, surrogate_model_family, surrogate_model_describe, &
        surrogate_model_destroy, &
        surrogate_model_check_bound, surrogate_make_tensor, surrogate_check_case_load, surrogate_check_case_n_tensors, &
        surrogate_check_case_tensor, surrogate_check_case_destroy
    use surrogate_fortran_domain, only: surrogate_domain, surrogate_ordering, surrogate_domain_create_points, &
        surrogate_sphere_info, surrogate_domain_sphere, &
        surrogate_domain_points, surrogate_domain_update_points, surrogate_domain_set_edges, surrogate_domain_n_clouds, &
        surrogate_domain_create_sphere, &
        surrogate_sphere_nodes, surrogate_domain_n_points, surrogate_domain_destroy, surrogate_ordering_create, &
        surrogate_ordering_range, surrogate_ordering_to_canonical, surrogate_ordering_to_local, surrogate_ordering_destroy, &
        surrogate_partition, surrogate_partition_sphere
    use surrogate_fortran_plan, only: surrogate_plan, surrogate_named_array, surrogate_range_info, surrogate_plan_create, &
        surrogate_plan_open, surrogate_plan_context, surrogate_plan_agree, surrogate_plan_model, surrogate_plan_domain, &
        surrogate_plan_bind_input, surrogate_plan_bind_output, surrogate_plan_bind_input_block, &
        surrogate_plan_bind_output_gradient, surrogate_plan_bind_input_gradient, &
        surrogate_plan_bind_output_gradient_block, surrogate_plan_bind_input_gradient_block, surrogate_plan_run_backward, &
        surrogate_plan_bind_output_tangent, surrogate_plan_bind_input_tangent, &
        surrogate_plan_bind_output_tangent_block, surrogate_plan_bind_input_tangent_block, surrogate_plan_run_tangent, &
        surrogate_plan_bind_output_block, surrogate_plan_unbind, surrogate_plan_run, surrogate_plan_run_with_error, &
        surrogate_plan_run_network, surrogate_plan_set_stream, surrogate_plan_wait, surrogate_plan_option, &
        surrogate_plan_counter, surrogate_plan_range, surrogate_plan_describe, surrogate_plan_destroy, &
        surrogate_make_named_array
    implicit none
    public
end module
