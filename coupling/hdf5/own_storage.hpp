// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>

namespace surrogate::h5 {

/// Largest number of bytes that one stored byte may expand to: deflate reaches 1032.
constexpr uint64_t largest_expansion = 1032;

/// Throws Error(BAD_FILE) unless the numbers of a data set are in its own file and only built-in
/// filters of HDF5 are needed to read them: deflate, shuffle, fletcher32, szip. The error names
/// external storage, virtual layouts and other filters. Reads no numbers and loads no plug-in.
/// Local. have the size of their extents and be within the file; every chunk must exist, and its
/// bytes must be able to expand to the extents by at most largest_expansion. Local.
void require_own_storage(hid_t dataset);

/// Throws Error(BAD_FILE) unless all numbers of a data set were written, as far as their storage
/// tells: contiguous numbers have the size of their extents and lie within the file; every chunk is
/// there, and its bytes can expand to the extents by at most largest_expansion. Local.
/// @param file_bytes  size of the file
void require_written(hid_t dataset, uint64_t file_bytes);

/// Returns "(3, 4)" for extents, "()" for a scalar.
template <class Extents>
std::string shape_text(const Extents& extents) {
    std::string text;
    for (const auto extent : extents) text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return "(" + text + ")";
}

}  // namespace surrogate::h5
