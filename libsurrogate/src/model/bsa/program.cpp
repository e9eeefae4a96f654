// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/program.hpp"

#include <algorithm>
#include <atomic>

#include "libsurrogate/src/model/bsa/costs.hpp"
#include "libsurrogate/src/model/bsa/ring.hpp"
#include "libsurrogate/src/model/bsa/sweep.hpp"

namespace surrogate::impl::bsa {

namespace {

template <class T>
class HostProgram final : public Program {
public:
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request, const ChoiceHook& hook)
        : config_(config),
          layers_(layers),
          domain_(domain),
          comm_(domain.context().comm()),
          queue_(request.queue),
          reproducible_(request.reproducible),
          coordinates_(request.coordinates),
          hook_(hook),
          ports_(domain, request.queue, n_given(), config.n_output),
          plan_(config, domain, request.queue),
          sweep_(config, layers, request.queue, ports_, plan_, work_),
          coarse_(config, request.queue),
          fetch_(config, request.queue, comm_, work_),
          branches_(config, request.queue, plan_, work_, coarse_, fetch_),
          ring_(config, request.queue, comm_, work_, request.reproducible),
          fetched_(static_cast<size_t>(config.depth)) {}

    void connect() override {
        plan_.build(coordinates_, reproducible_, ports_);
        comm_.agree([&] { allocate(); });
    }
    bool follow() override {
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        const int first = static_cast<int>(config_.n_axis);  // the plan has the coordinates
        return ports_.gather(inputs.subspan(static_cast<size_t>(first)), outside, first);
    }

