// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <surrogate/surrogate.hpp>
#include <surrogate/surrogate_dataset.hpp>
#include <vector>

namespace surrogate::test {

/// A number between -1 and 1 that depends on three others.
inline double wave(int64_t a, int64_t b, int64_t c) {
    return std::sin(1.7 * static_cast<double>(a) + 2.9 * static_cast<double>(b) +
                    0.37 * static_cast<double>(c * c) + 0.5);
}

/// A training set of n x n cells: mobility is a sum of three cosines, pressure follows from it in
/// each point. A network learns it in seconds.
struct LatticeSet {
    int64_t n_sample = 20, n = 12, seed = 0;
    std::string unit = "m^2/(Pa s)";
    std::string input = "mobility";
    int64_t zero_sample = -1;          ///< whose pressure is zero everywhere
    bool has_position_fields = false;  ///< px, py: the coordinates as fields

    double mobility(int64_t sample, double x, double y) const {
        const double a = wave(sample, seed, 1), b = wave(sample, seed, 2),
                     c = wave(sample, seed, 3);
        return 6 + a * std::cos(M_PI * x) + b * std::cos(M_PI * y) +
               0.5 * c * std::cos(M_PI * x) * std::cos(M_PI * y);
    }
    double pressure(int64_t sample, double x, double y) const {
        return std::sin(M_PI * x) * std::sin(M_PI * y) / mobility(sample, x, y);
    }
    double at(int64_t i) const { return (static_cast<double>(i) + 0.5) / static_cast<double>(n); }

    void write(const std::string& path) const {
        const Context context;
        NewDataset set(context, path);
        set.add_axis("sample", n_sample);
        set.add_axis("x", n);
        set.add_axis("y", n);
        set.add("x", {"x"}, "m", nullptr, SURROGATE_FLOAT64, "X");
        set.add("y", {"y"}, "m", nullptr, SURROGATE_FLOAT64, "Y");
        set.add(input.c_str(), {"sample", "x", "y"}, unit.c_str());
        set.add("pressure", {"sample", "x", "y"}, "Pa");
        if (has_position_fields) set.add("px", {"sample", "x", "y"}, "m");
        if (has_position_fields) set.add("py", {"sample", "x", "y"}, "m");
        set.begin();
        std::vector<double> axis, m, p, px, py;
        for (int64_t i = 0; i < n; ++i) axis.push_back(at(i));
        for (int64_t s = 0; s < n_sample; ++s)
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    m.push_back(mobility(s, at(i), at(j)));
                    p.push_back(s == zero_sample ? 0 : pressure(s, at(i), at(j)));
                    px.push_back(at(i));
                    py.push_back(at(j));
                }
        set.put("x", 0, column(axis.data(), n));
        set.put("y", 0, column(axis.data(), n));
        set.put(input.c_str(), 0, column(m.data(), n_sample * n * n));
        set.put("pressure", 0, column(p.data(), n_sample * n * n));
        if (has_position_fields) set.put("px", 0, column(px.data(), n_sample * n * n));
        if (has_position_fields) set.put("py", 0, column(py.data(), n_sample * n * n));
        set.finish();
    }
};

/// Points of n x n cells in two or three classes, by the sum of a wave and x. Point 0 of each
/// sample is ignored.
struct ClassSet {
    int64_t n_sample = 16, n = 8, seed = 0;
    int64_t bad_sample = -1, bad_label = 0;  ///< label of point 5 of this sample
    int64_t ignored_sample = -1;             ///< whose points are all ignored
    bool is_binary = false;
    bool has_weights = false;

    double weight(int64_t i, int64_t j) const { return 1 + static_cast<double>((i * n + j) % 3); }
    double height(int64_t sample, int64_t i, int64_t j) const {
        const double x = static_cast<double>(i) / static_cast<double>(n);
        const double y = static_cast<double>(j) / static_cast<double>(n);
        return std::sin(3 * x + wave(sample, seed, 1)) + 0.3 * std::cos(3 * y);
    }
    int64_t label(int64_t sample, int64_t i, int64_t j) const {
        if ((i == 0 && j == 0) || sample == ignored_sample) return -100;
        if (sample == bad_sample && i * n + j == 5) return bad_label;
        const double sum = height(sample, i, j) + static_cast<double>(i) / static_cast<double>(n);
        if (is_binary) return sum < 0.9 ? 0 : 1;
        return sum < 0.5 ? 0 : sum < 1.2 ? 1 : 2;
    }
    /// Particles of four points, and of the last point alone; none for the first points.
    int64_t particle(int64_t i, int64_t j) const {
        return i * n + j < 3 ? -100 : (i * n + j + 1) / 4;
    }

