// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coupling/error/error.hpp"
#include "coupling/file/new_file.hpp"

namespace surrogate::coupling {

/// Runs work with a file::NewFile and converts its errors to Error(IO).
template <class Work>
void with_file(const Work& work) {
    try {
        work();
    } catch (const file::Error& error) {
        fail(SURROGATE_IO, error.what());
    }
}

}  // namespace surrogate::coupling
