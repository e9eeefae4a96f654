// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace surrogate::tool {

/// The name of a component of a vector or tensor: "velocity.x", "stress.xy".
struct ComponentName {
    std::string array;   ///< before the last dot; "" without a dot
    std::string suffix;  ///< after the last dot
};
ComponentName split_component(std::string_view name);

/// Returns the index of a component in an array of n_components, in VTK's order; -1 if the array
/// does not have it.
///   2, 3  x y z
///   4, 9  xx xy yx yy, and xx xy xz yx yy yz zx zy zz: tensors, row by row
///   6     xx yy zz xy yz xz: symmetric tensors; yx is xy
int component_index(std::string_view suffix, int n_components);

}  // namespace surrogate::tool