    void write(const std::string& path) const {
        const Context context;
        NewDataset set(context, path);
        set.add_axis("sample", n_sample);
        set.add_axis("x", n);
        set.add_axis("y", n);
        set.add("x", {"x"}, "m", nullptr, SURROGATE_FLOAT64, "X");
        set.add("y", {"y"}, "m", nullptr, SURROGATE_FLOAT64, "Y");
        set.add("height", {"sample", "x", "y"}, "m");
        set.add("kind", {"sample", "x", "y"}, nullptr, nullptr, SURROGATE_INT64);
        set.add("particle", {"sample", "x", "y"}, nullptr, nullptr, SURROGATE_INT64);
        if (has_weights) set.add("weight", {"x", "y"}, "1");
        set.begin();
        std::vector<double> axis, heights, weights;
        std::vector<int64_t> labels, particles;
        for (int64_t i = 0; i < n; ++i) axis.push_back(static_cast<double>(i));
        for (int64_t s = 0; s < n_sample; ++s)
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    heights.push_back(height(s, i, j));
                    labels.push_back(label(s, i, j));
                    particles.push_back(particle(i, j));
                }
        set.put("x", 0, column(axis.data(), n));
        set.put("y", 0, column(axis.data(), n));
        set.put("height", 0, column(heights.data(), std::ssize(heights)));
        set.put("kind", 0, column(labels.data(), std::ssize(labels)));
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) weights.push_back(weight(i, j));
        if (has_weights) set.put("weight", 0, column(weights.data(), n * n));
        set.put("particle", 0, column(particles.data(), std::ssize(particles)));
        set.finish();
    }
};

/// A cloud of 40 points with four coordinates, which all samples share: u = a sin(c + d), where c
/// and d are the third and fourth coordinate. A point has one of seven kinds, and the label 1 if u
/// is above 0.
struct FourAxesSet {
    int64_t n_sample = 12, n_point = 40;

    void write(const std::string& path) const {
        const Context context;
        NewDataset set(context, path);
        set.add_axis("sample", n_sample);
        set.add_axis("point", n_point);
        const char* const names[] = {"a1", "a2", "c", "d"};
        const char* const axes[] = {"X", "Y", "Z", "4"};
        for (size_t k = 0; k < 4; ++k)
            set.add(names[k], {"point"}, "1", nullptr, SURROGATE_FLOAT64, axes[k]);
        set.add("a", {"sample", "point"}, "1");
        set.add("u", {"sample", "point"}, "1");
        set.add("kind", {"sample", "point"}, "1");
        set.add("label", {"sample", "point"}, nullptr, nullptr, SURROGATE_INT64);
        set.begin();
        std::vector<std::vector<double>> x(4);
        std::vector<double> a, u, kind;
        std::vector<int64_t> label;
        for (int64_t k = 0; k < 4; ++k)
            for (int64_t i = 0; i < n_point; ++i)
                x[static_cast<size_t>(k)].push_back(wave(i, k, 3 + i));
        for (int64_t s = 0; s < n_sample; ++s) {
            for (size_t i = 0; i < static_cast<size_t>(n_point); ++i) {
                a.push_back(1 + 0.5 * wave(s, static_cast<int64_t>(i), 1));
                u.push_back(a.back() * std::sin(x[2][i] + x[3][i]));
                kind.push_back(static_cast<double>(i % 7));
                label.push_back(u.back() > 0 ? 1 : 0);
            }
        }
        for (size_t k = 0; k < 4; ++k) set.put(names[k], 0, column(x[k].data(), n_point));
        set.put("a", 0, column(a.data(), std::ssize(a)));
        set.put("u", 0, column(u.data(), std::ssize(u)));
        set.put("kind", 0, column(kind.data(), std::ssize(kind)));
        set.put("label", 0, column(label.data(), std::ssize(label)));
        set.finish();
    }
};

/// Clouds of 20 + 3 s points on a line: u = sin(pi x) (1 + a x), with the sample's own a as input.
struct RaggedSet {
    int64_t n_sample = 12;
    bool is_per_sample = false;  ///< a: one number per sample, instead of per row
    int64_t n_point(int64_t sample) const { return 20 + 3 * sample; }

    void write(const std::string& path) const {
        std::vector<int64_t> offset = {0};
        std::vector<double> x, a, u;
        for (int64_t s = 0; s < n_sample; ++s) {
            for (int64_t i = 0; i < n_point(s); ++i) {
                x.push_back(0.5 + 0.5 * wave(s, i, 0));
                if (i == 0 || !is_per_sample) a.push_back(wave(s, 5, 1));
                u.push_back(std::sin(M_PI * x.back()) * (1 + a.back() * x.back()));
            }
            offset.push_back(offset.back() + n_point(s));
        }
        const Context context;
        NewDataset set(context, path);
        set.add_axis("row", std::ssize(x));
        set.add_axis("offset", std::ssize(offset));
        if (is_per_sample) set.add_axis("sample", n_sample);
        set.add("offset", {"offset"}, nullptr, nullptr, SURROGATE_INT64);
        set.add("x", {"row"}, "m", nullptr, SURROGATE_FLOAT64, "X");
        set.add("a", {is_per_sample ? "sample" : "row"}, "1");
        set.add("u", {"row"}, "m/s");
        set.begin();
        surrogate_array starts = column(offset.data(), std::ssize(offset));
        set.put("offset", 0, starts);
        set.put("x", 0, column(x.data(), std::ssize(x)));
        set.put("a", 0, column(a.data(), std::ssize(a)));
        set.put("u", 0, column(u.data(), std::ssize(u)));
        set.finish();
    }
};

