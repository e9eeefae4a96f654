// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/cloud_program.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/domain/cloud_count.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/flare/cloud_passes.hpp"
#include "libsurrogate/src/model/flare/cloud_tiles.hpp"
#include "libsurrogate/src/model/flare/costs.hpp"

namespace surrogate::impl::flare {

namespace {

template <class T>
class CloudProgram final : public Program {
public:
    CloudProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                 const PlanRequest& request)
        : config_(config),
          domain_(domain),
          n_thread_(request.queue.n_thread()),
          reproducible_(request.reproducible),
          ports_(domain, request.queue, config.in_dim, config.out_dim),
          passes_(config, layers, comm(), request.queue, request.reproducible, ports_, tiles_) {}

    void connect() override {
        std::vector<CloudCount> counts = count_clouds(domain_);
        std::vector<int64_t> begins;
        if (reproducible_) begins = reorder(counts);
        comm().agree([&] { allocate(counts, begins); });
    }
    /// One cloud is another program.
    bool follow() override {
        if (domain_.n_cloud() == 1) return false;
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return ports_.gather(inputs, outside);
    }
    bool evaluate(bool alive) override {
        ports_.deliver();
        return passes_.run(alive);
    }
    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    int64_t bytes() const override { return ports_.bytes() + tiles_.bytes() + passes_.bytes(); }
    int64_t n_point() const override { return ports_.n_point(); }
    std::vector<LayerCost> costs() const override { return costs_of(config_, work()); }
    std::vector<std::string> notes() const override;

private:
    Communicator& comm() const { return domain_.context().comm(); }
    std::vector<int64_t> reorder(std::span<const CloudCount> counts);
    void allocate(std::span<const CloudCount> counts, std::span<const int64_t> begins);
    Work work() const {
        Work work{n_point(), domain_.n_local(), ports_.is_reordered(),
                  config_.in_dim * static_cast<int64_t>(sizeof(T)),
                  config_.out_dim * static_cast<int64_t>(sizeof(T))};
        passes_.describe(work);
        return work;
    }

    const Config& config_;
    const PointDomain& domain_;
    int n_thread_;
    bool reproducible_;
    int64_t n_cloud_ = 0, n_shared_ = 0;  // of all ranks; clouds without points do not count
    PointPorts<T> ports_;
    CloudTiles tiles_;
    CloudPasses<T> passes_;
};

/// Collective: points will be in the order of their clouds, in whole chunks. Returns the first
/// point of each rank.
template <class T>
std::vector<int64_t> CloudProgram<T>::reorder(std::span<const CloudCount> counts) {
    const std::vector<int64_t> positions = positions_by_cloud(domain_);
    std::vector<int64_t> begins;
    comm().agree([&] {
        std::vector<int64_t> cloud_begins{0};
        for (const CloudCount& count : counts)
            cloud_begins.push_back(cloud_begins.back() + count.n_global);
        begins = block_begins(cloud_begins, kernels::flare::chunk_points, comm().size());
    });
    ports_.reorder(RowRoute(comm(), positions, begins));
    return begins;
}

/// begins: of the ranks, if points are reordered.
template <class T>
void CloudProgram<T>::allocate(std::span<const CloudCount> counts,
                               std::span<const int64_t> begins) {
    std::vector<CloudPart> parts;
    std::vector<int64_t> clouds;  // of each point of the program
    n_cloud_ = n_shared_ = 0;
    Range cloud;  // positions
    for (size_t c = 0; c < counts.size(); ++c, cloud.begin = cloud.end) {
        const CloudCount& count = counts[c];
        cloud.end += count.n_global;
        CloudPart part{static_cast<int64_t>(c), count.n_local, count.n_global, count.spans_ranks()};
        if (reproducible_) {
            const auto rank = static_cast<size_t>(comm().rank());
            part.n_point = intersection(cloud, {begins[rank], begins[rank + 1]}).size();
            const auto next = std::ranges::upper_bound(begins, cloud.begin);
            part.is_shared = next != begins.end() && *next < cloud.end;
            clouds.insert(clouds.end(), static_cast<size_t>(part.n_point), part.cloud);
        }
        n_cloud_ += count.n_global > 0;
        n_shared_ += part.is_shared;
        if (part.n_point > 0 || part.is_shared) parts.push_back(part);
    }
    if (!reproducible_) clouds.assign(domain_.clouds(), domain_.clouds() + domain_.n_local());
    tiles_.set(clouds, parts, kernels::flare::chunk_points / kernels::tile_points, reproducible_,
               n_thread_);
    ports_.place(tiles_.slots(), tiles_.tile_sizes());
    ports_.allocate();
    passes_.allocate();
}

template <class T>
std::vector<std::string> CloudProgram<T>::notes() const {
    std::vector<std::string> list;
    std::string clouds = std::to_string(n_cloud_) + " clouds, " + std::to_string(n_shared_) +
                         " of them on several ranks";
    if (n_shared_ > 0)
        clouds += ": " + std::to_string(work().reduction_bytes) + " bytes per block in " +
                  std::to_string(work().reductions) + " reductions";
    list.push_back(clouds);
    if (reproducible_)
        list.push_back(
            "reproducible: inputs and outputs move to canonical order, cloud by cloud, and back; "
            "sums are exact");
    return list;
}

}  // namespace

template <class T>
std::unique_ptr<Program> make_cloud_program(const Config& config, const Layers<T>& layers,
                                            const PointDomain& domain, const PlanRequest& request) {
    return std::make_unique<CloudProgram<T>>(config, layers, domain, request);
}

template std::unique_ptr<Program> make_cloud_program(const Config&, const Layers<float>&,
                                                     const PointDomain&, const PlanRequest&);
template std::unique_ptr<Program> make_cloud_program(const Config&, const Layers<double>&,
                                                     const PointDomain&, const PlanRequest&);

}  // namespace surrogate::impl::flare
