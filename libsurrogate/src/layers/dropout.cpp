// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/layers/dropout.hpp"

#include <algorithm>

#include "libsurrogate/src/core/random.hpp"

namespace surrogate::impl {

using kernels::Tile;

namespace {

constexpr int64_t n_word = 4;  // words of a call of Philox

uint32_t low(uint64_t bits) {
    return static_cast<uint32_t>(bits);
}
uint32_t high(uint64_t bits) {
    return static_cast<uint32_t>(bits >> 32);
}

/// Returns the random words of channels 4 block .. 4 block + 3.
PhiloxWords words_of(const DropoutDraw& draw, int64_t site, const PhiloxRows& rows, int64_t block) {
    constexpr uint32_t stream = 4;  // of dropout; other streams of the seed have other numbers
    const auto number = static_cast<uint32_t>(site);
    return philox_rows(rows, number % 256 + 256 * static_cast<uint32_t>(block),
                       stream + 256 * (number / 256),
                       {low(draw.seed) ^ low(draw.sample), high(draw.seed) ^ high(draw.sample)});
}

uint32_t threshold_of(double rate) {
    return static_cast<uint32_t>(rate * 0x1p32);
}

}  // namespace

template <class T>
void Dropout::apply(const DropoutSite& site, const DropoutRows& rows, Tile<const T> from,
                    bool accumulate, Tile<T> to) const {
    const bool drops = this->drops(site.rate);
    const uint32_t threshold = drops ? threshold_of(site.rate) : 0;
    const T scale = static_cast<T>(drops ? 1 / (1 - site.rate) : 1);
    const int64_t n_channel = from.shape[0], n_point = from.shape[1];
    PhiloxRows some{};
    PhiloxWords words{};
    for (int64_t first = 0; first < n_point; first += philox_width) {
        const int64_t n = std::min<int64_t>(philox_width, n_point - first);
        for (int64_t i = 0; i < n; ++i) some[static_cast<size_t>(i)] = rows[first + i];
        for (int64_t c = 0; c < n_channel; ++c) {
            if (drops && c % n_word == 0) words = words_of(*draw_, site.number, some, c / n_word);
            T mask[philox_width];
            for (size_t i = 0; i < philox_width; ++i)
                mask[i] = words[static_cast<size_t>(c % n_word)][i] >= threshold ? scale : T(0);
            const T* const x = &from(c, first);
            T* const y = &to(c, first);
            for (int64_t i = 0; i < n; ++i)
                y[i] = accumulate ? y[i] + mask[i] * x[i] : mask[i] * x[i];
        }
    }
}

double Dropout::branch(const DropoutSite& site) const {
    if (!drops(site.rate)) return 1;
    const bool is_kept = words_of(*draw_, site.number, {}, 0)[0][0] >= threshold_of(site.rate);
    return is_kept ? 1 / (1 - site.rate) : 0;
}

template void Dropout::apply(const DropoutSite&, const DropoutRows&, Tile<const float>, bool,
                             Tile<float>) const;
template void Dropout::apply(const DropoutSite&, const DropoutRows&, Tile<const double>, bool,
                             Tile<double>) const;

}  // namespace surrogate::impl
