// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coupling/dataset/read_form.hpp"

namespace surrogate::dataset {

/// A state of a sample: the state at `time`; 0 if samples have one state.
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

/// Reads a data set in a file (see reference/dataset-format.md). Keeps the description of the file
/// in memory, and field values only during a request. Local: every rank opens the file and reads
/// its part. Axes, extents, storage and filters are checked before any number is read, and no
/// plug-in is loaded. HDF5 itself may crash on damaged metadata, so the source of the file must be
/// trusted, or the file must first be opened in another process. Errors: IO (the file cannot be
/// opened or read), BAD_FILE (not a data set; the text names the mismatch), NOT_FINITE; the text
/// begins with the name of the file.
class ReadFile {
public:
    explicit ReadFile(const std::string& path);
    ~ReadFile();
    ReadFile(const ReadFile&) = delete;
    ReadFile& operator=(const ReadFile&) = delete;

    const std::string& path() const;
    const StoredForm& form() const;
    std::vector<std::string> fields() const;
    /// Returns the names of integers over samples and points, which may be labels of classes.
    std::vector<std::string> integer_fields() const;

    /// Returns the names of real numbers, or integers, with one number per sample or state, or one
    /// for each of its clouds.
    std::vector<std::string> sample_fields() const;
    std::vector<std::string> sample_integers() const;
    /// Returns true for such a name; read() and read_integers() take box_of() for it.
    bool is_per_sample(const std::string& name) const;
    /// Returns the box of the numbers of such a name: empty, or the clouds of the state.
    Box box_of(const std::string& name, const State& state) const;

    /// Returns the number of clouds of a state: 1 + the largest number; 1 for data without clouds.
    /// Throws BAD_FILE as read_clouds.
    int64_t n_cloud(const State& state) const;

    /// Returns the unit of a field, also of a sample, in the file. Throws BAD_FILE with near misses
    /// for a name that is not a field.
    const std::string& unit(const std::string& field) const;

    /// Returns the reason why a name of the file is not a field, as why_no_field in read_form.hpp;
    /// "" if the file does not have the name.
    std::string why_no_field(const std::string& name) const;

    /// Returns the number of points of a sample.
    int64_t n_point(int64_t sample) const;
    /// Returns the extents of the axes of points, in C order: (n) for clouds and rows.
    std::vector<int64_t> extents(int64_t sample) const;

    /// Returns the seconds between two states of a series; 0 for other data.
    double time_step() const;

    /// Returns the numbers along an axis of points, which must have numbers: degrees for axes of
    /// the sphere.
    std::vector<double> along(const std::string& axis) const;

    /// Reads the numbers of a field at the points of a box, in C order. Throws NOT_FINITE with
    /// sample and point for NaN or an infinite value.
    void read(const std::string& field, const State& state, const Box& box,
              std::span<double> values) const;

    /// Reads integers at the points of a box, in C order. Throws BAD_FILE for a name that is not an
    /// integer field, and for integers of more than 53 bits.
    void read_integers(const std::string& field, const State& state, const Box& box,
                       std::span<double> values) const;

    /// Reads the weights of points in losses; requires form().has_weight. Throws BAD_FILE with
    /// sample and point for a negative weight.
    void read_weight(const State& state, const Box& box, std::span<double> values) const;

    /// Reads the clouds of points; requires form().has_clouds. Throws BAD_FILE with sample and
    /// point for a cloud that is negative, not below the number of points, or without numbers per
    /// cloud.
    void read_clouds(const State& state, const Box& box, std::span<double> values) const;

    /// Reads one coordinate of scattered points, or of the points of a structured grid.
    void read_coordinate(int32_t axis, const State& state, const Box& box,
                         std::span<double> values) const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace surrogate::dataset
