// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/transport/mpi_library.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/base/error.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

namespace {

/// Makes of MPI whose binary interfaces differ. The MPIs derived from MPICH share one.
constexpr std::string_view open_mpi = "Open MPI", mpich = "MPICH";
#if defined(OPEN_MPI)
constexpr std::string_view own_make = open_mpi;
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION)
constexpr std::string_view own_make = mpich;
#else
constexpr std::string_view own_make;  // not known, so that nothing is compared
#endif

/// Holds the text of MPI_Get_library_version of any make: MPICH writes up to 8192 characters, Open
/// MPI's MPI_MAX_LIBRARY_VERSION_STRING is 256.
constexpr std::size_t longest_version = 8193;

/// Returns the make by the text of MPI_Get_library_version, empty for one that is not listed.
std::string_view make_of(std::string_view text) {
    if (text.starts_with("Open MPI")) return open_mpi;
    for (const std::string_view start : {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"})
        if (text.starts_with(start)) return mpich;
    return {};
}

}  // namespace

bool has_mpi_started() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    return initialized != 0;
}

bool is_mpi_finalized() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized != 0;
}

void require_mpi() {
    if (!has_mpi_started())
        throw Error(Status::invalid_argument, "MPI is not initialized; call MPI_Init first");
    if (is_mpi_finalized()) throw Error(Status::invalid_argument, "MPI is already finalized");
}

void require_own_mpi() {
    require_mpi();
    std::array<char, longest_version> text{};
    int length = 0;
    if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return;
    const std::string_view running = make_of(text.data());
    if (running.empty() || own_make.empty() || running == own_make) return;
    std::string name = text.data();  // "MPICH Version:\t4.0\n..", "Open MPI v4.1.4, package: .."
    name.resize(std::min(name.size(), name.find_first_of(",\n")));
    std::ranges::replace(name, '\t', ' ');
    throw Error(Status::not_supported, "the library was built with " + std::string(own_make) +
                                           ", this program runs " + name +
                                           "; build both with the same MPI");
}

}  // namespace surrogate::impl
