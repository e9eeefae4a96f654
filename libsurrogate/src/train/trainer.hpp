// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/plan/plan.hpp"
#include "libsurrogate/src/train/checkpoint_file.hpp"
#include "libsurrogate/src/train/loss.hpp"
#include "libsurrogate/src/train/noise.hpp"
#include "libsurrogate/src/train/optimizer.hpp"
#include "libsurrogate/src/train/pair_loss.hpp"
#include "libsurrogate/src/train/reservoir.hpp"
#include "libsurrogate/src/train/sample_gather.hpp"
#include "libsurrogate/src/train/seen_ranges.hpp"
#include "libsurrogate/src/train/settings.hpp"
#include "surrogate/surrogate_train.h"

namespace surrogate::impl {

/// Trains the model of a plan; see surrogate_trainer_create and the functions after it. Weights and
/// optimizer are the same on all ranks.
class Trainer {
public:
    /// Makes the trainer of a plan, which outlives it. shared: the plan's context; data_parallel:
    /// the plan's context, or one of which it is a part. Collective over data_parallel; throws on
    /// all ranks.
    Trainer(Plan& plan, std::shared_ptr<Context> shared, std::shared_ptr<Context> data_parallel,
            const TrainingSettings& settings);
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    const std::shared_ptr<Context>& context() const { return data_parallel_; }

    // Local.
    void bind_target(const char* name, const char* unit, const surrogate_array* array);
    void bind_target(const char* name, const char* unit, const surrogate_block* block);
    void bind_gradient(const char* name, const char* unit, const surrogate_array* array);
    void bind_gradient(const char* name, const char* unit, const surrogate_block* block);
    void bind_labels(const surrogate_array* labels);
    void set_class_weights(const double* weights, int64_t n);
    void set_point_weights(const surrogate_array* weights);
    void set_scale(const char* output, double scale);
    void set_lattice(int64_t n_x, int64_t n_y);
    std::string describe() const;
    int64_t counter(const char* key) const;
    const std::string& note() const { return note_; }

    // Collective over the context data_parallel, with the same outcome on all its ranks. What fails
    // leaves everything as it was, the samples of the step under way included.
    double accumulate();
    void forward();
    void backward(double loss);
    surrogate_step_report apply();
    surrogate_step_report step();
    double end_validation(bool& is_best);
    int64_t keep();
    surrogate_step_report step_kept(int64_t n_step);
    int32_t widen_ranges();
    void save_model(int32_t which, const char* card, const char* path);
    void save(const char* note, const char* path);
    void restore(const char* path);

    /// Implements surrogate_trainer_validate(). Collective over the plan's context, with the same
    /// outcome on all its ranks.
    double validate(double* error);
    void add_validation_loss(double loss);

private:
    /// Source of a sample: the bound arrays, or a slot of the reservoir.
    struct Source {
        std::span<const Column> inputs, targets;
        bool is_bound = true;
    };
    /// Payload and calls, from the communicators' counters.
    struct Traffic {
        int64_t bytes = 0, collectives = 0;
    };

    Communicator& comm() const { return plan_.context().comm(); }
    Communicator& data_parallel() const { return data_parallel_->comm(); }
    size_t n_input() const { return model_->card().inputs.size(); }
    size_t n_output() const { return model_->card().outputs.size(); }
    int64_t n_point() const { return plan_.n_output_row(); }
    Source bound() const { return {plan_.inputs(), targets_, true}; }

