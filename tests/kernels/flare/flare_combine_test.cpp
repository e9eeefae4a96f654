// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/flare/flare_problem.hpp"

namespace surrogate::kernels::test {
namespace {

const flare::Sizes one{1, 1, 1};

struct TotalBox {
    explicit TotalBox(const flare::Sizes& sizes)
        : data(flare::Total::size(sizes)), total{sizes, data.data()} {
        flare::reset(total);
    }
    Buffer<double> data;
    flare::Total total;
};

template <class T>
PartialBox<T> partial_of(T maximum, T sum, T value) {
    PartialBox<T> box(one);
    *box.partial.maximum(0) = maximum;
    *box.partial.sum(0) = sum;
    *box.partial.value(0, 0) = value;
    return box;
}

void expect_total(const flare::Total& total, double maximum, double sum, double value) {
    EXPECT_EQ(*total.maximum(0), maximum);
    EXPECT_DOUBLE_EQ(*total.sum(0), sum);
    EXPECT_DOUBLE_EQ(*total.value(0, 0), value);
}

TEST(FlareCombine, RescalesWhicheverHasTheSmallerMaximum) {
    TotalBox box(one);
    Traps traps;
    flare::combine(partial_of<float>(2, 1, 3).input(), box.total);
    expect_total(box.total, 2, 1, 3);
    flare::combine(partial_of<float>(5, 1, 1).input(), box.total);
    expect_total(box.total, 5, 1 + 1.0 / 8, 1 + 3.0 / 8);
    flare::combine(partial_of<double>(4, 2, -2).input(), box.total);
    expect_total(box.total, 5, 2 + 1.0 / 8, 3.0 / 8);
}

TEST(FlareCombine, EmptyPartialsChangeNothingAndStayEmpty) {
    TotalBox box(one), empty(one);
    Traps traps;
    flare::combine(PartialBox<float>(one).input(), box.total);
    flare::combine(PartialBox<double>(one).input(), box.total);
    EXPECT_EQ(*box.total.sum(0), 0);
    flare::combine(partial_of<float>(-3e38f, 0.1f, 0.3f).input(), box.total);
    flare::combine(PartialBox<float>(one).input(), box.total);
    flare::combine(empty.total, box.total);
    expect_total(box.total, -3e38f, 0.1f, 0.3f);
}

TEST(FlareCombine, MaximaFarApartDoNotOverflow) {
    for (double far : {1e3, 1e30, 1e300, 1.7e308}) {
        TotalBox box(one);
        Traps traps;
        flare::combine(partial_of<double>(-far, 1, 1).input(), box.total);
        flare::combine(partial_of<double>(far, 2, 3).input(), box.total);
        flare::combine(partial_of<double>(-far, 1, 1).input(), box.total);
        expect_total(box.total, far, 2, 3);
    }
}

TEST(FlareCombine, TotalsJoinLikePartials) {
    TotalBox left(one), right(one), all(one);
    flare::combine(partial_of<float>(1, 1.5f, 2).input(), left.total);
    flare::combine(partial_of<float>(3, 1.25f, -1).input(), right.total);
    flare::combine(partial_of<float>(1, 1.5f, 2).input(), all.total);
    flare::combine(partial_of<float>(3, 1.25f, -1).input(), all.total);
    flare::combine(right.total, left.total);
    expect_total(left.total, *all.total.maximum(0), *all.total.sum(0), *all.total.value(0, 0));
}

TEST(FlareCombine, NaNReachesTheTotal) {
    TotalBox box(one);
    flare::combine(partial_of<float>(0, NAN, 1).input(), box.total);
    flare::combine(partial_of<float>(100, 1, NAN).input(), box.total);
    EXPECT_TRUE(std::isnan(*box.total.sum(0)));
    EXPECT_TRUE(std::isnan(*box.total.value(0, 0)));
}

TEST(FlareExp2Exact, IsAccurateToTheLastBits) {
    Traps traps;
    EXPECT_EQ(flare::exp2_exact(0), 1);
    EXPECT_EQ(flare::exp2_exact(-1), 0.5);
    EXPECT_EQ(flare::exp2_exact(-1000), 0x1p-1000);
    EXPECT_EQ(flare::exp2_exact(-1000.5), 0);
    EXPECT_EQ(flare::exp2_exact(-1e308), 0);
    for (double x = 0; x > -999; x -= 0.01237) {
        const double want = std::exp2(x);
        ASSERT_LE(std::abs(flare::exp2_exact(x) - want), 4e-16 * want) << "x = " << x;
    }
}

TEST(FlareExp2Exact, LetsNaNThrough) {
    EXPECT_TRUE(std::isnan(flare::exp2_exact(NAN)));
}

}  // namespace
}  // namespace surrogate::kernels::test
