// SPDX-License-Identifier: Apache-2.0
#include "coupling/dataset/numbers.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "coupling/error/array_axes.hpp"
#include "coupling/error/error.hpp"

namespace surrogate::dataset {

using coupling::fail;

namespace {

std::string text_of(double value) {
    return std::isnan(value) ? "NaN" : value > 0 ? "infinite" : "minus infinity";
}

[[noreturn]] void refuse(const Variable& variable, int64_t at, const std::string& what) {
    fail(SURROGATE_NOT_FINITE, "number " + std::to_string(at) + " of '" + variable.name + "' " +
                                   what + "; a data set holds finite numbers only");
}

bool is_integer(int32_t dtype) {
    return dtype == SURROGATE_INT32 || dtype == SURROGATE_INT64;
}

/// Converts one number. It is compared before it is rounded, because a host may trap overflow.
struct Move {
    const Variable& variable;
    int64_t at;

    template <class From, class To>
    void operator()(From value, To* to) {
        if constexpr (std::is_floating_point_v<From>) {
            const double wide = static_cast<double>(value);
            if (!std::isfinite(value)) refuse(variable, at, "is " + text_of(wide));
            if (sizeof(To) < sizeof(From) &&
                std::abs(wide) > static_cast<double>(std::numeric_limits<To>::max()))
                refuse(
                    variable, at,
                    "is " + std::to_string(wide) + ", which exceeds the range of single precision");
        }
        *to = static_cast<To>(value);
        ++at;
    }
};

template <class To, class From>
void pack_as(const surrogate_array& array, Move move, std::byte* packed) {
    const auto* const from = static_cast<const From*>(array.data);
    for (int64_t i = 0; i < array.shape[0]; ++i) {
        To number{};
        move(from[i * array.stride[0]], &number);
        std::memcpy(packed + static_cast<size_t>(i) * sizeof number, &number, sizeof number);
    }
}

template <class To>
void pack_into(const surrogate_array& array, Move move, std::byte* packed) {
    if constexpr (std::is_integral_v<To>) {
        if (array.dtype == SURROGATE_INT32)
            pack_as<To, int32_t>(array, move, packed);
        else
            pack_as<To, int64_t>(array, move, packed);
    } else if (array.dtype == SURROGATE_FLOAT32) {
        pack_as<To, float>(array, move, packed);
    } else {
        pack_as<To, double>(array, move, packed);
    }
}

}  // namespace

void check_numbers(const surrogate_array& array, const Variable& variable, int64_t n) {
    const std::string what = "the array for '" + variable.name + "'";
    if (array.space != SURROGATE_HOST)
        fail(SURROGATE_NOT_SUPPORTED, what + " is in device memory; copy it first");
    if (array.shape[1] != 1 || array.shape[0] < 0 || (n >= 0 && array.shape[0] != n))
        fail(SURROGATE_SHAPE, what + " is [" + std::to_string(array.shape[0]) + ", " +
                                  std::to_string(array.shape[1]) + "]; expected [" +
                                  (n >= 0 ? std::to_string(n) : "n") + ", 1]");
    if (array.data == nullptr && array.shape[0] > 0)
        fail(SURROGATE_INVALID_ARGUMENT, what + " has data NULL");
    const bool is_known = is_integer(array.dtype) || array.dtype == SURROGATE_FLOAT32 ||
                          array.dtype == SURROGATE_FLOAT64;
    if (!is_known || is_integer(array.dtype) != is_integer(variable.dtype))
        fail(SURROGATE_INVALID_ARGUMENT,
             what + " has dtype " + std::to_string(array.dtype) + ", and the variable holds " +
                 (is_integer(variable.dtype) ? "integers" : "real numbers"));
    if (array.shape[0] == 0) return;
    const coupling::Axis axis = {array.shape[0], array.stride[0]};
    coupling::check_axes(what, std::span(&axis, 1), 8, false);
}

void pack(const surrogate_array& array, const Variable& variable, int64_t first,
          std::vector<std::byte>* packed) {
    packed->resize(static_cast<size_t>(array.shape[0] * variable.number_bytes()));
    const Move move{variable, first};
    if (variable.dtype == SURROGATE_INT64)
        pack_into<int64_t>(array, move, packed->data());
    else if (variable.dtype == SURROGATE_FLOAT32)
        pack_into<float>(array, move, packed->data());
    else
        pack_into<double>(array, move, packed->data());
}

}  // namespace surrogate::dataset
