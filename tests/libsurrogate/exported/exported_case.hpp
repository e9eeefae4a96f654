// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/support/model_writer.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {

/// A model file of family torch and its package, in a folder of all ranks.
class ExportedCase {
public:
    /// package: bytes of the package. changes: of network.
    explicit ExportedCase(const std::string& package, const nlohmann::json& changes = {}) {
        ModelWriter writer;
        writer.card = {{"format", 1}, {"family", "torch"}};
        nlohmann::json& network = writer.card["network"];
        network = {{"package", "net.pt2"},
                   {"package_checksum", checksum_text(package)},
                   {"per", "point"},
                   {"in_dim", 2},
                   {"out_dim", 2}};
        if (!changes.is_null()) network.update(changes);
        writer.card["inputs"] = {{{"name", "x"},
                                  {"role", "coordinate"},
                                  {"axis", 0},
                                  {"unit", "m"},
                                  {"mean", 0.0},
                                  {"std", 1.0}},
                                 {{"name", "k"}, {"unit", "1"}, {"mean", 1.0}, {"std", 2.0}}};
        writer.card["outputs"] = {{{"name", "u"}, {"unit", "1"}, {"mean", 10.0}, {"std", 2.0}},
                                  {{"name", "n"}, {"unit", "1"}, {"mean", 0.0}, {"std", 1.0}}};
        if (rank_of(world) == 0) {
            write_bytes(path(), writer.bytes());
            write_bytes(folder_ / "net.pt2", package);
        }
        MPI_Barrier(world);
    }
    std::string path() const { return folder_ / "model.safetensors"; }
    const SharedFolder& folder() const { return folder_; }

private:
    SharedFolder folder_{world};
};

}  // namespace surrogate::test
