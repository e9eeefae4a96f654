// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coupling/dataset/read_form.hpp"

namespace surrogate::dataset {

/// Which state: the one at `time` of a sample; 0 where samples have one state.
struct State {
    int64_t sample = 0;
    int64_t time = 0;
};

/// A part of the points of a sample: a range along each of their axes.
struct Box {
    std::vector<int64_t> first;
    std::vector<int64_t> n;
    int64_t count() const {
        int64_t product = 1;
        for (const int64_t extent : n) product *= extent;
        return product;
    }
};

/// A data set in a file (page reference/dataset-format.md), for reading. Holds what the file says
/// of itself, no numbers of fields but those of one request. Local: every rank opens the file and
/// reads its part. Axes, extents, storage and filters are checked before any number is read, and no
/// plug-in is loaded; HDF5 itself may crash in metadata that is damaged, so the source of the file
/// must be trusted, or the file opened in another process first. Errors: IO (the file cannot be
/// opened or read), BAD_FILE (no data set; what does not fit is named), NOT_FINITE; the text begins
/// with the name of the file.
class ReadFile {
public:
    explicit ReadFile(const std::string& path);
    ~ReadFile();
    ReadFile(const ReadFile&) = delete;
    ReadFile& operator=(const ReadFile&) = delete;

    const std::string& path() const;
    const StoredForm& form() const;
    std::vector<std::string> fields() const;

    /// The unit of a field, as the file has it. Throws BAD_FILE with near misses for a name that is
    /// no field.
    const std::string& unit(const std::string& field) const;

    /// Returns why a name of the file is not a field, as why_no_field in read_form.hpp does; "" if
    /// the file does not have the name.
    std::string why_no_field(const std::string& name) const;

    /// Points of a sample.
    int64_t n_point(int64_t sample) const;
    /// Their axes, in C order: (n) for clouds and rows.
    std::vector<int64_t> extents(int64_t sample) const;

    /// Seconds between two states of a series; 0 for others.
    double time_step() const;

    /// The numbers along one of the axes of points, which holds some: degrees of the sphere's.
    std::vector<double> along(const std::string& axis) const;

    /// The numbers of a field at the points of a box, in C order. Throws NOT_FINITE, with sample
    /// and point, if one of them is NaN or infinite.
    void read(const std::string& field, const State& state, const Box& box,
              std::span<double> values) const;

    /// The shares that points have in losses, where form().has_weight.
    void read_weight(const State& state, const Box& box, std::span<double> values) const;

    /// One coordinate of scattered points, or of the points of a lattice.
    void read_coordinate(int32_t axis, const State& state, const Box& box,
                         std::span<double> values) const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace surrogate::dataset
