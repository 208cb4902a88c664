// SPDX-License-Identifier: BSD-3-Clause
// What the doctor says of kernels and drivers that are made up.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "router/cli/commands_doctor_kernel.h"

namespace pktpit::router::cli {
namespace {

using offload::Severity;

KernelSupport kernel(const std::set<std::string>& missing, const std::set<std::string>& unknown = {}) {
    return kernel_support("6.1.0-56-amd64", [&](const KernelPart& part) -> ProbeResult {
        const std::string name(part.name);
        if (missing.contains(name)) return {Presence::missing};
        if (unknown.contains(name)) return {Presence::unknown, "this process has not CAP_BPF"};
        return {Presence::there};
    });
}

std::map<std::string, Severity> severities(const offload::Findings& findings) {
    std::map<std::string, Severity> found;
    for (const offload::Finding& finding : findings)
        found[finding.code] = finding.severity;
    return found;
}

TEST(DoctorOfTheKernel, FindsNothingWhereAllIsThere) {
    EXPECT_TRUE(kernel_findings(kernel({}), nullptr).empty());
}

TEST(DoctorOfTheKernel, BlocksForANeedHindersForALossAndNotesTheRest) {
    const auto found = kernel_findings(kernel({"xdp_frags", "redirect_targets", "stack_redirects"}), nullptr);
    EXPECT_EQ(severities(found), (std::map<std::string, Severity>{{"no_xdp_frags", Severity::blocker},
                                                                  {"redirects_unknown", Severity::hindrance},
                                                                  {"no_stack_redirects", Severity::note}}));
    EXPECT_EQ(found[0].what, "no XDP programs for frames in several buffers");
    EXPECT_EQ(found[0].expected, "Linux 5.18");
    EXPECT_EQ(found[0].remedy, "a newer kernel");
    EXPECT_EQ(found[0].where, "kernel");
}

TEST(DoctorOfTheKernel, AsksForModulesOnlyWhereTheyAreWanted) {
    const KernelSupport support = kernel({"vlan_devices", "vrf_devices"});
    EXPECT_TRUE(kernel_findings(support, nullptr).empty());
    config::Config config;
    EXPECT_TRUE(kernel_findings(support, &config).empty());
    config.vrfs["red"] = {};
    EXPECT_EQ(severities(kernel_findings(support, &config)),
              (std::map<std::string, Severity>{{"no_vrf_devices", Severity::hindrance}}));
}

TEST(DoctorOfTheKernel, SaysOnceWhatItMayNotAsk) {
    const auto found = kernel_findings(kernel({}, {"capabilities", "xdp_frags", "stack_redirects"}), nullptr);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].code, "kernel_unknown");
    EXPECT_EQ(found[0].severity, Severity::note);
    EXPECT_EQ(found[0].what, "not known: capabilities, xdp_frags (this process has not CAP_BPF)");
}

TEST(DoctorOfTheKernel, PrintsALineForEachPart) {
    std::ostringstream out;
    const Terminal terminal{.out = out, .err = out};
    const std::string text = kernel_text(kernel({"redirect_targets"}, {"jit"}), terminal);
    EXPECT_TRUE(text.starts_with("LINUX 6.1.0-56-amd64  HERE     SINCE  WHAT\n")) << text;
    EXPECT_NE(text.find("\nxdp_frags             yes      5.18   XDP programs"), std::string::npos) << text;
    EXPECT_NE(text.find("\nredirect_targets      no       6.3    "), std::string::npos) << text;
    EXPECT_NE(text.find("\njit                   unknown  -      "), std::string::npos) << text;
}

TEST(DoctorOfTheKernel, TellsProgramsTheSame) {
    const nlohmann::json answer = kernel_json(kernel({"stack_redirects"}, {"jit"}));
    EXPECT_EQ(answer["release"], "6.1.0-56-amd64");
    ASSERT_EQ(answer["parts"].size(), kernel_parts().size());
    std::map<std::string, nlohmann::json> parts;
    for (const nlohmann::json& part : answer["parts"])
        parts[part["name"]] = part;
    EXPECT_EQ(parts["xdp_frags"]["here"], true);
    EXPECT_EQ(parts["xdp_frags"]["needed"], true);
    EXPECT_EQ(parts["xdp_frags"]["since"], "5.18");
    EXPECT_EQ(parts["xdp_frags"]["instead"], nullptr);
    EXPECT_EQ(parts["stack_redirects"]["here"], false);
    EXPECT_EQ(parts["stack_redirects"]["needed"], false);
    EXPECT_EQ(parts["jit"]["here"], nullptr);
    EXPECT_EQ(parts["jit"]["since"], nullptr);
    EXPECT_EQ(parts["transmit_budget"]["for"], "split_ports");
}

TEST(DoctorOfDrivers, NamesThePortTheFaultAndItsSource) {
    const auto found =
        driver_findings("p1", {.driver = "ice", .version = "6.1.0", .release = "6.1.0", .splits = true});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].code, "driver_fault");
    EXPECT_EQ(found[0].where, "p1");
    EXPECT_EQ(found[0].severity, Severity::hindrance);
    EXPECT_NE(found[0].what.find("https://"), std::string::npos);
    EXPECT_FALSE(found[0].remedy.empty());
    const auto slow = driver_findings("p1", {.driver = "virtio_net", .version = "1.0.0", .release = "6.1.0"});
    ASSERT_EQ(slow.size(), 1U);
    EXPECT_EQ(slow[0].severity, Severity::note);
}

}  // namespace
}  // namespace pktpit::router::cli
