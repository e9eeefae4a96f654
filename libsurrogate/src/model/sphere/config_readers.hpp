// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "libsurrogate/src/file/hyperparameters.hpp"
#include "libsurrogate/src/model/sphere/config.hpp"

/// Parts of parse_config(). All functions are local and throw as parse_config().
namespace surrogate::impl::sphere {

using kernels::sphere::BasisNorm;

constexpr int64_t max_columns = 40000;
constexpr int64_t max_channels = 1 << 16;

inline const std::vector<std::string> grid_names = {"equiangular", "legendre-gauss", "lobatto",
                                                    "equiangular-trapezoidal"};
inline const std::vector<std::string> basis_names = {"piecewise linear", "morlet", "zernike",
                                                     "harmonic", "fourier-bessel"};
inline const std::vector<std::string> norm_names = {"nodal", "mean", "support",    "geometric",
                                                    "modal", "none", "individual", "area ratio"};
/// Normalizations in the order of norm_names.
constexpr BasisNorm basis_norms[] = {BasisNorm::nodal,     BasisNorm::mean,     BasisNorm::support,
                                     BasisNorm::geometric, BasisNorm::modal,    BasisNorm::none,
                                     BasisNorm::nodal,     BasisNorm::geometric};

/// Conventions that changed between releases of the official code and are not in the weights.
struct Conventions {
    bool old_scale = false;     ///< before 0.9.1: 1 / sqrt(Ck), on the input of the q projection
    bool old_cutoff = false;    ///< before 0.9.3: pi / (n_lat - 1)
    bool old_shift = false;     ///< before 0.9.1: wrong columns where n_lon_in > n_lon_out
    bool adds_epsilon = false;  ///< before 0.9.1
    BasisNorm norm = BasisNorm::nodal;
};

Conventions parse_conventions(const nlohmann::json& found);

/// Parse the card's `network` object of a model.
Transformer parse_transformer(const nlohmann::json& network, const Conventions& conventions);
Segformer parse_segformer(const nlohmann::json& network, const Conventions& conventions);

/// Parse the card's `network` object of a single layer.
Attention parse_attention(const nlohmann::json& network, bool is_global,
                          const Conventions& conventions);
Convolution parse_convolution(const nlohmann::json& network, bool is_transposed,
                              Conventions conventions);
Resample parse_resample(const nlohmann::json& network);

/// Read a grid, and the filter of a convolution. size, kind, basis and shape: default values.
Grid read_grid(Hyperparameters& read, const char* size_key, const char* grid_key,
               std::vector<int64_t> size, size_t kind);
Filter read_filter(Hyperparameters& read, const char* shape_key, const char* basis_key,
                   size_t basis, std::vector<int64_t> shape, const Conventions& conventions);

/// Throws bad_file with the text "card: " and `text`.
[[noreturn]] void refuse(const std::string& text);
/// Throws bad_file unless `step` divides n_lon; `why` follows `step` in the message.
void require_divisible(int64_t n_lon, int64_t step, const std::string& why);
/// Throws bad_file unless the value `divisor` of `key` divides n.
void require_divides(const char* key, int64_t divisor, int64_t n);
/// Returns the multiples of `step` next to n: "120 or 128".
std::string nearest_multiples(int64_t n, int64_t step);

}  // namespace surrogate::impl::sphere
