// SPDX-License-Identifier: Apache-2.0
#pragma once

// Series of all ranks played by one process, and what they write.

#include <gtest/gtest.h>
#include <surrogate/surrogate_vtk.h>

#include <cmath>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::test {

inline const std::string success;

/// The text of a failed call, "" of one that succeeded: so that a test prints the reason.
inline std::string text_of(surrogate_status status) {
    return status == SURROGATE_SUCCESS ? success : surrogate_vtk_error();
}

/// The series of all ranks of a job, played by one process.
class Ranks {
public:
    Ranks(const std::string& path, int32_t size)
        : pieces(static_cast<size_t>(size)), series_(static_cast<size_t>(size)) {
        for (int32_t rank = 0; rank < size; ++rank)
            EXPECT_EQ(text_of(surrogate_series_create(path.c_str(), rank, size, &at(rank))),
                      success);
    }
    ~Ranks() {
        for (auto& series : series_) surrogate_series_close(&series);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    surrogate_series*& at(int32_t rank) { return series_[static_cast<size_t>(rank)]; }
    surrogate_piece* piece(int32_t rank) { return &pieces[static_cast<size_t>(rank)]; }
    surrogate_status publish() {
        return surrogate_series_publish(at(0), static_cast<int32_t>(pieces.size()), pieces.data());
    }

    std::vector<surrogate_piece> pieces;

private:
    std::vector<surrogate_series*> series_;
};

inline surrogate_series_field field(const char* name, int32_t location,
                                    const surrogate_array& array, const char* unit = nullptr) {
    return {name, unit, location, array};
}

/// Points of one rank with a float and a double field, both strided, and an id.
struct Cloud {
    Cloud(int64_t n_points, int64_t first_id) : n(n_points), x(3 * n), both(4 * n), id(n) {
        for (int64_t i = 0; i < n; ++i) {
            const auto k = static_cast<size_t>(i);
            id[k] = first_id + i;
            for (size_t c = 0; c < 3; ++c)
                x[3 * k + c] = std::sin(0.1 * static_cast<double>(id[k] + 7 * int64_t(c)));
            for (size_t c = 0; c < 4; ++c)
                both[4 * k + c] = 1.0 / static_cast<double>(3 * id[k] + 1 + int64_t(c));
            temperature.push_back(static_cast<float>(both[4 * k]));
        }
    }
    surrogate_mesh mesh() { return {matrix(x.data(), n, 3), 0, nullptr, nullptr, nullptr}; }
    std::vector<surrogate_series_field> fields() {
        surrogate_array velocity = matrix(both.data() + 1, n, 3);
        velocity.stride[0] = 4;  // three of four interlaced columns
        return {field("temperature", SURROGATE_POINT, column(temperature.data(), n), "K"),
                field("velocity", SURROGATE_POINT, velocity, "m/s"),
                field("id", SURROGATE_CELL, {id.data(), {n, 1}, {1, 1}, SURROGATE_INT64, 0})};
    }
    surrogate_status write(surrogate_series* series, double time_s, surrogate_piece* piece) {
        const auto m = mesh();
        const auto list = fields();
        return surrogate_series_write_mesh(series, time_s, &m, static_cast<int32_t>(list.size()),
                                           list.data(), piece);
    }

    int64_t n;
    std::vector<double> x, both;
    std::vector<int64_t> id;
    std::vector<float> temperature;
};

/// A block of a grid of 5 x 4 cells with the cell's number in the whole grid, in reversed memory.
struct Block {
    explicit Block(const surrogate_image& block_image) : image(block_image) {
        for (int j = image.extent[2]; j < image.extent[3]; ++j)
            for (int i = image.extent[0]; i < image.extent[1]; ++i)
                backwards.insert(backwards.begin(), static_cast<float>(i + 5 * j));
    }
    surrogate_status write(surrogate_series* series, double time_s, surrogate_piece* piece) {
        const auto n = static_cast<int64_t>(backwards.size());
        surrogate_array array = column(backwards.data(), n, -1);
        if (n > 0) array.data = &backwards.back();
        const auto list = field("number", SURROGATE_CELL, array, "1");
        return surrogate_series_write_image(series, time_s, &image, 1, &list, piece);
    }
    surrogate_image image;
    std::vector<float> backwards;
};

inline surrogate_image block_image(int x_first, int x_last, int y_first, int y_last) {
    return {
        {0, 5, 0, 4, 0, 0}, {x_first, x_last, y_first, y_last, 0, 0}, {1, 2, 0}, {0.5, 0.25, 1}};
}

/// Status and text that a rejected call must return.
struct Refusal {
    surrogate_status status;
    const char* word;
};

inline void expect_refusal(surrogate_status status, const Refusal& wanted) {
    EXPECT_EQ(status, wanted.status) << surrogate_vtk_error();
    EXPECT_NE(std::string(surrogate_vtk_error()).find(wanted.word), std::string::npos)
        << surrogate_vtk_error();
}

}  // namespace surrogate::test
