// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace surrogate::kernels {

/// Kind of an error, chosen by the action that it allows to the caller. The values are equal to
/// `surrogate_status` in surrogate.h.
enum class Status : int {
    success = 0,
    invalid_argument = 1,  ///< null pointer, wrong order of calls, value that is not allowed
    unknown_name =
        2,         ///< field, option or tensor name that does not exist; the text lists near misses
    shape = 3,     ///< extents, strides or counts that do not fit
    io = 4,        ///< a file cannot be opened, read or written
    bad_file = 5,  ///< a file was read and is not a valid model file
    not_supported = 6,  ///< valid, but not built or not possible here
    no_memory = 7,
    not_finite = 8,     ///< NaN or infinity in a field, an intermediate sum or a prediction
    limit = 9,          ///< a count does not fit its integer type
    mpi = 10,           ///< an MPI call failed
    broken = 11,        ///< an earlier failure left the context unusable
    internal = 12,      ///< a defect of this library
    device = 13,        ///< a call of the device's runtime or of NCCL failed
    out_of_range = 14,  ///< an input outside the range of the training data, with range=error
};

/// The only exception that this project throws on purpose. The text states the found value, the
/// expected values and a remedy.
class Error : public std::runtime_error {
public:
    Error(Status status, const std::string& text) : std::runtime_error(text), status_(status) {}
    Status status() const { return status_; }

private:
    Status status_;
};

}  // namespace surrogate::kernels
