// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "tests/support/model_writer.hpp"

namespace surrogate::test {

/// (float)(offset + amplitude * sin(1.3 n + seed)) for n < size: the fill of the spec of the
/// sphere, section 10.
std::vector<float> wave(int64_t size, double seed, double amplitude = 1, double offset = 0);

/// A card of family "sphere" with this network. n_in, n_out: with so many fields "u0", "u1", .. and
/// "v0", ..
nlohmann::json sphere_card(const nlohmann::json& network, int n_in = 0, int n_out = 0);

/// A file with all weights that the card asks for, filled by the rule of the spec of the sphere's
/// models, section 11; tensors that a file may leave out count there, and are left out.
ModelWriter sphere_model(const nlohmann::json& card);

/// `base` with the keys of `changes` replaced, and those that are null there taken out.
nlohmann::json changed(nlohmann::json base, const nlohmann::json& changes);

/// Small networks: {"model": "SphericalTransformer", ..} on 12 x 24 points, 2 layers, 8 channels;
/// a SegFormer of 2 levels on 24 x 48; layers from 3 to 4 channels, or of 4.
nlohmann::json small_transformer();
nlohmann::json small_segformer();
nlohmann::json small_attention(bool is_global = false);
nlohmann::json small_convolution();
nlohmann::json small_resampling();

/// Bytes of a model in a file of its own, as long as it lives.
class ModelOnDisk {
public:
    explicit ModelOnDisk(const std::string& bytes);
    explicit ModelOnDisk(const nlohmann::json& network, int n_in = 0, int n_out = 0)
        : ModelOnDisk(sphere_model(sphere_card(network, n_in, n_out)).bytes()) {}
    ~ModelOnDisk();
    ModelOnDisk(const ModelOnDisk&) = delete;
    ModelOnDisk& operator=(const ModelOnDisk&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// Returns the results of one rank: inputs in the order of the ports, each (n_channel, n_lat,
/// n_lon); the output likewise.
std::vector<double> evaluate(const std::string& path, const std::vector<std::vector<float>>& inputs,
                             const Options& options = {});

/// Inputs for the ports of a model: wave(size, 0.6 + port).
std::vector<std::vector<float>> wave_inputs(const Model& model);

}  // namespace surrogate::test
