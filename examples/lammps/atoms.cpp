// SPDX-License-Identifier: Apache-2.0
#include "atoms.hpp"

#define LAMMPS_LIB_MPI
#include <lammps/lammps.h>
#include <lammps/library.h>

#include <stdexcept>

// lammps/error.h of Debian 12 (20220106) does not compile with its fmt 9, which has no
// make_args_checked. These three calls do not use fmt.
namespace LAMMPS_NS {
class Error {
public:
    [[noreturn]] void all(const std::string& file, int line, const std::string& text);
    [[noreturn]] void one(const std::string& file, int line, const std::string& text);
    void warning(const std::string& file, int line, const std::string& text);
};
}  // namespace LAMMPS_NS

namespace {

const std::vector<std::string> scalars = {"q", "rmass", "radius"};
const std::vector<std::string> vectors = {"x", "v", "f", "mu", "omega", "torque", "angmom"};

}  // namespace

void Atoms::look(int n, const int* tag, double** x) {
    ids_.assign(tag, tag + n);
    x_ = n > 0 ? x[0] : nullptr;
}

surrogate_points Atoms::points() const {
    return {surrogate::matrix(x_, n(), 3), ids_.data(), nullptr, nullptr};
}

std::vector<std::string> Atoms::names() const {
    std::vector<std::string> found;
    for (const std::string& name : scalars)
        if (lammps_extract_atom(lammps_, name.c_str()) != nullptr) found.push_back(name);
    for (const std::string& name : vectors)
        if (lammps_extract_atom(lammps_, name.c_str()) != nullptr)
            found.push_back(name + " (.x, .y, .z)");
    found.push_back("d_name of a fix property/atom");
    return found;
}

std::optional<surrogate_array> Atoms::find(const std::string& name) const {
    const bool is_scalar = name.rfind("d_", 0) == 0 ||
                           std::find(scalars.begin(), scalars.end(), name) != scalars.end();
    if (is_scalar) {
        auto* const data = static_cast<double*>(lammps_extract_atom(lammps_, name.c_str()));
        if (data != nullptr) return surrogate::column(data, n());
    }
    const std::size_t dot = name.rfind('.');
    const std::string vector = name.substr(0, dot);
    const std::string axis = dot == std::string::npos ? "" : name.substr(dot + 1);
    const bool is_vector = std::find(vectors.begin(), vectors.end(), vector) != vectors.end();
    if (is_vector && (axis == "x" || axis == "y" || axis == "z")) {
        auto** const rows = static_cast<double**>(lammps_extract_atom(lammps_, vector.c_str()));
        if (rows != nullptr)
            return surrogate::column(n() > 0 ? rows[0] + (axis[0] - 'x') : nullptr, n(), 3);
    }
    return std::nullopt;
}

surrogate_array Atoms::column(const std::string& name) const {
    if (const std::optional<surrogate_array> found = find(name)) return *found;
    std::string list;
    for (const std::string& other : names()) list += (list.empty() ? "" : ", ") + other;
    throw std::invalid_argument("the model card needs '" + name +
                                "', which the atoms do not have; they have: " + list);
}

surrogate_array Atoms::compute(const std::string& id) const {
    auto* const data = static_cast<double*>(
        lammps_extract_compute(lammps_, id.c_str(), LMP_STYLE_ATOM, LMP_TYPE_VECTOR));
    if (data == nullptr && n() > 0)
        throw std::invalid_argument("there is no compute '" + id + "' with one number per atom");
    return surrogate::column(data, n());
}

surrogate::Context context_of(void* lammps) {
    const MPI_Comm comm = MPI_Comm_f2c(lammps_get_mpi_comm(lammps));
    auto& error = *static_cast<LAMMPS_NS::LAMMPS*>(lammps)->error;
    if (lammps_extract_setting(lammps, "tagint") != 4 ||
        lammps_extract_setting(lammps, "bigint") != 8)
        end_lammps(lammps, SURROGATE_NOT_SUPPORTED,
                   "this adapter is compiled for tags of 32 and steps of 64 bits "
                   "(LAMMPS_SMALLBIG); LAMMPS was compiled with other sizes (info config)");
    require_calls(lammps);
    constexpr int tried = 20210929;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (lammps_version(lammps) != tried && rank == 0)
        error.warning(__FILE__, __LINE__,
                      "surrogate: tested with LAMMPS " + std::to_string(tried) +
                          "; this is an untested version, " +
                          std::to_string(lammps_version(lammps)));
    surrogate_context* context = nullptr;
    const surrogate_status status = surrogate_context_create_mpi(comm, nullptr, &context);
    if (status != SURROGATE_SUCCESS) end_lammps(lammps, status, surrogate_error(nullptr));
    return surrogate::Context(context);
}

void require_calls(void* lammps) {
    if (lammps_extract_global(lammps, "respa_levels") != nullptr)
        end_lammps(lammps, SURROGATE_NOT_SUPPORTED,
                   "run_style is respa, expected verlet; respa calls fix external before the first "
                   "step only");
}

void end_lammps(void* lammps, surrogate_status status, const std::string& text) {
    auto& error = *static_cast<LAMMPS_NS::LAMMPS*>(lammps)->error;
    if (status == SURROGATE_MPI || status == SURROGATE_BROKEN)
        error.one(__FILE__, __LINE__, "surrogate: " + text);  // by MPI_Abort
    error.all(__FILE__, __LINE__, "surrogate: " + text);
}
