// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/pooled.hpp"

#include <gtest/gtest.h>

#include "libsurrogate/src/file/card.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

using kernels::Status;
using nlohmann::json;
using test::small_card;

/// small_card() with a second field, so that there are four features.
json pooled_card() {
    json card = small_card();
    card["inputs"].push_back({{"name", "porosity"}, {"unit", "1"}, {"mean", 0.3}, {"std", 0.1}});
    card["pooled"] = json::parse(R"({
        "mean": [0.1, 0.9, -2, 0.5],
        "covariance": [[1, 0.5, 0, 0.1], [0.5, 2, 0, 0], [0, 0, 1e-3, 0], [0.1, 0, 0, 4]],
        "quantile": 0.99, "distance": 3.5, "samples": 5})");
    return card;
}

TEST(Pooled, IsRead) {
    const PooledCard pooled = parse_card(pooled_card().dump()).pooled;
    EXPECT_EQ(pooled.mean, (std::vector<double>{0.1, 0.9, -2, 0.5}));
    EXPECT_EQ(pooled.covariance,
              (std::vector<double>{1, 0.5, 0, 0.1, 0.5, 2, 0, 0, 0, 0, 1e-3, 0, 0.1, 0, 0, 4}));
    EXPECT_EQ(pooled.quantile, 0.99);
    EXPECT_EQ(pooled.distance, 3.5);
    EXPECT_EQ(pooled.n_sample, 5);
}

TEST(Pooled, MayBeMissing) {
    const PooledCard pooled = parse_card(small_card().dump()).pooled;
    EXPECT_TRUE(pooled.mean.empty() && pooled.covariance.empty());
}

TEST(Pooled, RoundingOfTheMatrixIsMadeSymmetric) {
    json card = pooled_card();
    card["pooled"]["covariance"][0][1] = 0.5 * (1 + 1e-10);
    const PooledCard pooled = parse_card(card.dump()).pooled;
    EXPECT_EQ(pooled.covariance[1], pooled.covariance[4]);
}

// A scale must not matter: it is the correlations that are looked at.
TEST(Pooled, VariancesMayBeOfAnySize) {
    json card = pooled_card();
    json& matrix = card["pooled"]["covariance"];
    const double scale[] = {1e-150, 1e150, 1e-12, 1};
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 4; ++j)
            matrix[i][j] = matrix[i][j].get<double>() * scale[i] * scale[j];
    EXPECT_DOUBLE_EQ(parse_card(card.dump()).pooled.covariance[5], 2e300);
}

/// A change of pooled_card() at a location, and the expected parts of the error text.
struct BadPooled {
    const char* place;
    const char* value;  // "remove" takes the key away
    std::vector<std::string> says;
};

const BadPooled bad_pooled[] = {
    {"/pooled", "[]", {"'pooled'", "object"}},
    {"/pooled", "null", {"'pooled'", "object"}},
    {"/pooled/means", "[]", {"unknown key 'means'", "did you mean 'mean'?"}},
    {"/pooled/mean", "remove", {"'pooled'", "'mean' is missing"}},
    {"/pooled/covariance", "remove", {"'covariance' is missing"}},
    {"/pooled/quantile", "remove", {"'quantile' is missing"}},
    {"/pooled/distance", "remove", {"'distance' is missing"}},
    {"/pooled/samples", "remove", {"'samples' is missing"}},
    {"/pooled/mean", "[1, 2]", {"'pooled.mean'", "array of 4", "an array of 2 values"}},
    {"/pooled/mean", "1", {"'pooled.mean'", "array of 4", "found 1"}},
    {"/pooled/mean/3", "\"0\"", {"'pooled.mean[3]'", "expected a number"}},
    {"/pooled/mean/0", "null", {"'pooled.mean[0]'", "found null"}},
    {"/pooled/covariance", "[]", {"'pooled.covariance'", "array of 4"}},
    {"/pooled/covariance", "{}", {"'pooled.covariance'", "found an object"}},
    {"/pooled/covariance/2", "[0, 0, 1]", {"'pooled.covariance[2]'", "array of 4"}},
    {"/pooled/covariance/1/0", "true", {"'pooled.covariance[1][0]'", "found true"}},
    {"/pooled/covariance/2/2", "0", {"'pooled.covariance[2][2]'", "above 0"}},
    {"/pooled/covariance/2/2", "-1e-3", {"'pooled.covariance[2][2]'", "found -0.001"}},
    {"/pooled/covariance/1/0", "0.500001", {"'pooled.covariance[1][0]'", "symmetric", "0.5 opp"}},
    {"/pooled/quantile", "1", {"'pooled.quantile'", "below 1", "found 1"}},
    {"/pooled/quantile", "0", {"'pooled.quantile'", "above 0"}},
    {"/pooled/distance", "0", {"'pooled.distance'", "above 0, found 0"}},
    {"/pooled/distance", "-3", {"'pooled.distance'", "found -3"}},
    {"/pooled/distance", "\"far\"", {"'pooled.distance'", "expected a number"}},
    {"/pooled/samples", "4", {"'pooled.samples'", "more than the 4 features", "found 4"}},
    {"/pooled/samples", "99.0", {"'pooled.samples'", "integer"}},
    {"/pooled/samples", "18446744073709551615", {"'pooled.samples'", "at most"}},
    {"/inputs/3", "remove", {"'pooled.mean'", "array of 2"}},
    {"/inputs/3/role", "\"feld\"", {"'inputs[3].role'"}},
};

