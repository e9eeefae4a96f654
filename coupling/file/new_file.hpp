// SPDX-License-Identifier: Apache-2.0
#pragma once

// The library's class, which it does not export: this folder compiles it again.
#include "libsurrogate/src/core/new_file.hpp"
