// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/augment.hpp"

#include <cmath>
#include <map>
#include <numbers>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/training/run.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

namespace {

using Matrix = Transform::Matrix;

constexpr double pi = std::numbers::pi;
constexpr std::array<const char*, 3> axis_names = {"x", "y", "z"};

/// Returns a number between 0 and 1, without the ends.
double uniform(uint64_t key, uint64_t a, uint64_t b) {
    return (static_cast<double>(mixed(key, a, b) >> 11) + 0.5) * 0x1p-53;
}

/// Returns a number of the standard normal distribution (Box, Muller).
double normal(uint64_t key, uint64_t a, uint64_t b) {
    return std::sqrt(-2 * std::log(uniform(key, a, 2 * b))) *
           std::cos(2 * pi * uniform(key, a, 2 * b + 1));
}

/// Returns the rotation of a unit quaternion.
Matrix rotation(double w, double x, double y, double z) {
    return {{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
             {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
             {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
}

Matrix random_rotation(const Augmentation& augmentation, uint64_t key) {
    const double u = uniform(key, 0, 0), v = uniform(key, 0, 1), w = uniform(key, 0, 2);
    // Uniform on all rotations: K. Shoemake, "Uniform random rotations", 1992.
    if (augmentation.rotate == "all")
        return rotation(
            std::sqrt(u) * std::cos(2 * pi * w), std::sqrt(1 - u) * std::sin(2 * pi * v),
            std::sqrt(1 - u) * std::cos(2 * pi * v), std::sqrt(u) * std::sin(2 * pi * w));
    const double half_angle = augmentation.degrees / 180 * pi * (2 * u - 1) / 2;
    std::array<double, 3> axis{};
    for (size_t i = 0; i < 3; ++i)
        if (augmentation.rotate == axis_names[i]) axis[i] = std::sin(half_angle);
    return rotation(std::cos(half_angle), axis[0], axis[1], axis[2]);
}

/// Returns true for the axes of coordinates that the rotation mixes.
std::array<bool, 3> mixed_axes(const Augmentation& augmentation) {
    std::array<bool, 3> mixes{};
    for (size_t i = 0; i < 3; ++i)
        mixes[i] = !augmentation.rotate.empty() && augmentation.rotate != axis_names[i];
    return mixes;
}

void check_vectors(const Augmentation& augmentation, const std::vector<Channel>& channels,
                   const std::string& side) {
    const std::array<bool, 3> mixes = mixed_axes(augmentation);
    for (const Channel& channel : channels)
        if (component_of(channel).value_or("").size() > 1)
            fail("[data.augment] rotates and flips numbers and vectors; '" +
                 one_line(channel.name, 60) + "' is a component of a tensor");
    const auto is_per_sample = [&](int64_t channel) {
        return channels[static_cast<size_t>(channel)].is_per_sample;
    };
    for (const VectorFields& vector : vectors_of(channels)) {
        for (size_t a = 0; a < 2; ++a) {
            const int64_t one = vector[a], other = vector[a + 1] < 0 ? vector[2] : vector[a + 1];
            if (one < 0 || other < 0 || is_per_sample(one) == is_per_sample(other)) continue;
            fail("'" + one_line(channels[static_cast<size_t>(one)].name, 60) + "' and '" +
                 one_line(channels[static_cast<size_t>(other)].name, 60) +
                 "' are components of a vector for [data.augment], and one of them has one number "
                 "per sample, the other one per point");
        }
        for (size_t has = 0; has < 3; ++has) {
            for (size_t needs = 0; needs < 3; ++needs) {
                if (vector[has] < 0 || vector[needs] >= 0 || !mixes[has] || !mixes[needs]) continue;
                const std::string& name = channels[static_cast<size_t>(vector[has])].name;
                fail("rotate = \"" + augmentation.rotate + "\" in [data.augment] mixes '" +
                     one_line(name, 60) + "' with '" +
                     one_line(name.substr(0, name.size() - 1) + axis_names[needs], 60) +
                     "', which is not among the " + side + "; add it");
            }
        }
    }
}

}  // namespace

Transform random_transform(const Augmentation& augmentation, int64_t seed, int64_t epoch,
                           int64_t index) {
    const uint64_t of_epoch = mixed(static_cast<uint64_t>(seed), static_cast<uint64_t>(epoch), 7);
    Transform transform;
    transform.key = mixed(of_epoch, static_cast<uint64_t>(index), 8);
    if (!augmentation.rotate.empty())
        transform.matrix = random_rotation(augmentation, transform.key);
    for (size_t axis = 0; axis < 3; ++axis)
        if (augmentation.flip[axis] && uniform(transform.key, 1, axis) < 0.5)
            for (auto& row : transform.matrix) row[axis] = -row[axis];
    transform.scale =
        augmentation.least_scale +
        (augmentation.largest_scale - augmentation.least_scale) * uniform(transform.key, 2, 0);
    transform.jitter = augmentation.jitter;
    transform.is_about_box = augmentation.is_about_box;
    return transform;
}

void transform_points(const Transform& transform, const std::array<double, 3>& center,
                      const std::vector<int64_t>& ids, size_t n_axis, std::vector<double>* points) {
    const size_t n = std::min<size_t>(n_axis, 3);
    for (size_t i = 0; i < ids.size(); ++i) {
        double* const point = points->data() + i * n_axis;
        std::array<double, 3> from{};
        for (size_t a = 0; a < n; ++a) from[a] = point[a] - center[a];
        for (size_t a = 0; a < n; ++a) {
            const auto& row = transform.matrix[a];
            point[a] = center[a] +
                       transform.scale * (row[0] * from[0] + row[1] * from[1] + row[2] * from[2]);
            if (transform.jitter > 0)
                point[a] +=
                    transform.jitter * normal(transform.key, 3 + static_cast<uint64_t>(ids[i]), a);
        }
    }
}

std::vector<VectorFields> vectors_of(const std::vector<Channel>& channels) {
    std::map<std::string, VectorFields> vectors;
    for (size_t i = 0; i < channels.size(); ++i) {
        const std::string axis = component_of(channels[i]).value_or("");
        if (axis.size() != 1) continue;
        const std::string name = channels[i].name.substr(0, channels[i].name.size() - 2);
        auto& vector = vectors.try_emplace(name, VectorFields{-1, -1, -1}).first->second;
        vector[static_cast<size_t>(axis[0] - 'x')] = static_cast<int64_t>(i);
    }
    std::vector<VectorFields> all;
    for (const auto& [name, vector] : vectors) all.push_back(vector);
    return all;
}

void transform_vectors(const Transform& transform, const std::vector<VectorFields>& vectors,
                       std::vector<std::vector<double>>* fields) {
    for (const VectorFields& vector : vectors) {
        std::array<double*, 3> component{};
        size_t n = 0;
        for (size_t a = 0; a < 3; ++a) {
            if (vector[a] < 0) continue;
            auto& field = (*fields)[static_cast<size_t>(vector[a])];
            component[a] = field.data();
            n = field.size();
        }
        for (size_t i = 0; i < n; ++i) {
            std::array<double, 3> from{};
            for (size_t a = 0; a < 3; ++a)
                if (component[a] != nullptr) from[a] = component[a][i];
            for (size_t a = 0; a < 3; ++a) {
                const auto& row = transform.matrix[a];
                if (component[a] != nullptr)
                    component[a][i] = row[0] * from[0] + row[1] * from[1] + row[2] * from[2];
            }
        }
    }
}

void check_augmentation(const TrainConfig& config, const TrainData& data,
                        const ModelChannels& channels) {
    const Augmentation& augmentation = config.data.augmentation;
    if (!augmentation.is_on()) return;
    const std::string text = "[data.augment] moves the points of each sample, ";
    if (data.form().points == dataset::PointForm::sphere)
        fail(text + "but a network on the sphere needs its grid; use 'symmetries'");
    if (loss_of(config) == "gradient_l2")
        fail(text + "but loss 'gradient_l2' needs the structured grid; use 'symmetries'");
    if (config.rollout > 1) fail(text + "expected 'rollout' = 1 with it");
    const size_t n_axis = data.form().coordinates.size();
    const auto require = [&](size_t n, const std::string& what) {
        if (n_axis < n)
            fail(what + " in [data.augment] needs " + std::to_string(n) +
                 " coordinates, and the points of '" + data.file(0).path() + "' have " +
                 std::to_string(n_axis));
    };
    require(1, "a transform");
    if (!augmentation.rotate.empty())
        require(augmentation.rotate == "z" ? 2 : 3, "rotate = \"" + augmentation.rotate + "\"");
    for (size_t axis = 0; axis < 3; ++axis)
        if (augmentation.flip[axis])
            require(axis + 1, "flip = \"" + std::string(axis_names[axis]) + "\"");
    if (!augmentation.turns()) return;
    check_vectors(augmentation, channels.inputs, "inputs");
    check_vectors(augmentation, channels.fields(), "outputs");
}

}  // namespace surrogate::tool
