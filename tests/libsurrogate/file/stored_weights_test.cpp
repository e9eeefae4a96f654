// SPDX-License-Identifier: Apache-2.0
// Weights stored as F16, BF16 and F64, through the whole path: the predictions are bitwise
// identical to the predictions of a file with the same numbers as F32.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/golden_writer.hpp"

namespace surrogate::test {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// One tensor in a type, and the same numbers as F32.
struct Pair {
    WriterTensor stored, single;
};

/// Cut off, not rounded; below the normal numbers of the type: zero. Tests choose the numbers.
Pair as_float16(const std::string& name, const GoldenTensor& golden) {
    std::vector<uint16_t> halves;
    std::vector<float> floats;
    for (const double value : golden.values) {
        int exponent = 0;
        const double mantissa = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
        const bool is_zero = value == 0 || exponent - 1 < -14;
        const auto digits = static_cast<uint16_t>(is_zero ? 0 : std::floor(mantissa * 2048));
        const auto high = static_cast<uint16_t>(is_zero ? 0 : (exponent + 14) << 10);
        halves.push_back(
            static_cast<uint16_t>((std::signbit(value) ? 0x8000 : 0) | high | (digits & 1023)));
        const auto size = static_cast<float>(is_zero ? 0 : std::ldexp(digits, exponent - 11));
        floats.push_back(std::signbit(value) ? -size : size);
    }
    return {{name, "F16", golden.shape, bytes_of(halves)},
            float_tensor(name, golden.shape, floats)};
}

Pair as_bfloat16(const std::string& name, const GoldenTensor& golden) {
    std::vector<uint16_t> words;
    std::vector<float> floats;
    for (const double value : golden.values) {
        const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
        words.push_back(static_cast<uint16_t>(bits >> 16));
        floats.push_back(std::bit_cast<float>(bits & 0xffff0000u));
    }
    return {{name, "BF16", golden.shape, bytes_of(words)},
            float_tensor(name, golden.shape, floats)};
}

/// Doubles that are no floats, but each nearest to the float it was made of.
Pair as_float64(const std::string& name, const GoldenTensor& golden) {
    std::vector<double> doubles;
    std::vector<float> floats;
    for (const double value : golden.values) {
        doubles.push_back(value * (1 + 0x1p-30));
        floats.push_back(static_cast<float>(value));
    }
    return {{name, "F64", golden.shape, bytes_of(doubles)},
            float_tensor(name, golden.shape, floats)};
}

class StoredWeights : public testing::Test {
protected:
    /// darcy_flow with its weights in turn as F16, BF16, F64 and F32, and all as F32.
    StoredWeights() {
        const GoldenFile golden(darcy_model);
        stored_.card = single_.card = golden.card();
        stored_.card.erase("checksums");
        single_.card.erase("checksums");
        stored_.with_checksums = true;
        size_t i = 0;
        for (const std::string& name : golden.names()) {
            if (name.starts_with("check/")) continue;
            const GoldenTensor tensor = golden.tensor(name);
            Pair pair = as_float16(name, tensor);
            if (i % 4 == 1) pair = as_bfloat16(name, tensor);
            if (i % 4 == 2) pair = as_float64(name, tensor);
            if (i % 4 == 3) {
                const std::vector<float> floats(tensor.values.begin(), tensor.values.end());
                pair.stored = pair.single = float_tensor(name, tensor.shape, floats);
            }
            ++i;
            stored_.tensors.push_back(pair.stored);
            single_.tensors.push_back(pair.single);
        }
    }

    ModelWriter stored_, single_;
    Context context_;
};

TEST_F(StoredWeights, PredictAsTheSameNumbersInSingle) {
    const std::string stored_path = written(stored_, "stored"),
                      single_path = written(single_, "single");
    const Model stored(context_, stored_path), single(context_, single_path);
    const DarcyCase points(first_rows(300));
    for (const char* precision : {"fp32", "fp64"}) {
        const Options options{{"precision", precision}, {"reproducible", "true"}};
        const std::vector<double> found = predict(stored, context_, points, options);
        EXPECT_EQ(found, predict(single, context_, points, options)) << precision;
        EXPECT_GT(std::fabs(found[0]), 0) << precision;
    }
    unlink(stored_path.c_str());
    unlink(single_path.c_str());
}

TEST_F(StoredWeights, DescriptionSaysWhatBecameOfThem) {
    const std::string path = written(stored_, "described");
    const nlohmann::json weights =
        nlohmann::json::parse(Model(context_, path).describe()).at("weights");
    unlink(path.c_str());
    int64_t n_tensor = 0;
    for (const auto& [type, about] : weights.items())
        n_tensor += about.at("tensors").get<int64_t>();
    EXPECT_EQ(n_tensor, std::ssize(stored_.tensors));
    EXPECT_EQ(weights.at("F16").at("read"), "widened exactly");
    EXPECT_EQ(weights.at("BF16").at("read"), "widened exactly");
    EXPECT_EQ(weights.at("F64").at("read"), "rounded to single");
    EXPECT_EQ(weights.at("F32").at("read"), "as stored");
}

TEST_F(StoredWeights, IntegersAreRefusedByName) {
    WriterTensor& tensor = stored_.tensors[0];
    tensor.dtype = "I16";  // as wide as F16
    const std::string path = written(stored_, "integers");
    surrogate_model* model = nullptr;
    const Answer load = answer(surrogate_model_load(context_.get(), path.c_str(), &model));
    unlink(path.c_str());
    EXPECT_EQ(load.status, SURROGATE_BAD_FILE);
    EXPECT_TRUE(load.says("tensor '" + tensor.name + "' is stored as I16")) << load;
    EXPECT_TRUE(load.says("F32, F16, BF16 or F64")) << load;
}

}  // namespace
}  // namespace surrogate::test
