// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <optional>
#include <string>
#include <vector>

#include "coupling/dataset/read_form.hpp"

namespace surrogate::dataset {

/// Returns the text of an attribute, of fixed or variable size; nullopt if the object does not have
/// it.
std::optional<std::string> text_attribute(hid_t object, const char* name);

/// Returns all data sets of the root group, without external links and groups. Throws Error(IO,
/// BAD_FILE), also for numbers that are stored in another file (h5::require_own_storage).
std::vector<StoredVariable> read_variables(hid_t file);

}  // namespace surrogate::dataset
