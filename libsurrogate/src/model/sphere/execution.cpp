// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/execution.hpp"

#include "libsurrogate/src/model/sphere/program.hpp"

namespace surrogate::impl::sphere {

namespace {

template <class T>
class SphereExecution final : public Execution {
public:
    SphereExecution(const Config& config, const Weights<T>& weights, const SphereDomain& input,
                    const SphereDomain& output, const PlanRequest& request)
        : output_(output), frame_{output.context().comm(), request.queue, request.reproducible} {
        input.require_whole_shift();
        output.require_whole_shift();
        const ProgramRequest made_from{frame_, input, output};
        program_ = std::visit([&](const auto& c) { return make_program<T>(made_from, c, weights); },
                              config);
        int64_t n_column = 0;
        for (const auto& port : program_->inputs()) n_column += port->n_channel();
        outside_ = OutsideCounts(frame_.queue.n_thread(), n_column);
    }

    /// Collective, unlike the constructor.
    void connect() { program_->connect(); }

    Result run(std::span<const Column> inputs, std::span<const Column> outputs,
               bool poisoned) override {
        Result result;
        outside_.clear();
        if (!poisoned) result.bad_input = gather(inputs);
        result.set_outside(outside_.join());
        // Ranks hear at once of a neighbor without hope: nobody computes with its numbers, which
        // would be NaN, and on which the host may trap.
        int64_t is_bad = poisoned || result.bad_input.column >= 0;
        frame_.comm.all_reduce_max(std::span(&is_bad, 1));
        result.is_finite = is_bad == 0;
        if (result.is_finite) {
            for (auto& port : program_->inputs()) port->deliver(frame_);
            result.is_finite = program_->run();
        }
        if (result.is_finite) {
            program_->output().deliver(frame_);
            result.bad_output = program_->output().scatter(frame_, outputs);
        } else {
            fill_nan(output_, outputs);
        }
        return result;
    }

    std::span<const Outside> outside() const override { return outside_.joined(); }
    int64_t workspace_bytes() const override { return program_->bytes(); }
    int64_t n_point() const override {
        return program_->output().field().rows().size() * output_.grid().n_lon;
    }
    std::vector<LayerCost> costs() const override { return program_->costs(); }
    std::vector<std::string> notes() const override {
        std::vector<std::string> notes = program_->notes();
        if (frame_.reproducible) {
            notes.push_back(
                "reproducible: sums over the grid are gathered by rows and added from north to "
                "south");
        }
        return notes;
    }

private:
    BadValue gather(std::span<const Column> inputs) {
        BadValue bad;
        size_t first = 0;
        for (auto& port : program_->inputs()) {
            const auto n = static_cast<size_t>(port->n_channel());
            BadValue found = port->gather(frame_, inputs.subspan(first, n), outside_, first);
            if (found.column >= 0 && bad.column < 0) {
                found.column += static_cast<int>(first);
                bad = found;
            }
            first += n;
        }
        return bad;
    }

    const SphereDomain& output_;
    Frame frame_;
    std::unique_ptr<Program<T>> program_;
    OutsideCounts outside_;
};

}  // namespace

template <class T>
std::unique_ptr<Execution> make_execution(const Config& config, const Weights<T>& weights,
                                          const SphereDomain& input, const SphereDomain& output,
                                          const PlanRequest& request) {
    std::unique_ptr<SphereExecution<T>> execution;
    output.context().comm().agree([&] {
        execution = std::make_unique<SphereExecution<T>>(config, weights, input, output, request);
    });
    execution->connect();
    return execution;
}

template std::unique_ptr<Execution> make_execution(const Config&, const Weights<float>&,
                                                   const SphereDomain&, const SphereDomain&,
                                                   const PlanRequest&);
template std::unique_ptr<Execution> make_execution(const Config&, const Weights<double>&,
                                                   const SphereDomain&, const SphereDomain&,
                                                   const PlanRequest&);

}  // namespace surrogate::impl::sphere
