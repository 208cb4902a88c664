// SPDX-License-Identifier: BSD-3-Clause
/// A profile of the model with some constants changed, for tests.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "offload/model/profile.h"

namespace pktpit::model {

using Constants = std::vector<std::pair<const char*, double>>;

inline Profile with(const char* name, const Constants& constants) {
    Profile profile = *Profile::open(name);
    for (const auto& [constant, value] : constants)
        EXPECT_TRUE(profile.set(constant, value, "test")) << constant;
    return profile;
}

}  // namespace pktpit::model