    void bind(const Plan::Target& target);
    void bind_gradient(const Plan::Target& target);
    void find_groups();
    void require_same_model() const;
    void require_classes() const;
    void require_pooled_settings() const;
    void connect_pairs();
    void find_dropout();
    std::string class_text(int64_t c) const;
    std::span<const double> weights_of(int32_t which);
    void follow_lattice();
    void follow_clouds();
    std::vector<int64_t> cloud_rows() const;
    void make_room();
    void require_own_loss() const;
    void require_custom_loss() const;
    void require_bound_outputs() const;
    bool has_all_rows(const Column& column, int64_t n_row) const;
    Error array_error(const std::string& what, const char* binder, const Column& column,
                      int64_t n_row) const;
    void require_targets() const;
    void require_gradients() const;
    bool has_classes() const { return uses_classes(recipe_.loss); }
    bool has_labels() const { return has_classes() || recipe_.loss == LossKind::infonce; }
    int64_t n_class() const { return std::max<int64_t>(2, static_cast<int64_t>(n_output())); }
    const SphereDomain& sphere() const;
    std::string loss_name() const { return settings_.all().at("loss"); }
    FieldLoss& field_loss(const char* what) const;
    void take_labels(const Column& from);
    void take_gradients();
    SampleOutcome find_outcome(SampleOutcome own);
    SampleOutcome measure_clouds(SampleOutcome own, bool is_learnt);
    void take_targets(const Source& source);
    void give_predictions() const;
    Sample sample() const;
    Sample counted_sample() const;
    SampleOutcome measure(const Source& source, bool is_learnt);
    int64_t sample_number() const;
    int64_t n_sample() const { return recipe_.are_clouds_samples ? plan_.input()->n_cloud() : 1; }
    bool is_last_sample() const { return std::ssize(losses_) + n_sample() >= recipe_.accumulate; }
    double sample_loss() const;
    double sample_error(size_t output) const;
    void end_sample(double loss, std::vector<double>& losses) const;
    double accumulate(const Source& source, bool is_last);
    void go_back(SampleOutcome outcome, bool is_last);
    void add_traffic(const Traffic& before);
    double mean(std::span<const double> losses, int64_t& n) const;
    surrogate_step_report skip(surrogate_step_report report);
    void note_ranges(const Source& source);
    void join_ranges(std::span<FieldRange> ranges, std::span<double> ends) const;
    Traffic now() const;
    struct Counters;
    struct Restored;
    struct KeptExchange;
    Counters counters() const;
    std::vector<std::pair<std::string, std::span<double>>> state();
    void describe_to(nlohmann::json& about) const;
    void list_tensors(KeptExchange* kept, const int64_t* counters, std::span<const FieldRange> seen,
                      std::vector<CheckpointTensor>& tensors);
    void require_same_training(const CheckpointFile& file) const;
    void read_ranges(const CheckpointFile& file, Restored& restored) const;
    void make_room_for(Restored& restored);
    void read_state(const CheckpointFile* file, KeptExchange* kept, Restored& restored);
    void take(Restored& restored);
    void require_keepable() const;
    int64_t n_kept_input() const;
    int64_t n_kept_number() const;
    void copy_sample(Reservoir::Slot& to);
    int64_t kept_revision() const;
    Source kept(int64_t place);

    Plan& plan_;
    std::shared_ptr<const Model> model_;
    std::shared_ptr<Context> shared_, data_parallel_;
    TrainingSettings settings_;
    Recipe recipe_;
    Group group_;
    std::optional<Optimizer> optimizer_;
    std::optional<GradientSums> sums_;
    std::unique_ptr<Loss> loss_;     ///< null: loss=custom
    PairLoss* pair_loss_ = nullptr;  ///< the same; null: another loss
    std::optional<LatticeLoss> lattice_;
    std::optional<SphereDerivatives> derivatives_;  ///< loss=l1_w11
    Noise noise_{0, 0};
    bool drops_ = false;  // training applies the card's rates of dropout
    // sample=cloud: rows of each cloud, set for a revision of the domain; of the last domain,
    // losses by cloud and means of the errors by output.
    std::vector<int64_t> cloud_begin_;
    int64_t clouds_revision_ = -1;
    std::vector<double> cloud_losses_, cloud_errors_;
    int64_t n_x_ = 0, n_y_ = 0;
    int64_t lattice_revision_ = -1;  // revision of the domain for which lattice_ was set up

    // (n_output), or one column: labels.
    std::vector<Column> targets_;                // no data: not bound
    std::vector<int64_t> target_rows_;           // -1: not bound
    kernels::Buffer<int64_t> labels_;            // (n_point); if has_labels()
    std::vector<Column> caller_gradients_;       // (n_output); loss=custom
    std::vector<int64_t> caller_gradient_rows_;  // (n_output), -1: not bound
    std::optional<SampleOutcome> evaluated_;     // of forward(), until backward(); loss=custom
    kernels::Buffer<double> prediction_, target_, gradient_;     // (n_output, n_point)
    std::vector<Column> prediction_columns_, gradient_columns_;  // of these
    int64_t n_room_ = -1;                                        // points they have room for
    kernels::Buffer<double> weights_;                            // (n_point)
    bool has_weights_ = false;
    Outside outside_;  // not read

    SeenRanges seen_;                 // inputs, then outputs
    std::vector<double> losses_;      // of the step under way, this group's
    std::vector<double> validation_;  // of the validation under way, this group's
    Plateau plateau_;
    kernels::Buffer<double> best_;  // an arena; empty: no validation has ended
    int64_t n_bad_ = 0;             // steps left out in a row
    Traffic step_, last_step_;

    Reservoir reservoir_;
    std::vector<Column> kept_inputs_, kept_targets_;
    std::string note_;
};

}  // namespace surrogate::impl
