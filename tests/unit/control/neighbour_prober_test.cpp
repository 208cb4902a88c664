// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/neighbour_prober.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/control/fake_host.h"
#include "tests/unit/control/fake_loop.h"

namespace pktpit::router {
namespace {

using testing::ElementsAre;

class AskedKernel : public fake::HostKernel {
  public:
    using fake::HostKernel::HostKernel;
    Result<void> probe_neighbour(uint32_t, const IpAddress& address) override {
        asked.push_back(address.to_string());
        return {};
    }
    Result<void> remove_neighbour(uint32_t, const IpAddress& address) override {
        asked.push_back("not " + address.to_string());
        return {};
    }
    std::vector<std::string> asked;
};

class NeighbourProberTest : public testing::Test {
  protected:
    void probe(const std::string& address) const { prober->probe(7, IpAddress::parse(address).value()); }

    void withdraw(const std::string& address) const {
        prober->withdraw(7, IpAddress::parse(address).value());
    }

    fake::Faults faults;
    fake::Host host{faults};
    AskedKernel kernel{host, {}};
    fake::PatientLoop loop;
    std::unique_ptr<NeighbourProber> prober = std::make_unique<NeighbourProber>(kernel, loop);
};

TEST_F(NeighbourProberTest, asks_aside_and_once_what_is_asked_for_meanwhile) {
    probe("192.0.2.1");
    EXPECT_THAT(kernel.asked, testing::IsEmpty());
    for (unsigned i = 0; i < 3; i++) {
        probe("192.0.2.2");
        probe("192.0.2.3");
    }
    EXPECT_EQ(loop.waiting(), 1U);
    loop.work();
    EXPECT_THAT(kernel.asked, ElementsAre("192.0.2.1"));
    loop.tell();
    loop.work();
    EXPECT_THAT(kernel.asked, ElementsAre("192.0.2.1", "192.0.2.2", "192.0.2.3"));
    loop.tell();
    probe("192.0.2.2");
    loop.work();
    EXPECT_EQ(kernel.asked.size(), 4U);
}

TEST_F(NeighbourProberTest, withdraws_first_and_does_what_was_said_last) {
    probe("192.0.2.1");
    probe("192.0.2.2");
    probe("192.0.2.3");
    withdraw("192.0.2.3");
    withdraw("192.0.2.4");
    withdraw("192.0.2.5");
    probe("192.0.2.5");
    loop.work();
    loop.tell();
    loop.work();
    EXPECT_THAT(kernel.asked,
                ElementsAre("192.0.2.1", "not 192.0.2.3", "not 192.0.2.4", "192.0.2.2", "192.0.2.5"));
    loop.tell();
    withdraw("192.0.2.2");
    loop.work();
    EXPECT_EQ(kernel.asked.back(), "not 192.0.2.2");
}

TEST_F(NeighbourProberTest, holds_so_many_and_no_more) {
    probe("192.0.2.1");
    for (unsigned i = 0; i < 2 * NeighbourProber::most; i++)
        probe("10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256));
    loop.work();
    loop.tell();
    loop.work();
    EXPECT_EQ(kernel.asked.size(), 1 + NeighbourProber::most);
}

TEST_F(NeighbourProberTest, an_answer_may_come_when_it_has_gone) {
    probe("192.0.2.1");
    probe("192.0.2.2");
    prober.reset();
    loop.work();
    loop.tell();
    EXPECT_EQ(loop.waiting(), 0U);
}

}  // namespace
}  // namespace pktpit::router
