// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/layers/dropout.hpp"

#include <algorithm>

#include "kernels/random/philox.hpp"

namespace surrogate::impl {

using kernels::Tile;
using kernels::simd::philox_width;

namespace {

constexpr int64_t n_word = 4;  // words of a call of Philox

uint32_t low(uint64_t bits) {
    return static_cast<uint32_t>(bits);
}
uint32_t high(uint64_t bits) {
    return static_cast<uint32_t>(bits >> 32);
}

/// Computes the random words of channels 4 block .. 4 block + 3.
void set_words(const DropoutDraw& draw, int64_t site, const uint64_t (&rows)[philox_width],
               int64_t block, uint32_t (&words)[n_word][philox_width]) {
    constexpr uint32_t stream = 4;  // of dropout; other streams of the seed have other numbers
    const auto number = static_cast<uint32_t>(site);
    static const kernels::VectorLevel level = kernels::best_vector_level();
    kernels::simd::philox_rows(
        level, rows, number % 256 + 256 * static_cast<uint32_t>(block),
        stream + 256 * (number / 256),
        {low(draw.seed) ^ low(draw.sample), high(draw.seed) ^ high(draw.sample)}, words);
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
    uint64_t some[philox_width] = {};
    uint32_t words[n_word][philox_width] = {};
    for (int64_t first = 0; first < n_point; first += philox_width) {
        const int64_t n = std::min<int64_t>(philox_width, n_point - first);
        for (int64_t i = 0; i < n; ++i) some[i] = rows[first + i];
        for (int64_t c = 0; c < n_channel; ++c) {
            if (drops && c % n_word == 0) set_words(*draw_, site.number, some, c / n_word, words);
            T mask[philox_width];
            for (int i = 0; i < philox_width; ++i)
                mask[i] = words[c % n_word][i] >= threshold ? scale : T(0);
            const T* const x = &from(c, first);
            T* const y = &to(c, first);
            for (int64_t i = 0; i < n; ++i)
                y[i] = accumulate ? y[i] + mask[i] * x[i] : mask[i] * x[i];
        }
    }
}

double Dropout::branch(const DropoutSite& site) const {
    if (!drops(site.rate)) return 1;
    const uint64_t rows[philox_width] = {};
    uint32_t words[n_word][philox_width];
    set_words(*draw_, site.number, rows, 0, words);
    return words[0][0] >= threshold_of(site.rate) ? 1 / (1 - site.rate) : 0;
}

template void Dropout::apply(const DropoutSite&, const DropoutRows&, Tile<const float>, bool,
                             Tile<float>) const;
template void Dropout::apply(const DropoutSite&, const DropoutRows&, Tile<const double>, bool,
                             Tile<double>) const;

}  // namespace surrogate::impl
