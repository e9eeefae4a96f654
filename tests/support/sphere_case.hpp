// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::test {

/// Memory layout of a solver's grid on the sphere.
struct SphereLayout {
    std::string name;
    std::string partition = "contiguous";
    bool south_first = false;
    int64_t shift = 0;        ///< column 0 lies at longitude 360 * shift / n_lon
    bool with_nodes = false;  ///< coordinates as arrays, longitudes from -360
    int64_t ghosts = 0;       ///< layers around the block
    bool is_latitude_fastest = false;
};

/// The block of one rank, and where its points lie in memory and on the model's grid.
class SphereBlock {
public:
    SphereBlock(const surrogate_domain_info& grid, const SphereLayout& layout, int rank, int size)
        : grid_(grid), layout_(layout) {
        check(surrogate_partition_sphere(layout.partition.c_str(), grid.n_lat, grid.n_lon, rank,
                                         size, block_));
        const double step = 360.0 / static_cast<double>(grid.n_lon);
        std::vector<double> nodes(static_cast<size_t>(grid.n_lat));
        check(surrogate_sphere_nodes(grid.grid, grid.n_lat, grid.n_lon, nodes.data(), nullptr,
                                     nullptr));
        for (int64_t i = 0; i < n_lat(); ++i)
            latitude_.push_back(nodes[static_cast<size_t>(model_row(i))]);
        for (int64_t j = 0; j < n_lon(); ++j)
            longitude_.push_back(-360 + step * static_cast<double>(layout.shift + block_[2] + j));
    }

    int64_t n_lat() const { return block_[1]; }
    int64_t n_lon() const { return block_[3]; }
    int64_t n_point() const { return n_lat() * n_lon(); }

    surrogate_sphere sphere() const {
        surrogate_sphere s{};
        s.grid = grid_.grid;
        s.n_lat = grid_.n_lat;
        s.n_lon = grid_.n_lon;
        s.first_lat = block_[0];
        s.n_lat_local = block_[1];
        s.first_lon = block_[2];
        s.n_lon_local = block_[3];
        s.south_to_north = layout_.south_first;
        s.first_longitude =
            360.0 * static_cast<double>(layout_.shift) / static_cast<double>(grid_.n_lon);
        if (layout_.with_nodes) {
            s.latitude = latitude_.data();
            s.longitude = longitude_.data();
        }
        if (layout_.ghosts > 0 || layout_.is_latitude_fastest) {
            s.lat_stride = lat_stride();
            s.lon_stride = lon_stride();
        }
        return s;
    }

    int64_t lat_stride() const {
        return layout_.is_latitude_fastest ? 1 : n_lon() + 2 * layout_.ghosts;
    }
    int64_t lon_stride() const {
        return layout_.is_latitude_fastest ? n_lat() + 2 * layout_.ghosts : 1;
    }
    int64_t memory_size() const {
        return (n_lat() + 2 * layout_.ghosts) * (n_lon() + 2 * layout_.ghosts);
    }
    int64_t first_point() const { return layout_.ghosts * (lat_stride() + lon_stride()); }
    int64_t place(int64_t i, int64_t j) const {
        return first_point() + i * lat_stride() + j * lon_stride();
    }

    /// Row and index of local point (i, j) on the model's grid.
    int64_t model_row(int64_t i) const {
        const int64_t row = block_[0] + i;
        return layout_.south_first ? grid_.n_lat - 1 - row : row;
    }
    int64_t model_index(int64_t i, int64_t j) const {
        return model_row(i) * grid_.n_lon + (block_[2] + j + layout_.shift) % grid_.n_lon;
    }
    int64_t n_model_point() const { return grid_.n_lat * grid_.n_lon; }

private:
    surrogate_domain_info grid_;
    SphereLayout layout_;
    int64_t block_[4] = {};
    std::vector<double> latitude_, longitude_;
};

/// Channels of a block in a solver's memory, interlaced; ghosts and what was not written are NaN.
template <class T>
class BlockFields {
public:
    BlockFields(const SphereBlock& block, int64_t n_channel)
        : block_(block),
          n_channel_(n_channel),
          values_(static_cast<size_t>(block.memory_size() * n_channel), T(NAN)) {}

    /// From channels of the whole sphere, (n_channel, n_lat, n_lon).
    void fill(const std::vector<float>& whole) {
        for_points([&](int64_t c, int64_t place, int64_t index) {
            values_[at(place, c)] =
                static_cast<T>(whole[static_cast<size_t>(c * block_.n_model_point() + index)]);
        });
    }

