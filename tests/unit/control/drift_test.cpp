// SPDX-License-Identifier: BSD-3-Clause
// What somebody else changes is noticed without the daemon's thread waiting for the kernel.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "tests/unit/control/control_rig.h"

namespace pktpit::router {
namespace {

/// Counts the questions that wait for the kernel's networking lock.
class CountingHost : public fake::Host {
  public:
    using fake::Host::Host;
    std::optional<bool> receive_vlan_offload(const std::string& name) override {
        ++questions;
        return fake::Host::receive_vlan_offload(name);
    }
    unsigned questions = 0;
};

class Drift : public testing::Test, protected fake::ControlRig<CountingHost, fake::PatientLoop> {
  protected:
    Drift() : ControlRig("drift", {"eth0"}) {
        before_ = spdlog::default_logger();
        auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(log_, true);
        spdlog::set_default_logger(std::make_shared<spdlog::logger>("drift", std::move(sink)));
        config::Interface port;
        port.name = "eth0";
        config.interfaces["eth0"] = port;
    }
    ~Drift() override {
        control.reset();
        spdlog::set_default_logger(before_);
    }
    void start() {
        ASSERT_TRUE(control->read_kernel());
        ASSERT_TRUE(control->apply(config, true));
        look();
        host.questions = 0;
        log_.str("");
    }
    void pass_seconds(unsigned seconds) {
        for (unsigned tick = 0; tick < 10 * seconds; ++tick)
            control->tick();
    }
    void look() {
        pass_seconds(2);
        loop.work();
        loop.tell();
    }
    [[nodiscard]] bool told(const std::string& text) const {
        return log_.str().find(text) != std::string::npos;
    }

    config::Config config;

  private:
    std::ostringstream log_;
    std::shared_ptr<spdlog::logger> before_;
};

TEST_F(Drift, the_kernel_is_asked_aside_and_here_only_where_something_has_changed) {
    start();
    pass_seconds(2);
    EXPECT_EQ(host.questions, 0U) << "the daemon's thread has asked";
    EXPECT_EQ(loop.waiting(), 1U);
    loop.work();
    const unsigned aside = host.questions;
    EXPECT_GT(aside, 0U);
    loop.tell();
    EXPECT_EQ(host.questions, aside) << "asked again though nothing has changed";
    EXPECT_FALSE(told("somebody else"));

    host.device("eth0")->receive_vlan_offload = true;
    look();
    EXPECT_TRUE(told("eth0: receive VLAN offload off: on; somebody else has changed it"));
}

TEST_F(Drift, one_question_at_a_time_however_long_the_kernel_takes) {
    start();
    pass_seconds(20);
    EXPECT_EQ(loop.waiting(), 1U);
    loop.work();
    loop.tell();
    pass_seconds(2);
    EXPECT_EQ(loop.waiting(), 1U) << "not asked any more";
}

TEST_F(Drift, what_a_reload_has_put_right_is_told_as_right) {
    start();
    host.device("eth0")->receive_vlan_offload = true;
    look();
    ASSERT_TRUE(control->apply(config, false));
    look();
    EXPECT_TRUE(told("eth0: receive VLAN offload off is right again"));
    host.device("eth0")->receive_vlan_offload = true;
    look();
    EXPECT_EQ(control->find_drift().size(), 1U);
}

// As when the daemon has ended while the kernel took its time.
TEST_F(Drift, an_answer_that_comes_after_the_end_is_nobodys) {
    start();
    pass_seconds(2);
    loop.work();
    control.reset();
    loop.tell();
}

}  // namespace
}  // namespace pktpit::router
