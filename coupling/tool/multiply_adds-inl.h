// SPDX-License-Identifier: Apache-2.0
// A loop of fused multiply-adds for machine_limits.cpp and the kernel benchmarks; included once for
// each target of Highway.
#if defined(SURROGATE_MULTIPLY_ADDS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_MULTIPLY_ADDS_INL_H
#undef SURROGATE_MULTIPLY_ADDS_INL_H
#else
#define SURROGATE_MULTIPLY_ADDS_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace surrogate::tool::HWY_NAMESPACE {
namespace {

/// Runs twelve independent chains: more than latency times throughput, fewer than registers. Each
/// chain starts at another value, because the compiler would merge equal chains. Returns the number
/// of multiply-adds; adds a result to `kept`, so that nothing is optimized away.
inline double multiply_adds(float start, float* kept) {
    constexpr int n_step = 200000;
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> tag;
    const auto x = hn::Set(tag, start), y = hn::Set(tag, 1 - start);
    const auto at = [&](float factor) HWY_ATTR { return hn::Set(tag, factor * start); };
    auto a = at(1), b = at(2), c = at(3), d = at(4), e = at(5), f = at(6);
    auto g = at(7), h = at(8), i = at(9), j = at(10), k = at(11), l = at(12);
    for (int step = 0; step < n_step; ++step) {
        a = hn::MulAdd(a, x, y), b = hn::MulAdd(b, x, y), c = hn::MulAdd(c, x, y);
        d = hn::MulAdd(d, x, y), e = hn::MulAdd(e, x, y), f = hn::MulAdd(f, x, y);
        g = hn::MulAdd(g, x, y), h = hn::MulAdd(h, x, y), i = hn::MulAdd(i, x, y);
        j = hn::MulAdd(j, x, y), k = hn::MulAdd(k, x, y), l = hn::MulAdd(l, x, y);
    }
    const auto ab = hn::Add(hn::Add(a, b), hn::Add(c, d));
    const auto ef = hn::Add(hn::Add(e, f), hn::Add(g, h));
    const auto ij = hn::Add(hn::Add(i, j), hn::Add(k, l));
    *kept += hn::GetLane(hn::Add(ab, hn::Add(ef, ij)));
    return 12.0 * n_step * static_cast<double>(hn::Lanes(tag));
}

}  // namespace
}  // namespace surrogate::tool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
