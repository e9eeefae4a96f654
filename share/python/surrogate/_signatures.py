# SPDX-License-Identifier: Apache-2.0
"""Functions, structs and callbacks of the C interface as ctypes declares them.

The headers surrogate.h, surrogate_mpi.h, surrogate_train.h, surrogate_timeloop.h and
surrogate_petsc.h document them; the test python_signatures compares both.
"""

from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64
from ctypes import c_uint64, c_void_p

__version__ = "0.2.0"

Status = c_int32  # surrogate_status: an error becomes an exception
Handle = c_void_p  # any opaque object
Comm = c_void_p  # MPI_Comm: a pointer in Open MPI, an integer in MPICH, which fits into a pointer
ref = POINTER

LogFunction = CFUNCTYPE(None, c_void_p, c_char_p)
FallbackFunction = CFUNCTYPE(c_int32, c_void_p, c_double, c_double)


class Array(Structure):
    """surrogate_array"""

    _fields_ = [
        ("data", c_void_p),
        ("shape", c_int64 * 2),
        ("stride", c_int64 * 2),
        ("dtype", c_int32),
        ("space", c_int32),
    ]


class Block(Structure):
    """surrogate_block"""

    _fields_ = [
        ("data", c_void_p),
        ("shape", c_int64 * 4),
        ("stride", c_int64 * 4),
        ("n_dim", c_int32),
        ("dtype", c_int32),
        ("space", c_int32),
        ("reserved", c_int32),
    ]


class NamedArray(Structure):
    """surrogate_named_array"""

    _fields_ = [("name", c_char_p), ("array", Array)]


class Tensor(Structure):
    """surrogate_tensor"""

    _fields_ = [
        ("name", c_char_p),
        ("data", c_void_p),
        ("shape", c_int64 * 8),
        ("n_dim", c_int32),
        ("dtype", c_int32),
    ]


class FieldInfo(Structure):
    """surrogate_field_info"""

    _fields_ = [
        ("name", c_char_p),
        ("unit", c_char_p),
        ("role", c_int32),
        ("axis", c_int32),
        ("mean", c_double),
        ("std", c_double),
        ("min", c_double),
        ("max", c_double),
    ]


class InputStatistics(Structure):
    """surrogate_input_statistics"""

    _fields_ = [
        ("n_feature", c_int32),
        ("mean", POINTER(c_double)),
        ("covariance", POINTER(c_double)),
        ("quantile", c_double),
        ("distance", c_double),
        ("n_samples", c_int64),
    ]


class DomainInfo(Structure):
    """surrogate_domain_info"""

    _fields_ = [
        ("kind", c_int32),
        ("keeps_clouds", c_int32),
        ("grid", c_char_p),
        ("n_lat", c_int64),
        ("n_lon", c_int64),
    ]


class PortInfo(Structure):
    """surrogate_port_info"""

    _fields_ = [
        ("name", c_char_p),
        ("n_channel", c_int64),
        ("is_output", c_int32),
        ("location", c_int32),
        ("kind", c_int32),
    ]


class Points(Structure):
    """surrogate_points"""

    _fields_ = [
        ("x", Array),
        ("global_id", POINTER(c_int64)),
        ("cloud", POINTER(c_int64)),
        ("weight", POINTER(c_double)),
    ]


class Sphere(Structure):
    """surrogate_sphere"""

    _fields_ = [
        ("grid", c_char_p),
        ("n_lat", c_int64),
        ("n_lon", c_int64),
        ("first_lat", c_int64),
        ("n_lat_local", c_int64),
        ("first_lon", c_int64),
        ("n_lon_local", c_int64),
        ("latitude", POINTER(c_double)),
        ("longitude", POINTER(c_double)),
        ("south_to_north", c_int32),
        ("first_longitude", c_double),
        ("lat_stride", c_int64),
        ("lon_stride", c_int64),
    ]


