// SPDX-License-Identifier: Apache-2.0
// Errors, options and the objects of a plan with PETSc conventions.
#include <surrogate/surrogate_mpi.h>
#include <surrogate/surrogate_petsc.h>

#include <array>
#include <cstddef>

#include "context_options.hpp"
#include "log_events.hpp"

#if defined(PETSC_USE_COMPLEX)
#error "surrogate_petsc needs a PETSc with real scalars (PETSC_USE_COMPLEX is set)"
#endif
#if defined(PETSC_USE_64BIT_INDICES)
#error "surrogate_petsc needs a PETSc with 32-bit integers (PETSC_USE_64BIT_INDICES is set)"
#endif
static_assert(sizeof(PetscScalar) == sizeof(float) || sizeof(PetscScalar) == sizeof(double),
              "fields are float or double");

namespace {

using surrogate::petsc::EventScope;
using surrogate::petsc::find_event;

/// An option of surrogate_options_set as -surrogate_<key>. -help prints `fallback` as the default.
template <class Value>
struct Option {
    const char* key;
    const char* flag;
    const char* help;
    Value fallback;
};

constexpr std::array<Option<const char*>, 8> text_options = {{
    {"threads", "-surrogate_threads", "threads of a rank, or auto", "auto"},
    {"vector", "-surrogate_vector", "vector level: auto, avx512, avx2, neon, scalar", "auto"},
    {"backend", "-surrogate_backend", "kernels: auto, ref, simd, cuda", "auto"},
    {"precision", "-surrogate_precision",
     "fp32; fp64 with backend ref; tf32, fp16, bf16 with backend cuda", "fp32"},
    {"device", "-surrogate_device", "backend cuda: number of the device, or auto (the current one)",
     "auto"},
    {"timeout_s", "-surrogate_timeout_s",
     "backend cuda: seconds to wait for other ranks' devices, 0: no limit", "0"},
    {"range", "-surrogate_range", "inputs outside the card's ranges: count, warn, error", "count"},
    {"coordinates", "-surrogate_coordinates",
     "coordinates of domains: physical (as on the card), or normalized (as the network takes them)",
     "physical"},
}};
constexpr std::array<Option<PetscBool>, 4> flag_options = {{
    {"reproducible", "-surrogate_reproducible",
     "bitwise identical for any ranks, partition, threads and vector width", PETSC_FALSE},
    {"check_finite", "-surrogate_check_finite", "report NaN and infinity in fields", PETSC_TRUE},
    {"agree", "-surrogate_agree", "all ranks return the error of the rank at fault", PETSC_FALSE},
    {"allow_code", "-surrogate_allow_code",
     "run machine code beside model files of family torch, only from sources that you trust",
     PETSC_FALSE},
}};

constexpr std::size_t n_option = text_options.size() + flag_options.size();

/// Returns the value of an option in the database, or "" if it is not set.
struct Given {
    const char* key = nullptr;
    std::array<char, 256> value{};
};

PetscErrorCode read_options(MPI_Comm comm, const char* prefix, std::array<Given, n_option>* given) {
    PetscFunctionBegin;
    std::size_t n = 0;
    PetscOptionsBegin(comm, prefix, "libsurrogate", nullptr);
    for (const auto& option : text_options) {
        Given& found = (*given)[n++];
        found.key = option.key;
        PetscCall(PetscOptionsString(option.flag, option.help, "surrogate_options_set",
                                     option.fallback, found.value.data(), found.value.size(),
                                     nullptr));
    }
    for (const auto& option : flag_options) {
        Given& found = (*given)[n++];
        found.key = option.key;
        PetscBool value = option.fallback, set = PETSC_FALSE;
        PetscCall(PetscOptionsBool(option.flag, option.help, "surrogate_options_set",
                                   option.fallback, &value, &set));
        if (set)
            PetscCall(
                PetscStrncpy(found.value.data(), value ? "true" : "false", found.value.size()));
    }
    PetscOptionsEnd();
    PetscFunctionReturn(0);
}

PetscErrorCode set_options(const std::array<Given, n_option>& given, surrogate_options* options) {
    PetscFunctionBegin;
    for (const Given& option : given) {
        if (option.value[0] == '\0') continue;
        PetscCallSurrogate(surrogate_options_set(options, option.key, option.value.data()));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode create_with(MPI_Comm comm, const std::array<Given, n_option>& given,
                           surrogate_options* options, surrogate_context** context) {
    PetscFunctionBegin;
    PetscCall(set_options(given, options));
    PetscCallSurrogate(surrogate_context_create_mpi(comm, options, context));
    PetscFunctionReturn(0);
}

}  // namespace

std::vector<std::string> surrogate::petsc::context_option_keys() {
    std::vector<std::string> keys;
    for (const auto& option : text_options) keys.emplace_back(option.key);
    for (const auto& option : flag_options) keys.emplace_back(option.key);
    return keys;
}

extern "C" PetscErrorCode surrogate_petsc_error_code(surrogate_status status) {
    switch (status) {
        case SURROGATE_SUCCESS: return PetscErrorCode(0);
        case SURROGATE_INVALID_ARGUMENT:
        case SURROGATE_UNKNOWN_NAME: return PETSC_ERR_ARG_WRONG;
        case SURROGATE_SHAPE: return PETSC_ERR_ARG_SIZ;
        case SURROGATE_IO: return PETSC_ERR_FILE_OPEN;
        case SURROGATE_BAD_FILE: return PETSC_ERR_FILE_UNEXPECTED;
        case SURROGATE_NOT_SUPPORTED: return PETSC_ERR_SUP;
        case SURROGATE_NO_MEMORY: return PETSC_ERR_MEM;
        case SURROGATE_NOT_FINITE: return PETSC_ERR_FP;
        case SURROGATE_DEVICE: return PETSC_ERR_GPU;
        case SURROGATE_OUT_OF_RANGE: return PETSC_ERR_ARG_OUTOFRANGE;
        case SURROGATE_MPI:
        case SURROGATE_BROKEN: return PETSC_ERR_MPI;
        default: return PETSC_ERR_LIB;
    }
}

extern "C" PetscErrorCode surrogate_context_create_petsc(MPI_Comm comm, const char* prefix,
                                                         surrogate_context** context) {
    PetscFunctionBegin;
    PetscCheck(context, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "context is NULL");
    std::array<Given, n_option> given;
    PetscCall(read_options(comm, prefix, &given));
    surrogate_options* options = nullptr;
    PetscCallSurrogate(surrogate_options_create(&options));
    const PetscErrorCode error = create_with(comm, given, options, context);
    surrogate_options_destroy(&options);
    PetscCall(error);
    PetscFunctionReturn(0);
}

extern "C" PetscErrorCode surrogate_model_load_petsc(surrogate_context* context, const char* path,
                                                     surrogate_model** model) {
    PetscFunctionBegin;
    PetscLogEvent event = 0;
    PetscCall(find_event("SurrPlan", &event));
    EventScope scope(event);
    PetscCallSurrogate(surrogate_model_load(context, path, model));
    PetscFunctionReturn(0);
}

extern "C" PetscErrorCode surrogate_plan_create_petsc(const surrogate_model* model,
                                                      const surrogate_domain* input,
                                                      const surrogate_domain* output,
                                                      surrogate_plan** plan) {
    PetscFunctionBegin;
    PetscLogEvent event = 0;
    PetscCall(find_event("SurrPlan", &event));
    EventScope scope(event);
    PetscCallSurrogate(surrogate_plan_create(model, input, output, nullptr, plan));
    PetscFunctionReturn(0);
}