TEST(Pooled, WhatIsWrongIsRefusedByName) {
    for (const BadPooled& bad : bad_pooled) {
        const json::json_pointer place(bad.place);
        json card = pooled_card();
        if (std::string(bad.value) != "remove") {
            card[place] = json::parse(bad.value);
        } else if (card[place.parent_pointer()].is_array()) {
            card[place.parent_pointer()].erase(std::stoul(place.back()));
        } else {
            card[place.parent_pointer()].erase(place.back());
        }
        const test::Refusal found = test::refusal([&] { parse_card(card.dump()); });
        EXPECT_EQ(found.status, Status::bad_file) << bad.place << " " << bad.value;
        for (const std::string& part : bad.says)
            EXPECT_TRUE(found.says(part)) << bad.place << " " << bad.value << ": " << found.text;
    }
}

TEST(Pooled, NumbersThatAreNotFiniteAreNoJson) {
    for (const char* number : {"1e999", "-1e999", "NaN", "Infinity"}) {
        std::string card = pooled_card().dump();
        card.replace(card.find("3.5"), 3, number);
        EXPECT_EQ(test::refusal([&] { parse_card(card); }).status, Status::bad_file) << number;
    }
}

TEST(Pooled, MatricesThatAreNotDefiniteAreRefused) {
    const auto refused = [](double a, double b) {
        json card = pooled_card();
        card["pooled"]["covariance"][0][1] = card["pooled"]["covariance"][1][0] = a;
        card["pooled"]["covariance"][0][3] = card["pooled"]["covariance"][3][0] = b;
        return test::refusal([&] { parse_card(card.dump()); });
    };
    EXPECT_EQ(refused(1.41, 0).status, Status::success);
    const test::Refusal deviation = refused(1.42, 0);  // a covariance above sqrt(1 * 2)
    EXPECT_EQ(deviation.status, Status::bad_file);
    EXPECT_TRUE(deviation.says("standard deviation of 'mobility'")) << deviation.text;
    const test::Refusal exact = refused(0, 2);  // a correlation of 1
    EXPECT_EQ(exact.status, Status::bad_file);
    EXPECT_TRUE(exact.says("standard deviation of 'porosity' follows")) << exact.text;
}

TEST(Pooled, NeedsAFieldAmongTheInputs) {
    json card = pooled_card();
    card["inputs"].erase(2);
    card["inputs"].erase(2);
    test::Refusal found = test::refusal([&] { parse_card(card.dump()); });
    EXPECT_TRUE(found.says("'pooled': the card has no input that is a field")) << found.text;
    card.erase("inputs");
    card.erase("outputs");
    found = test::refusal([&] { parse_card(card.dump()); });
    EXPECT_TRUE(found.says("no input that is a field")) << found.text;
}

}  // namespace
}  // namespace surrogate::impl