    surrogate_array array() {
        surrogate_array a = matrix(values_.data() + block_.first_point() * n_channel_,
                                   block_.n_point(), n_channel_);
        if (block_.n_point() == 0) a.data = nullptr;
        return a;
    }
    surrogate_array channel(int64_t c) {
        surrogate_array a = array();
        a.data = block_.n_point() == 0 ? nullptr : static_cast<T*>(a.data) + c;
        a.shape[1] = 1;
        return a;
    }

    std::vector<double> points() const {
        std::vector<double> list;
        for_points([&](int64_t c, int64_t place, int64_t) {
            list.push_back(static_cast<double>(values_[at(place, c)]));
        });
        return list;
    }
    /// The same points of channels of the whole sphere.
    std::vector<double> points_of(const std::vector<double>& whole) const {
        std::vector<double> list;
        for_points([&](int64_t c, int64_t, int64_t index) {
            list.push_back(whole[static_cast<size_t>(c * block_.n_model_point() + index)]);
        });
        return list;
    }
    /// Returns whether something was written between the points.
    bool has_clean_ghosts() const {
        std::vector<T> rest = values_;
        for_points([&](int64_t c, int64_t place, int64_t) { rest[at(place, c)] = T(NAN); });
        for (const T value : rest)
            if (!std::isnan(value)) return false;
        return true;
    }
    std::vector<T>& values() { return values_; }

private:
    size_t at(int64_t place, int64_t c) const {
        return static_cast<size_t>(place * n_channel_ + c);
    }

    template <class Body>
    void for_points(const Body& body) const {
        for (int64_t i = 0; i < block_.n_lat(); ++i) {
            for (int64_t j = 0; j < block_.n_lon(); ++j) {
                for (int64_t c = 0; c < n_channel_; ++c)
                    body(c, block_.place(i, j), block_.model_index(i, j));
            }
        }
    }

    const SphereBlock& block_;
    int64_t n_channel_;
    std::vector<T> values_;
};

/// A plan of a model on the blocks of some ranks, with arrays for its ports.
class SphereRun {
public:
    SphereRun(const Context& context, const Model& model, const SphereLayout& layout,
              const Options& options = {})
        : in_block(model.input_domain(), layout, context.rank(), context.size()),
          out_block(model.output_domain(), layout, context.rank(), context.size()),
          input(context, in_block.sphere()),
          output(context, out_block.sphere()),
          plan(model, input, output, options),
          ports(model.ports()) {
        for (const surrogate_port_info& port : ports) {
            fields.emplace_back(port.location == SURROGATE_ON_OUTPUT ? out_block : in_block,
                                port.n_channel);
        }
    }

    /// Inputs of the whole sphere, in the order of the ports.
    void fill(const std::vector<std::vector<float>>& inputs) {
        size_t next = 0;
        for (size_t i = 0; i < ports.size(); ++i)
            if (!ports[i].is_output) fields[i].fill(inputs.at(next++));
    }
    std::vector<surrogate_named_array> arrays(bool are_outputs) {
        std::vector<surrogate_named_array> list;
        for (size_t i = 0; i < ports.size(); ++i)
            if ((ports[i].is_output != 0) == are_outputs)
                list.push_back({ports[i].name, fields[i].array()});
        return list;
    }
    surrogate_status run_network() {
        const auto in = arrays(false), out = arrays(true);
        return surrogate_plan_run_network(plan.get(), static_cast<int32_t>(in.size()), in.data(),
                                          static_cast<int32_t>(out.size()), out.data());
    }
    /// Binds the fields "u0", .. and "v0", .. of the card.
    void bind() {
        for (size_t i = 0; i < ports.size(); ++i) {
            for (int64_t c = 0; c < ports[i].n_channel; ++c) {
                std::string name = ports[i].is_output ? "v" : "u";
                name += std::to_string(c);
                if (ports[i].is_output) {
                    plan.bind_output(name, fields[i].channel(c));
                } else {
                    plan.bind_input(name, fields[i].channel(c));
                }
            }
        }
    }
    surrogate_status run() { return surrogate_plan_run(plan.get()); }

    BlockFields<float>& result() { return fields.back(); }

    SphereBlock in_block, out_block;
    Domain input, output;
    Plan plan;
    std::vector<surrogate_port_info> ports;
    std::vector<BlockFields<float>> fields;
};

/// Largest difference relative to the largest value; infinity if sizes differ, NaN if values are.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b,
                                 double scale) {
    if (a.size() != b.size()) return INFINITY;
    double largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        if (std::isnan(a[i] - b[i])) return NAN;
        largest = std::max(largest, std::abs(a[i] - b[i]));
    }
    return largest / scale;
}

inline double largest(const std::vector<double>& values) {
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    return largest;
}

}  // namespace surrogate::test