/// Events of 60 + 6 s hits: tracks of six hits in two coordinates, and hits of no particle. Hits of
/// every fourth particle have weight 0.
struct TrackSet {
    int64_t n_sample = 8;
    int64_t bad_sample = -1, bad_id = -100;  ///< id of all hits of this sample
    double weight = 1;
    int64_t n_hit(int64_t sample) const { return 60 + 6 * sample; }

    void write(const std::string& path) const {
        std::vector<int64_t> offset = {0}, id;
        std::vector<double> eta, phi, layer, weights;
        for (int64_t s = 0; s < n_sample; ++s) {
            for (int64_t i = 0; i < n_hit(s); ++i) {
                const int64_t track = i / 6;
                const bool is_noise = track >= 9;
                eta.push_back(1.5 * wave(s, track, is_noise ? i : 1) + 0.03 * wave(i, s, 2));
                phi.push_back(3 * wave(track, s, is_noise ? i : 3) + 0.03 * wave(s, i, 4));
                layer.push_back(static_cast<double>(i % 6) / 6);
                id.push_back(s == bad_sample ? bad_id : is_noise ? -100 : 1000 + track);
                weights.push_back(track % 4 == 3 ? 0 : weight);
            }
            offset.push_back(offset.back() + n_hit(s));
        }
        const Context context;
        NewDataset set(context, path);
        set.add_axis("row", std::ssize(eta));
        set.add_axis("offset", std::ssize(offset));
        set.add("offset", {"offset"}, nullptr, nullptr, SURROGATE_INT64);
        set.add("eta", {"row"}, "1", nullptr, SURROGATE_FLOAT64, "X");
        set.add("phi", {"row"}, "rad", nullptr, SURROGATE_FLOAT64, "Y");
        set.add("particle", {"row"}, nullptr, nullptr, SURROGATE_INT64);
        for (const char* name : {"f0", "f1", "f2"}) set.add(name, {"row"}, "1");
        set.add("weight", {"row"}, nullptr);
        set.begin();
        const auto put = [&](const char* name, const auto& values) {
            surrogate_array array = column(values.data(), std::ssize(values));
            set.put(name, 0, array);
        };
        put("offset", offset);
        put("eta", eta);
        put("phi", phi);
        put("particle", id);
        put("f0", eta);
        put("f1", phi);
        put("f2", layer);
        put("weight", weights);
        set.finish();
    }
};

/// Runs of a wave that turns round the sphere by one column an hour: height(t + 1, lon + 1) =
/// height(t, lon).
struct SphereSet {
    int64_t n_sample = 4, n_time = 4, n_lat = 8, n_lon = 16;

    double height(int64_t sample, int64_t time, int64_t lat, int64_t lon) const {
        const double angle =
            2 * M_PI * static_cast<double>(lon - time) / static_cast<double>(n_lon);
        const double row =
            std::sin(M_PI * (static_cast<double>(lat) + 0.5) / static_cast<double>(n_lat));
        return 1000 + 10 * row * (std::cos(angle + wave(sample, 1, 2)) + wave(sample, 3, 4));
    }

    void write(const std::string& path) const {
        std::vector<double> latitude(static_cast<size_t>(n_lat)), longitude, hours, values;
        check(surrogate_sphere_nodes("legendre-gauss", n_lat, n_lon, latitude.data(), nullptr,
                                     nullptr));
        for (int64_t j = 0; j < n_lon; ++j)
            longitude.push_back(360.0 * static_cast<double>(j) / static_cast<double>(n_lon));
        for (int64_t t = 0; t < n_time; ++t) hours.push_back(3600.0 * static_cast<double>(t));
        for (int64_t s = 0; s < n_sample; ++s)
            for (int64_t t = 0; t < n_time; ++t)
                for (int64_t i = 0; i < n_lat; ++i)
                    for (int64_t j = 0; j < n_lon; ++j) values.push_back(height(s, t, i, j));
        const Context context;
        NewDataset set(context, path);
        set.set("grid", "legendre-gauss");
        set.add_axis("sample", n_sample);
        set.add_axis("time", n_time);
        set.add_axis("lat", n_lat);
        set.add_axis("lon", n_lon);
        set.add("time", {"time"}, "s");
        set.add("lat", {"lat"}, "degrees_north");
        set.add("lon", {"lon"}, "degrees_east");
        set.add("height", {"sample", "time", "lat", "lon"}, "m");
        set.begin();
        set.put("time", 0, column(hours.data(), n_time));
        set.put("lat", 0, column(latitude.data(), n_lat));
        set.put("lon", 0, column(longitude.data(), n_lon));
        set.put("height", 0, column(values.data(), std::ssize(values)));
        set.finish();
    }
};

}  // namespace surrogate::test
