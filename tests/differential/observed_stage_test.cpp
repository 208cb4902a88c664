// SPDX-License-Identifier: BSD-3-Clause
// The observed port stage does what the plain one does, and writes down what it did.
#include "router/observe/observation.h"
#include "tests/differential/router_stage.h"

namespace pktpit::test {
namespace {

namespace forward = router::test;

class ObservedStage : public RouterStage {
  protected:
    void prepare() override { load(test_ingress, {.observed = true}); }
    /// One record, and what is in it.
    void expect_written_down(const Outcome& outcome, uint16_t port, const Bytes& in) {
        ASSERT_EQ(outcome.observations.size(), 1u);
        const auto seen = router::parse_observation(outcome.observations[0]);
        ASSERT_TRUE(seen);
        EXPECT_EQ(seen->verdict, outcome.verdict);
        EXPECT_EQ(seen->port, port);
        EXPECT_FALSE(seen->by_worker);
        EXPECT_GE(seen->end, seen->start);
        EXPECT_EQ(seen->frame_length, in.size());
        EXPECT_EQ(seen->end_length, outcome.frame.size());
        // Of a trailer that did not leave, what the slice has.
        const size_t known = std::max<size_t>(in.size() - seen->trailer, seen->slice.size());
        EXPECT_EQ(seen->ingress(SIZE_MAX), Bytes(in.begin(), in.begin() + static_cast<long>(known)));
        EXPECT_EQ(Bytes(seen->frame.begin(), seen->frame.end()), outcome.frame);
    }
};

TEST_F(ObservedStage, EveryVectorGetsItsVerdictItsBytesAndItsRecord) {
    for (const forward::Vector& vector : forward::all_vectors()) {
        SCOPED_TRACE(vector.name);
        expect_written_down(expect_vector(vector), vector.port, vector.in);
    }
}

TEST_F(ObservedStage, FramesInFragmentsAreWrittenDownWhole) {
    set_mtu(65535);
    for (const size_t payload : {3400, 4000, 9000, 40000, 60000})
        for (const char* destination : {"10.1.0.9", "10.3.0.9"}) {  // as it is, and with tags
            const Bytes in = packet(destination, payload);
            const Outcome outcome = stage->run(1, in);
            EXPECT_EQ(outcome.verdict, PP_FORWARDED) << payload << " bytes to " << destination;
            expect_written_down(outcome, 1, in);
        }
}

}  // namespace
}  // namespace pktpit::test