    bool evaluate(bool alive) override {
        int64_t in_trouble = alive ? 0 : 1;
        comm_.all_reduce_max(std::span(&in_trouble, 1));
        if (in_trouble) return false;
        if (n_given() > 0) ports_.deliver();
        work_.clear_padding();
        queue_.parallel_for(sweep_.n_point_tile(),
                            [&](int64_t tile, int thread) { sweep_.embed(tile, thread); });
        if (config_.residual_every > 0) for_tiles([&](int64_t t) { sweep_.keep_residual(t); });
        for (int64_t layer = 0; layer < config_.depth; ++layer) {
            if (!run_layer(layer)) return false;
        }
        queue_.parallel_for(sweep_.n_point_tile(),
                            [&](int64_t tile, int thread) { sweep_.head(tile, thread); });
        return true;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    int64_t bytes() const override {
        return ports_.bytes() + plan_.bytes() + work_.bytes() + sweep_.bytes() + coarse_.bytes() +
               fetch_.bytes() + branches_.bytes() + ring_.bytes();
    }
    int64_t n_point() const override { return plan_.n_point(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override;

private:
    int64_t n_given() const { return config_.features == Features::given ? config_.n_feature : 0; }
    int64_t n_choice() const {
        return std::min(config_.n_choice, plan_.slots().n_slot() / config_.block_size);
    }

    void allocate() {
        ports_.allocate();
        const std::span<const int64_t> begins = plan_.begins();
        int64_t most = 0;
        for (size_t r = 1; r < begins.size(); ++r) most = std::max(most, begins[r] - begins[r - 1]);
        work_.resize(config_, plan_.shape(), n_choice(), most);
        if (config_.is_sparse()) {
            coarse_.resize(begins);
            fetch_.resize(begins);
        }
        if (config_.has_balls()) {
            branches_.resize();
        } else {
            ring_.resize(begins);
        }
        std::fill(fetched_.begin(), fetched_.end(), fetch_.traffic());
    }

    template <class Body>
    void for_tiles(const Body& body) {
        queue_.parallel_for(work_.shape().n_tile(), [&](int64_t tile, int) { body(tile); });
    }
    bool run_layer(int64_t layer);
    void start(const LayerWeights<T>& w, bool rotated);
    bool attend_sparsely(int64_t layer, const LayerWeights<T>& w, bool rotated);

    const Config& config_;
    const Layers<T>& layers_;
    const PointDomain& domain_;
    Communicator& comm_;
    kernels::Queue queue_;
    bool reproducible_;
    std::span<const Column> coordinates_;
    ChoiceHook hook_;
    PointPorts<T> ports_;
    TreePlan<T> plan_;
    Workspace<T> work_;
    Sweep<T> sweep_;
    Coarse<T> coarse_;
    Fetch<T> fetch_;
    Branches<T> branches_;
    Ring<T> ring_;
    std::vector<typename Fetch<T>::Traffic> fetched_;  // (depth)
};

/// Returns false, on all ranks, if choices of some rank mean nothing.
template <class T>
bool HostProgram<T>::run_layer(int64_t layer) {
    const LayerWeights<T>& w = layers_.layers[static_cast<size_t>(layer)];
    const bool rotated = config_.is_layer_rotated(layer);
    if (rotated) plan_.move(work_.x(), true, work_.free_memory());
    start(w, rotated);
    if (config_.is_sparse()) {
        if (!attend_sparsely(layer, w, rotated)) return false;
    } else if (config_.has_balls()) {
        queue_.parallel_for(work_.shape().n_piece(), [&](int64_t piece, int thread) {
            branches_.mix_ball(w, rotated, piece, thread);
        });
    } else {
        ring_.run();
    }
    queue_.parallel_for(work_.shape().n_tile(),
                        [&](int64_t tile, int thread) { sweep_.finish(w, tile, thread); });
    if (rotated) plan_.move(work_.x(), false, work_.free_memory());
    if (config_.adds_residual(layer)) for_tiles([&](int64_t t) { sweep_.add_residual(t); });
    return true;
}

/// Queries, keys, values, gates, and coarse keys and values as soon as theirs are there.
template <class T>
void HostProgram<T>::start(const LayerWeights<T>& w, bool rotated) {
    const SlotShape& shape = work_.shape();
    const int64_t l = config_.is_sparse() ? config_.block_size : 1;
    const int64_t at_once = std::max<int64_t>(1, Coarse<T>::chunk_blocks * l / shape.n_column);
    queue_.parallel_for((shape.n_tile() + at_once - 1) / at_once, [&](int64_t item, int thread) {
        const int64_t first = item * at_once, end = std::min(first + at_once, shape.n_tile());
        for (int64_t tile = first; tile < end; ++tile) sweep_.start(w, rotated, tile, thread);
        if (!config_.is_sparse()) return;
        const int64_t n_block = shape.n_column / l, last = end * n_block;
        for (int64_t b = first * n_block; b < last; b += Coarse<T>::chunk_blocks)
            coarse_.compress(w, work_, b, std::min(Coarse<T>::chunk_blocks, last - b), thread);
    });
}

template <class T>
bool HostProgram<T>::attend_sparsely(int64_t layer, const LayerWeights<T>& w, bool rotated) {
    coarse_.gather(comm_, work_);
    std::atomic<bool> is_good = true;
    queue_.parallel_for(branches_.n_chunk(), [&](int64_t chunk, int thread) {
        if (!branches_.mix_chunk(w, rotated, chunk, thread)) {
            is_good = false;
        } else if (hook_) {
            branches_.show_chunk(hook_, layer, chunk);
        }
    });
    if (!fetch_.exchange(is_good)) return false;
    fetched_[static_cast<size_t>(layer)] = fetch_.traffic();
    queue_.parallel_for(work_.shape().n_piece(),
                        [&](int64_t piece, int thread) { branches_.select_piece(piece, thread); });
    return true;
}

template <class T>
std::vector<LayerCost> HostProgram<T>::costs() const {
    Work work;
    work.n_point = n_point();
    work.n_solver = domain_.n_local();
    work.n_slot = work_.shape().n_local();
    work.n_slot_global = work_.shape().n_slot;
    work.ball = work_.shape().ball;
    work.n_choice = n_choice();
    work.value_bytes = sizeof(T);
    work.n_given = n_given();
    work.move_bytes = plan_.move_bytes(config_.n_channel);
    work.moves = comm_.size() > 1 ? 1 : 0;
    if (config_.is_sparse()) {
        work.coarse_bytes = coarse_.bytes_sent(comm_.rank());
        for (const auto& traffic : fetched_)
            work.fetches.push_back({traffic.bytes, traffic.collectives});
    }
    if (!config_.has_balls()) work.ring = {ring_.bytes_sent(), ring_.collectives()};
    return costs_of(config_, work);
}

template <class T>
std::vector<std::string> HostProgram<T>::notes() const {
    return notes_of(config_, plan_.slots().n_point(), plan_.slots().n_slot(), comm_.size(),
                    reproducible_);
}

}  // namespace

template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request,
                                      const ChoiceHook& hook) {
    return std::make_unique<HostProgram<T>>(config, layers, domain, request, hook);
}

template std::unique_ptr<Program> make_program(const Config&, const Layers<float>&,
                                               const PointDomain&, const PlanRequest&,
                                               const ChoiceHook&);
template std::unique_ptr<Program> make_program(const Config&, const Layers<double>&,
                                               const PointDomain&, const PlanRequest&,
                                               const ChoiceHook&);

}  // namespace surrogate::impl::bsa
