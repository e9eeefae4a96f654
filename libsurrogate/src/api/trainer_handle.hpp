// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/train/trainer.hpp"
#include "surrogate/surrogate_train.h"

/// Objects behind the opaque handles of training.

struct surrogate_trainer_options {
    surrogate::impl::TrainingSettings settings;
};

struct surrogate_trainer {
    surrogate_context owner;  ///< of the ranks that train together
    std::optional<surrogate::impl::Trainer> trainer;
    std::shared_ptr<std::atomic_flag> is_in_use;  ///< flag of the plan
};
