// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/exported/program.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/domain/solver_tiles.hpp"

namespace surrogate::impl::exported {

namespace {

/// Rows per thread in one evaluation of a network per point. Activations of more rows leave the
/// caches, and fewer rows pay for the call: of 256 to 1e5 rows with 64 and 256 channels the fastest
/// within 15 %.
constexpr int64_t chunk_points = 4096;

template <class T>
class ExportedProgram final : public Program {
public:
    ExportedProgram(const Config& config, std::shared_ptr<const Package> package,
                    const PointDomain& domain, const PlanRequest& request)
        : config_(config),
          package_(std::move(package)),
          domain_(domain),
          n_thread_(request.queue.n_thread()),
          tiles_(domain, request.queue) {}

    void connect() override { set_rows(); }
    bool follow() override {
        set_rows();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return tiles_.for_each([&](int64_t first, int64_t count, int thread) {
            return for_runs(first, count, [&](int64_t begin, int64_t n, int64_t row) {
                return impl::gather<T>(inputs, begin, n, x_.data() + row * config_.in_dim,
                                       config_.in_dim, 1, outside.of(thread));
            });
        });
    }

    bool evaluate(bool alive) override {
        problem_ = {};
        if (!alive) return false;
        try {
            config_.is_per_cloud ? run_clouds() : run_points();
        } catch (...) {
            problem_ = std::current_exception();
        }
        return !problem_;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        if (!alive) fill_nan(outputs, domain_.n_local());
        if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
        if (!alive) return {};
        return tiles_.for_each([&](int64_t first, int64_t count, int) {
            return for_runs(first, count, [&](int64_t begin, int64_t n, int64_t row) {
                return impl::scatter<T>(y_.data() + row * config_.out_dim, config_.out_dim, 1,
                                        outputs, begin, n);
            });
        });
    }

    int64_t bytes() const override {
        return x_.bytes() + y_.bytes() + ends_.bytes() + rows_.bytes();
    }
    int64_t n_point() const override { return domain_.n_local(); }
    std::vector<LayerCost> costs() const override {
        return {{.name = "PyTorch package (work unknown)"}};
    }
    std::vector<std::string> notes() const override {
        return {"package '" + printable(config_.package.name) + "', per " +
                (config_.is_per_cloud ? "cloud" : "point") + ": computed by PyTorch " +
                package_->torch_version() + " with " + std::to_string(n_thread_) +
                " threads, whatever backend and vector are"};
    }

private:
    /// Rows of x_ and y_ for the points as they are now. Collective, with agreement.
    void set_rows() {
        Communicator& comm = domain_.context().comm();
        const int64_t n = domain_.n_local();
        if (config_.is_per_cloud) group_by_cloud(comm);
        comm.agree([&] {
            const int64_t n_row = config_.is_per_cloud || n == 0 ? n : std::max(n, least());
            x_.resize(n_row * config_.in_dim);
            y_.resize(n_row * config_.out_dim);
        });
    }

    int64_t least() const { return config_.min_points; }
    int64_t cloud_of(int64_t i) const { return domain_.has_clouds() ? domain_.clouds()[i] : 0; }

    /// Sets ends_ and rows_, and checks that each cloud is on one rank.
    void group_by_cloud(Communicator& comm) {
        const int64_t n_cloud = domain_.n_cloud(), n = domain_.n_local();
        kernels::Buffer<int64_t> n_rank;  // (n_cloud) ranks with points of a cloud
        comm.agree([&] {
            ends_.resize(n_cloud);
            rows_.resize(n);
            n_rank.resize(n_cloud);
            std::ranges::fill(ends_, int64_t{0});
            for (int64_t i = 0; i < n; ++i) ++ends_[cloud_of(i)];
            for (int64_t c = 0; c < n_cloud; ++c) n_rank[c] = ends_[c] > 0;
        });
        comm.all_reduce_sum(std::span(n_rank.begin(), n_rank.end()));
        comm.agree([&] {
            for (int64_t c = 0; c < n_cloud; ++c) require_cloud(c, n_rank[c]);
        });
        int64_t end = 0;
        for (int64_t& value : ends_) value = std::exchange(end, end + value);
        for (int64_t i = 0; i < n; ++i) rows_[i] = ends_[cloud_of(i)]++;
    }

