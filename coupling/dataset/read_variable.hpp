// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <optional>
#include <string>
#include <vector>

#include "coupling/dataset/read_form.hpp"

namespace surrogate::dataset {

/// The text of an attribute, of fixed or variable size; nothing if the object has none of that
/// name.
std::optional<std::string> text_attribute(hid_t object, const char* name);

/// Returns all data sets of the root group; links to elsewhere and groups are left out. Throws
/// Error(IO, BAD_FILE), also for numbers that lie elsewhere (h5::require_own_storage).
std::vector<StoredVariable> read_variables(hid_t file);

}  // namespace surrogate::dataset
