// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/vector_names.hpp"

#include <algorithm>
#include <array>

namespace surrogate::tool {

namespace {

/// Returns 0, 1, 2 for x, y, z; otherwise -1.
int axis_of(char letter) {
    return letter >= 'x' && letter <= 'z' ? letter - 'x' : -1;
}

int symmetric_index(std::string suffix) {
    constexpr std::array order = {"xx", "yy", "zz", "xy", "yz", "xz"};
    std::sort(suffix.begin(), suffix.end());
    return static_cast<int>(std::find(order.begin(), order.end(), suffix) - order.begin());
}

}  // namespace

ComponentName split_component(std::string_view name) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return {};
    return {std::string(name.substr(0, dot)), std::string(name.substr(dot + 1))};
}

int component_index(std::string_view suffix, int n_components) {
    if (suffix.empty() || suffix.size() > 2) return -1;
    const int first = axis_of(suffix.front()), second = axis_of(suffix.back());
    const int n_axis = n_components % 2 == 0 && n_components != 6 ? 2 : 3;
    if (first < 0 || second < 0 || first >= n_axis || second >= n_axis) return -1;
    if (suffix.size() == 1) return n_components == n_axis ? first : -1;
    if (n_components == 6) return symmetric_index(std::string(suffix));
    return n_components == n_axis * n_axis ? first * n_axis + second : -1;
}

}  // namespace surrogate::tool
