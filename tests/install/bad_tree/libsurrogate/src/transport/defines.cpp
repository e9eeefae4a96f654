// SPDX-License-Identifier: Apache-2.0
#include <memory>

struct Api {};

std::unique_ptr<int> make_number(const Api&) {
    return nullptr;
}