class RangeInfo(Structure):
    """surrogate_range_info"""

    _fields_ = [
        ("name", c_char_p),
        ("min", c_double),
        ("max", c_double),
        ("n_points", c_int64),
        ("n_outside", c_int64),
        ("worst", c_double),
    ]


class StepReport(Structure):
    """surrogate_step_report"""

    _fields_ = [
        ("step", c_int64),
        ("samples", c_int64),
        ("loss", c_double),
        ("gradient_norm", c_double),
        ("learning_rate", c_double),
        ("beta1", c_double),
        ("was_skipped", c_int32),
        ("reserved", c_int32),
    ]


class GuardInfo(Structure):
    """surrogate_guard_info"""

    _fields_ = [
        ("n_violations", c_int64),
        ("field", c_char_p),
        ("fraction", c_double),
        ("value", c_double),
        ("limit", c_double),
    ]


class VecField(Structure):
    """surrogate_vec_field, with the PetscInt of 32 bits that the library requires"""

    _fields_ = [
        ("name", c_char_p),
        ("unit", c_char_p),
        ("vec", c_void_p),
        ("component", c_int32),
        ("n_component", c_int32),
    ]


# Functions by library: name, then the type of the result and the types of the arguments.
functions = {
    "surrogate": {
        "surrogate_version": (c_char_p,),
        "surrogate_status_name": (c_char_p, c_int32),
        "surrogate_error": (c_char_p, Handle),
        "surrogate_options_create": (Status, ref(Handle)),
        "surrogate_options_set": (Status, Handle, c_char_p, c_char_p),
        "surrogate_options_destroy": (None, ref(Handle)),
        "surrogate_context_create": (Status, Handle, ref(Handle)),
        "surrogate_context_rank": (Status, Handle, ref(c_int32), ref(c_int32)),
        "surrogate_context_agree": (Status, Handle, c_int32, c_char_p),
        "surrogate_context_fail": (Status, Handle, c_int32, c_char_p),
        "surrogate_context_reduce": (Status, Handle, c_int32, c_int64, ref(c_double)),
        "surrogate_context_describe": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_context_set_log": (Status, Handle, LogFunction, c_void_p),
        "surrogate_context_destroy": (None, ref(Handle)),
        "surrogate_model_load": (Status, Handle, c_char_p, ref(Handle)),
        "surrogate_model_load_memory": (Status, Handle, c_void_p, c_int64, ref(Handle)),
        "surrogate_model_create": (Status, Handle, c_char_p, c_int32, ref(Tensor), ref(Handle)),
        "surrogate_model_save": (Status, Handle, c_char_p),
        "surrogate_model_n_inputs": (Status, Handle, ref(c_int32)),
        "surrogate_model_n_outputs": (Status, Handle, ref(c_int32)),
        "surrogate_model_input": (Status, Handle, c_int32, ref(FieldInfo)),
        "surrogate_model_output": (Status, Handle, c_int32, ref(FieldInfo)),
        "surrogate_model_input_statistics": (Status, Handle, ref(InputStatistics)),
        "surrogate_model_hash": (Status, Handle, ref(c_uint64)),
        "surrogate_model_domain": (Status, Handle, c_int32, ref(DomainInfo)),
        "surrogate_model_n_ports": (Status, Handle, ref(c_int32)),
        "surrogate_model_port": (Status, Handle, c_int32, ref(PortInfo)),
        "surrogate_model_port_is_optional": (Status, Handle, c_int32, ref(c_int32)),
        "surrogate_model_family": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_model_describe": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_model_destroy": (None, ref(Handle)),
        "surrogate_check_case_load": (Status, Handle, c_char_p, ref(Handle)),
        "surrogate_check_case_n_tensors": (Status, Handle, ref(c_int32)),
        "surrogate_check_case_tensor": (Status, Handle, c_int32, ref(Tensor)),
        "surrogate_check_case_destroy": (None, ref(Handle)),
        "surrogate_model_check_bound": (Status, Handle, c_char_p, c_int32, c_double, ref(c_double)),
        "surrogate_domain_create_points": (Status, Handle, ref(Points), ref(Handle)),
        "surrogate_domain_points": (Status, Handle, ref(Points)),
        "surrogate_domain_update_points": (Status, Handle, ref(Points)),
        "surrogate_domain_set_edges": (Status, Handle, c_int64, ref(c_int64), ref(c_int64)),
        "surrogate_domain_n_clouds": (Status, Handle, ref(c_int64)),
        "surrogate_domain_create_sphere": (Status, Handle, ref(Sphere), ref(Handle)),
        "surrogate_domain_sphere": (Status, Handle, ref(Sphere)),
        "surrogate_sphere_nodes": (
            Status,
            c_char_p,
            c_int64,
            c_int64,
            ref(c_double),
            ref(c_double),
            ref(c_double),
        ),
        "surrogate_domain_n_points": (Status, Handle, ref(c_int64), ref(c_int64)),
        "surrogate_domain_destroy": (None, ref(Handle)),
        "surrogate_ordering_create": (Status, Handle, c_int64, ref(Handle)),
        "surrogate_ordering_range": (Status, Handle, ref(c_int64), ref(c_int64)),
        "surrogate_ordering_to_canonical": (Status, Handle, c_int64, c_void_p, c_void_p),
        "surrogate_ordering_to_local": (Status, Handle, c_int64, c_void_p, c_void_p),
        "surrogate_ordering_destroy": (None, ref(Handle)),
        "surrogate_partition": (
            Status,
            c_char_p,
            c_int64,
            c_int32,
            c_int32,
            ref(c_int64),
            ref(c_int64),
        ),
        "surrogate_partition_sphere": (
            Status,
            c_char_p,
            c_int64,
            c_int64,
            c_int32,
            c_int32,
            ref(c_int64),
        ),
        "surrogate_plan_create": (Status, Handle, Handle, Handle, Handle, ref(Handle)),
        "surrogate_plan_open": (Status, c_char_p, ref(Points), Handle, ref(Handle)),
        "surrogate_plan_context": (Status, Handle, ref(Handle)),
        "surrogate_plan_model": (Status, Handle, ref(Handle)),
        "surrogate_plan_domain": (Status, Handle, c_int32, ref(Handle)),
        "surrogate_plan_agree": (Status, Handle, c_int32, c_char_p),
        "surrogate_plan_bind_input": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_plan_bind_output": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_plan_bind_input_block": (Status, Handle, c_char_p, c_char_p, ref(Block)),
        "surrogate_plan_bind_output_block": (Status, Handle, c_char_p, c_char_p, ref(Block)),
        "surrogate_plan_unbind": (Status, Handle),
        "surrogate_plan_run": (Status, Handle),
        "surrogate_plan_run_with_error": (Status, Handle, c_int32, c_char_p),
        "surrogate_plan_run_network": (
            Status,
            Handle,
            c_int32,
            ref(NamedArray),
            c_int32,
            ref(NamedArray),
        ),
        "surrogate_plan_bind_output_gradient": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_plan_bind_input_gradient": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_plan_bind_output_gradient_block": (
            Status,
            Handle,
            c_char_p,
            c_char_p,
            ref(Block),
        ),
        "surrogate_plan_bind_input_gradient_block": (
            Status,
            Handle,
            c_char_p,
            c_char_p,
            ref(Block),
        ),
        "surrogate_plan_run_backward": (Status, Handle),
        "surrogate_plan_bind_input_tangent": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_plan_bind_output_tangent": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_plan_bind_input_tangent_block": (Status, Handle, c_char_p, c_char_p, ref(Block)),
        "surrogate_plan_bind_output_tangent_block": (
            Status,
            Handle,
            c_char_p,
            c_char_p,
            ref(Block),
        ),
        "surrogate_plan_run_tangent": (Status, Handle),
        "surrogate_plan_set_stream": (Status, Handle, c_void_p),
        "surrogate_plan_wait": (Status, Handle),
        "surrogate_plan_option": (Status, Handle, c_char_p, c_char_p, ref(c_int64)),
        "surrogate_plan_counter": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_plan_range": (Status, Handle, c_int32, ref(RangeInfo)),
        "surrogate_plan_describe": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_plan_destroy": (None, ref(Handle)),
        "surrogate_context_create_mpi": (Status, Comm, Handle, ref(Handle)),
        "surrogate_context_create_fint": (Status, c_int, Handle, ref(Handle)),
        "surrogate_plan_open_mpi": (Status, Comm, c_char_p, ref(Points), Handle, ref(Handle)),
        "surrogate_plan_open_fint": (Status, c_int, c_char_p, ref(Points), Handle, ref(Handle)),
        "surrogate_context_comm": (Status, Handle, ref(Comm)),
        "surrogate_context_compare_comm": (Status, Handle, Comm, ref(c_int)),
        "surrogate_plan_compare_comm": (Status, Handle, Comm, ref(c_int)),
        "surrogate_trainer_options_create": (Status, ref(Handle)),
        "surrogate_trainer_options_set": (Status, Handle, c_char_p, c_char_p),
        "surrogate_trainer_options_destroy": (None, ref(Handle)),
        "surrogate_trainer_create": (Status, Handle, Handle, Handle, ref(Handle)),
        "surrogate_trainer_bind_target": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_trainer_bind_target_block": (Status, Handle, c_char_p, c_char_p, ref(Block)),
        "surrogate_trainer_bind_labels": (Status, Handle, ref(Array)),
        "surrogate_trainer_set_class_weights": (Status, Handle, ref(c_double), c_int64),
        "surrogate_trainer_bind_gradient": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_trainer_bind_gradient_block": (Status, Handle, c_char_p, c_char_p, ref(Block)),
        "surrogate_trainer_set_point_weights": (Status, Handle, ref(Array)),
        "surrogate_trainer_set_scale": (Status, Handle, c_char_p, c_double),
        "surrogate_trainer_set_grid_shape": (Status, Handle, c_int64, c_int64),
        "surrogate_trainer_accumulate": (Status, Handle, ref(c_double)),
        "surrogate_trainer_forward": (Status, Handle),
        "surrogate_trainer_backward": (Status, Handle, c_double),
        "surrogate_trainer_apply": (Status, Handle, ref(StepReport)),
        "surrogate_trainer_step": (Status, Handle, ref(StepReport)),
        "surrogate_trainer_validate": (Status, Handle, ref(c_double), ref(c_double)),
        "surrogate_trainer_add_validation_loss": (Status, Handle, c_double),
        "surrogate_trainer_end_validation": (Status, Handle, ref(c_double), ref(c_int32)),
        "surrogate_trainer_reservoir_add": (Status, Handle, ref(c_int64)),
        "surrogate_trainer_reservoir_step": (Status, Handle, c_int64, ref(StepReport)),
        "surrogate_trainer_widen_ranges": (Status, Handle, ref(c_int32)),
        "surrogate_trainer_save_model": (Status, Handle, c_int32, c_char_p, c_char_p),
        "surrogate_trainer_save": (Status, Handle, c_char_p, c_char_p),
        "surrogate_trainer_restore": (Status, Handle, c_char_p),
        "surrogate_trainer_note": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_trainer_describe": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_trainer_counter": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_trainer_destroy": (None, ref(Handle)),
        "surrogate_model_initialize": (Status, Handle, c_char_p, c_int64, ref(Handle)),
        "surrogate_model_initialize_scaled": (
            Status,
            Handle,
            c_char_p,
            c_int64,
            c_double,
            ref(Handle),
        ),
    },
    "surrogate_timeloop": {
        "surrogate_timeloop_create": (Status, Handle, ref(Handle)),
        "surrogate_timeloop_plan": (Status, Handle, ref(Handle)),
        "surrogate_timeloop_set": (Status, Handle, c_char_p, c_char_p),
        "surrogate_timeloop_set_log": (Status, Handle, LogFunction, c_void_p),
        "surrogate_timeloop_bind": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_timeloop_bind_block": (Status, Handle, c_char_p, c_char_p, ref(Block)),
        "surrogate_timeloop_unbind": (Status, Handle),
        "surrogate_timeloop_connect": (Status, Handle, c_char_p, c_char_p),
        "surrogate_timeloop_bind_state": (Status, Handle, c_char_p, c_char_p, ref(Array)),
        "surrogate_timeloop_bind_state_block": (Status, Handle, c_char_p, c_char_p, ref(Block)),
        "surrogate_timeloop_set_bounds": (Status, Handle, c_char_p, c_double, c_double),
        "surrogate_timeloop_conserve": (
            Status,
            Handle,
            c_char_p,
            c_char_p,
            ref(c_double),
            c_double,
        ),
        "surrogate_timeloop_add_source": (Status, Handle, c_char_p, c_double),
        "surrogate_timeloop_set_fallback": (Status, Handle, FallbackFunction, c_void_p),
        "surrogate_timeloop_step": (Status, Handle, c_double, ref(c_int32)),
        "surrogate_timeloop_step_with_error": (Status, Handle, c_int32, c_char_p),
        "surrogate_timeloop_rollout": (
            Status,
            Handle,
            c_int64,
            c_double,
            ref(c_int64),
            ref(c_int32),
        ),
        "surrogate_timeloop_advance": (Status, Handle, c_double),
        "surrogate_timeloop_time": (Status, Handle, ref(c_double), ref(c_int64)),
        "surrogate_timeloop_set_time": (Status, Handle, c_double, c_int64),
        "surrogate_timeloop_reason": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_timeloop_guard": (Status, Handle, c_char_p, ref(GuardInfo)),
        "surrogate_timeloop_counter": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_timeloop_report": (Status, Handle, c_char_p, ref(c_int64)),
        "surrogate_timeloop_snapshot": (Status, Handle),
        "surrogate_timeloop_rollback": (Status, Handle),
        "surrogate_timeloop_save": (Status, Handle, c_char_p),
        "surrogate_timeloop_restore": (Status, Handle, c_char_p),
        "surrogate_timeloop_destroy": (None, ref(Handle)),
    },
    "surrogate_petsc": {
        "surrogate_petsc_error_code": (c_int, c_int32),
        "surrogate_context_create_petsc": (c_int, Comm, c_char_p, ref(Handle)),
        "surrogate_model_load_petsc": (c_int, Handle, c_char_p, ref(Handle)),
        "surrogate_plan_create_petsc": (c_int, Handle, Handle, Handle, ref(Handle)),
        "surrogate_domain_create_dm": (c_int, Handle, Handle, ref(Handle)),
        "surrogate_domain_create_dm_sphere": (c_int, Handle, Handle, c_char_p, c_int, ref(Handle)),
        "surrogate_plan_run_vec": (c_int, Handle, c_int32, ref(VecField), c_int32, ref(VecField)),
        "surrogate_plan_run_backward_vec": (
            c_int,
            Handle,
            c_int32,
            ref(VecField),
            c_int32,
            ref(VecField),
        ),
        "surrogate_plan_create_mat": (
            c_int,
            Handle,
            c_int32,
            ref(VecField),
            c_int32,
            ref(VecField),
            ref(Handle),
        ),
        "surrogate_petsc_register": (c_int,),
        "surrogate_timeloop_step_vec": (
            c_int,
            Handle,
            c_double,
            c_int32,
            ref(VecField),
            c_int32,
            ref(VecField),
            ref(c_int32),
        ),
    },
}
