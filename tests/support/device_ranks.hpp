// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/fake_nccl.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {

/// A context on MPI_COMM_WORLD whose ranks have an emulated device each, or all hold the same one.
/// Collective.
inline Context ranks_context(bool is_shared, impl::NcclLoader nccl = nullptr) {
    kernels::DeviceProperties properties = EmulatedDevice::default_properties();
    properties.uuid = {7};
    if (!is_shared) properties.uuid[1] = static_cast<uint8_t>(1 + rank_of(MPI_COMM_WORLD));
    emulated_device() = EmulatedDevice(properties);
    return device_context(emulated_kind, impl::mpi_communicator(MPI_COMM_WORLD), {}, nccl);
}

inline Options by_cuda(const std::string& precision = "fp32") {
    return {{"backend", "cuda"}, {"precision", precision}};
}

/// Expects that `own` is bitwise identical to the rows `rows` of `whole`, which has n rows.
inline void expect_rows(const std::vector<double>& own, const std::vector<int64_t>& rows,
                        const std::vector<double>& whole, int64_t n) {
    const size_t width = whole.size() / static_cast<size_t>(n);
    ASSERT_EQ(own.size(), rows.size() * width);
    for (size_t i = 0; i < own.size(); ++i)
        ASSERT_EQ(own[i], whole[static_cast<size_t>(rows[i / width]) * width + i % width]) << i;
}

/// The NCCL that pretended_nccl() finds; set by tests.
inline FakeNccl* pretended = nullptr;
inline const impl::NcclApi* pretended_nccl(std::string&) {
    return &pretended->api();
}

}  // namespace surrogate::test
