// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/exported/network.hpp"

#include <mutex>
#include <utility>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/exported/config.hpp"
#include "libsurrogate/src/model/exported/package.hpp"
#include "libsurrogate/src/model/exported/program.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"

namespace surrogate::impl::exported {

namespace {

const char* const about = "a network of family 'torch'";

class ExportedNetwork final : public Network {
public:
    using Bytes = std::shared_ptr<const kernels::Buffer<std::byte>>;

    ExportedNetwork(Config config, Bytes bytes)
        : config_(std::move(config)), bytes_(std::move(bytes)) {}

    std::vector<Port> inputs() const override { return {{"x", config_.in_dim}}; }
    std::vector<Port> outputs() const override {
        return {{"y", config_.out_dim, PortPlace::output_points}};
    }
    DomainKind domain_kind() const override {
        DomainKind kind;
        kind.keeps_clouds = true;
        return kind;
    }

    std::unique_ptr<Program> program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, about);
        require_options(request);
        return make_program(config_, package(), points, request);
    }

private:
    void require_options(const PlanRequest& request) const {
        if (!request.allows_code) {
            throw Error(Status::not_supported,
                        "the model's package '" + printable(config_.package.name) +
                            "' contains machine code, and option allow_code is false, expected "
                            "true; set it only for files from a source that you trust");
        }
        if (request.reproducible) {
            throw Error(Status::not_supported,
                        std::string(about) +
                            " has no reproducible mode: PyTorch chooses the order of its sums; "
                            "set reproducible=false");
        }
        if (request.is_double() == config_.is_double) return;
        throw Error(Status::not_supported, "precision is " + request.precision +
                                               ", and the package '" +
                                               printable(config_.package.name) + "' computes in " +
                                               (config_.is_double ? "float64; set precision=fp64"
                                                                  : "float32; set precision=fp32"));
    }

    /// The package, opened by the first plan that needs it.
    std::shared_ptr<const Package> package() const {
        const std::lock_guard lock(mutex_);
        if (!package_ && !bytes_) {
            throw Error(Status::not_supported,
                        "the package '" + printable(config_.package.name) +
                            "' is a file beside the model file, and the model was loaded from "
                            "memory; load it by its path");
        }
        if (!package_) {
            package_ = std::make_shared<const Package>(config_.package.name,
                                                       std::span(bytes_->begin(), bytes_->end()));
            bytes_.reset();
        }
        return package_;
    }

    Config config_;
    mutable std::mutex mutex_;
    mutable Bytes bytes_;  // until the package is open
    mutable std::shared_ptr<const Package> package_;
};

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t) {
    require_no_conventions(card, about);
    parse_config(*card.network);
    return {};
}

std::optional<AttachedFile> attached_file(const Card& card) {
    return parse_config(*card.network).package;
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>&) {
    return std::make_unique<ExportedNetwork>(parse_config(*file.card.network), file.attached);
}

}  // namespace surrogate::impl::exported
