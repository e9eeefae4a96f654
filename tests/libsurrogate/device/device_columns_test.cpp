// SPDX-License-Identifier: Apache-2.0
// Columns on a device: how places are counted, and how many there may be.
#include <gtest/gtest.h>

#include <string>

#include "libsurrogate/src/plan/device/staging.hpp"
#include "tests/support/null_device.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

TEST(DeviceColumns, PlacesGiveBackTheirPointAndColumnAndAreOrderedByPoints) {
    const int64_t last = kernels::max_columns - 1, point = int64_t{1} << 40;
    EXPECT_EQ(kernels::point_of_place(kernels::place_of(point, last)), point);
    EXPECT_EQ(kernels::column_of_place(kernels::place_of(point, last)), last);
    EXPECT_LT(kernels::place_of(point, last), kernels::place_of(point + 1, 0));
    EXPECT_LT(kernels::place_of(point + 1, 0), kernels::DeviceFindings::no_place);
}

TEST(DeviceColumns, MoreThanAPlaceCanTellApartAreRefusedWithBothNumbers) {
    test::NullDevice device;
    EXPECT_EQ(ColumnTable(device, nullptr, kernels::max_columns).size(),
              size_t(kernels::max_columns));
    const test::Refusal refusal =
        test::refusal([&] { ColumnTable(device, nullptr, kernels::max_columns + 1); });
    EXPECT_EQ(refusal.status, kernels::Status::not_supported);
    EXPECT_NE(refusal.text.find("256 columns"), std::string::npos) << refusal.text;
    EXPECT_NE(refusal.text.find("has 257"), std::string::npos) << refusal.text;
}

}  // namespace
}  // namespace surrogate::impl