    void require_cloud(int64_t cloud, int64_t n_rank) const {
        const std::string name = "cloud " + std::to_string(cloud);
        if (n_rank > 1) {
            throw Error(Status::not_supported,
                        "the network of the package is evaluated per cloud within one rank, and " +
                            name + " has points on " + std::to_string(n_rank) +
                            " ranks, expected 1; give all points of a cloud to one rank, or "
                            "export a network per point");
        }
        const int64_t n = ends_[cloud];
        if (n == 0 || (n >= least() && n <= config_.max_points)) return;
        throw Error(Status::shape, name + " has " + std::to_string(n) + " points, expected from " +
                                       std::to_string(least()) + " to " +
                                       std::to_string(config_.max_points) +
                                       " (network.min_points and max_points of the card)");
    }

    /// body(first point, number of points, row of the first) over points in neighboring rows; the
    /// first bad value.
    template <class Body>
    BadValue for_runs(int64_t first, int64_t count, const Body& body) const {
        if (!config_.is_per_cloud) return body(first, count, first);
        BadValue bad;
        for (int64_t i = first, n = 0; i < first + count; i += n) {
            for (n = 1; i + n < first + count && rows_[i + n] == rows_[i] + n;) ++n;
            const BadValue found = body(i, n, rows_[i]);
            if (bad.column < 0) bad = found;
        }
        return bad;
    }

    void run_clouds() {
        int64_t begin = 0;
        for (const int64_t end : ends_) {
            if (end > begin) run(begin, end - begin);
            begin = end;
        }
    }

    /// Chunks have at least min_points rows: the last one may repeat rows of the one before, and
    /// fewer points are followed by copies of the last.
    void run_points() {
        const int64_t n = domain_.n_local();
        if (n == 0) return;
        for (int64_t i = n; i < least(); ++i) {
            std::copy_n(x_.data() + (n - 1) * config_.in_dim, config_.in_dim,
                        x_.data() + i * config_.in_dim);
        }
        const int64_t n_row = std::max(n, least());
        const int64_t chunk =
            std::min(std::max(chunk_points * n_thread_, least()), config_.max_points);
        for (int64_t begin = 0; begin < n_row; begin += chunk) {
            const int64_t size = std::max(std::min(chunk, n_row - begin), least());
            run(std::min(begin, n_row - size), size);
        }
    }

    void run(int64_t first_row, int64_t n_row) {
        TorchCall call;
        call.x = x_.data() + first_row * config_.in_dim;
        call.y = y_.data() + first_row * config_.out_dim;
        call.n_row = n_row;
        call.n_in = config_.in_dim;
        call.n_out = config_.out_dim;
        call.is_double = config_.is_double;
        call.has_batch_axis = config_.has_batch_axis;
        call.n_thread = n_thread_;
        package_->run(call);
    }

    Config config_;
    std::shared_ptr<const Package> package_;
    const PointDomain& domain_;
    int n_thread_;
    SolverTiles tiles_;
    kernels::Buffer<T> x_, y_;       // (row, in_dim), (row, out_dim)
    kernels::Buffer<int64_t> ends_;  // (n_cloud) last row + 1, only per cloud
    kernels::Buffer<int64_t> rows_;  // (n_local) row of a point, only per cloud
    std::exception_ptr problem_;     // of the evaluation
};

}  // namespace

std::unique_ptr<Program> make_program(const Config& config, std::shared_ptr<const Package> package,
                                      const PointDomain& domain, const PlanRequest& request) {
    if (config.is_double)
        return std::make_unique<ExportedProgram<double>>(config, std::move(package), domain,
                                                         request);
    return std::make_unique<ExportedProgram<float>>(config, std::move(package), domain, request);
}

}  // namespace surrogate::impl::exported
