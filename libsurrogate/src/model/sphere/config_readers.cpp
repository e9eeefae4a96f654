// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/config_readers.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl::sphere {

using kernels::sphere::Basis;

namespace {

constexpr int64_t max_rows = 20000;  // two kilometres on the earth

}  // namespace

void refuse(const std::string& text) {
    throw Error(Status::bad_file, "card: " + text);
}

Conventions parse_conventions(const nlohmann::json& found) {
    Conventions c;
    const auto text = [&](const char* key, const char* fallback) -> std::string {
        if (!found.is_object() || !found.contains(key)) return fallback;
        if (found[key].is_string()) return found[key].get<std::string>();
        refuse(std::string(key) + " is " + printable(dump_json(found[key]), 60) +
               ", expected a string");
    };
    const std::string release = text("conventions", "torch-harmonics 0.9.3");
    int major = 0, minor = 0, patch = 0, n_read = 0;
    std::sscanf(release.c_str(), "torch-harmonics %d.%d.%d%n", &major, &minor, &patch, &n_read);
    if (n_read == 0 || static_cast<size_t>(n_read) != release.size() || major != 0 || minor < 8 ||
        minor > 9) {
        refuse("conventions '" + printable(release, 60) +
               "' are not known; expected torch-harmonics 0.8.0 .. 0.9.3");
    }
    const bool before_0_9_1 = minor < 9 || patch < 1;
    c.old_scale = c.old_shift = c.adds_epsilon = before_0_9_1;
    c.old_cutoff = before_0_9_1 || patch < 3;
    c.norm = before_0_9_1 ? BasisNorm::mean : BasisNorm::nodal;

    if (const std::string rule = text("theta_cutoff_rule", "models"); rule != "models")
        refuse("theta_cutoff_rule '" + printable(rule, 60) + "' is not known; expected models");
    const std::string norm = text("basis_norm_mode", "");
    if (norm.empty()) return c;
    const auto entry = std::ranges::find(norm_names, norm);
    if (entry == norm_names.end()) {
        refuse("basis_norm_mode '" + printable(norm, 60) + "' is not known" +
               did_you_mean(norm, norm_names));
    }
    c.norm = basis_norms[entry - norm_names.begin()];
    return c;
}

Grid read_grid(Hyperparameters& read, const char* size_key, const char* grid_key,
               std::vector<int64_t> size, size_t kind) {
    size = read.integers(size_key, 1, max_columns, 2, std::move(size));
    if (size.size() != 2 || size[0] < 2 || size[0] > max_rows) {
        refuse(std::string("network.") + size_key + " has " + std::to_string(size.size()) +
               " numbers, the first is " + std::to_string(size[0]) +
               ", expected [n_lat, n_lon] with 2 to " + std::to_string(max_rows) + " rows");
    }
    return {static_cast<GridKind>(read.choice(grid_key, grid_names, kind)), size[0], size[1]};
}

Filter read_filter(Hyperparameters& read, const char* shape_key, const char* basis_key,
                   size_t basis, std::vector<int64_t> shape, const Conventions& conventions) {
    Filter filter;
    filter.basis = static_cast<Basis>(read.choice(basis_key, basis_names, basis));
    shape = read.integers(shape_key, 0, 32, 2, std::move(shape));
    const bool is_radial =
        filter.basis == Basis::zernike || filter.basis == Basis::piecewise_linear;
    if (shape.size() == 1 && !is_radial) {
        refuse(std::string("network.") + shape_key + " has one number, expected two for basis '" +
               basis_names[static_cast<size_t>(filter.basis)] + "'");
    }
    filter.shape = {shape[0], shape.size() > 1 ? shape[1] : 1};
    filter.norm = conventions.norm;
    filter.adds_epsilon = conventions.adds_epsilon;
    if (filter.n_basis() < 1 || filter.n_basis() > 1024) {
        refuse(std::string("network.") + shape_key + " gives " + std::to_string(filter.n_basis()) +
               " basis functions; 1 .. 1024 are possible");
    }
    return filter;
}

std::string nearest_multiples(int64_t n, int64_t step) {
    const int64_t below = n / step * step;
    return (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + step);
}

void require_divisible(int64_t n_lon, int64_t step, const std::string& why) {
    if (n_lon % step == 0) return;
    refuse(std::to_string(n_lon) + " longitudes cannot be divided by " + std::to_string(step) +
           why + "; sizes that would work: " + nearest_multiples(n_lon, step));
}

void require_divides(const char* key, int64_t divisor, int64_t n) {
    if (n % divisor == 0) return;
    refuse(std::string("network.") + key + " is " + std::to_string(divisor) +
           ", expected a divisor of " + std::to_string(n));
}

}  // namespace surrogate::impl::sphere
