// SPDX-License-Identifier: Apache-2.0
#pragma once

// The library does not export this class, so this folder compiles it again.
#include "libsurrogate/src/core/new_file.hpp"
