// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/headers.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "router/forward/bytes.h"
#include "tests/unit/forward/packets.h"
#include "tests/unit/forward/vectors.h"

namespace pktpit::router::test {
namespace {

TEST(Headers, OfEveryVectorAreThoseThatForwardHasRead) {
    for (const Vector& vector : all_vectors()) {
        SCOPED_TRACE(vector.name);
        const auto headers = headers_of(vector.in);
        if (vector.verdict != PP_FORWARDED) continue;
        const bool v4 = headers.contains("ipv4");
        ASSERT_TRUE(v4 || headers.contains("ipv6"));
        const auto destination = destination_of(vector.in);
        ASSERT_TRUE(destination);
        EXPECT_EQ(headers[v4 ? "ipv4" : "ipv6"]["dst"], destination->to_string());
        const auto out = headers_of(vector.out);
        const int before = v4 ? headers["ipv4"]["ttl"].get<int>() : headers["ipv6"]["hop_limit"].get<int>();
        const int after = v4 ? out["ipv4"]["ttl"].get<int>() : out["ipv6"]["hop_limit"].get<int>();
        EXPECT_EQ(after, before - 1);
    }
}

TEST(Headers, AnyLengthOfAnyFrameIsTaken) {
    for (const Vector& vector : all_vectors())
        for (size_t bytes = 0; bytes <= std::min<size_t>(vector.in.size(), 128); bytes++) {
            const Buffer begin(vector.in.begin(), vector.in.begin() + static_cast<std::ptrdiff_t>(bytes));
            const auto headers = headers_of(begin);
            EXPECT_EQ(headers.contains("ethernet"), bytes >= 14);
            (void)destination_of(begin);
        }
}

}  // namespace
}  // namespace pktpit::router::test
