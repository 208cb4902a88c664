// SPDX-License-Identifier: BSD-3-Clause
// What is said of a kernel, of kernels that are made up; and what this one answers.
#include "router/xdp/kernel_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace pktpit::router {
namespace {

/// All is there but `missing`; none of `unknown` can be asked.
KernelSupport kernel(const std::string& release, const std::set<std::string>& missing,
                     const std::set<std::string>& unknown = {}) {
    return kernel_support(release, [&](const KernelPart& part) -> ProbeResult {
        const std::string name(part.name);
        if (missing.contains(name)) return {Presence::missing, "Invalid argument"};
        if (unknown.contains(name)) return {Presence::unknown, "this process has not CAP_BPF"};
        return {Presence::there};
    });
}

std::set<std::string> names(const std::vector<KernelSupport::Part>& parts) {
    std::set<std::string> found;
    for (const auto& [part, result] : parts)
        found.emplace(part->name);
    return found;
}

TEST(KernelParts, HaveNamesOfTheirOwnAndSayWhatHappensWithout) {
    std::set<std::string_view> seen;
    for (const KernelPart& part : kernel_parts()) {
        EXPECT_TRUE(seen.insert(part.name).second) << part.name;
        EXPECT_FALSE(part.what.empty()) << part.name;
        EXPECT_EQ(part.instead.empty(), part.kind == PartKind::need) << part.name;
        EXPECT_TRUE(part.kind == PartKind::fallback || !part.remedy.empty()) << part.name;
        ASSERT_NE(part.probe, nullptr) << part.name;
    }
    EXPECT_TRUE(std::ranges::is_sorted(kernel_parts(), {}, &KernelPart::kind)) << "needs first";
}

TEST(KernelParts, NameVersionsThatAreOnes) {
    for (const KernelPart& part : kernel_parts())
        if (!part.since.empty()) {
            EXPECT_NE(kernel_version(part.since), KernelVersion{}) << part.name;
        }
}

TEST(MissingNeeds, AreNamedWithTheirVersionAndNothingElseIs) {
    EXPECT_EQ(missing_needs(kernel("6.1.0", {"redirect_targets", "vlan_tags", "stack_redirects"})), "");
    EXPECT_EQ(missing_needs(kernel("5.10.0-30-amd64", {"xdp_frags", "xdp_load_bytes", "vlan_tags"})),
              "Linux 5.10.0-30-amd64 lacks XDP programs for frames in several buffers (since 5.18), "
              "bpf_xdp_load_bytes() (since 5.18)");
    EXPECT_EQ(missing_needs(kernel("6.1.0", {"bpffs"})),
              "Linux 6.1.0 lacks a BPF file system at /sys/fs/bpf");
}

TEST(MissingNeeds, OfRightsAreTheProcesss) {
    EXPECT_EQ(missing_needs(kernel("6.1.0", {}, {"capabilities", "bpf", "xdp_frags"})),
              "this process has not CAP_BPF");
    EXPECT_EQ(missing_needs(kernel("6.1.0", {"bpffs"}, {"capabilities"})),
              "Linux 6.1.0 lacks a BPF file system at /sys/fs/bpf; this process has not CAP_BPF");
}

TEST(Fallbacks, AreTheMissingPartsThatTheConfigurationAsksFor) {
    const KernelSupport support = kernel(
        "6.1.0", {"redirect_targets", "transmit_budget", "locked_memory", "vlan_devices", "vrf_devices"},
        {"jit"});
    config::Config config;
    config.interfaces["p1"].name = "p1";
    EXPECT_EQ(names(fallbacks_of(support, config)), std::set<std::string>{"redirect_targets"});
    config.interfaces["p1"].forwarding = config::Forwarding::automatic;
    EXPECT_EQ(names(fallbacks_of(support, config)),
              (std::set<std::string>{"redirect_targets", "transmit_budget", "locked_memory"}));
    config.interfaces["p1"].forwarding = config::Forwarding::inline_;
    config.interfaces["two"].parent = "p1";
    config.interfaces["two"].vlan = {5, 6};
    EXPECT_EQ(names(fallbacks_of(support, config)), std::set<std::string>{"redirect_targets"})
        << "Linux has no device for two tags";
    config.interfaces["one"].parent = "p1";
    config.interfaces["one"].vlan = {5};
    config.vrfs["red"] = {};
    EXPECT_EQ(names(fallbacks_of(support, config)),
              (std::set<std::string>{"redirect_targets", "vlan_devices", "vrf_devices"}));
}

TEST(Fallbacks, HaveALineThatSaysWhatHappens) {
    const KernelSupport support = kernel("6.1.0", {"stack_redirects", "jit"});
    std::vector<std::string> lines;
    for (const auto& [part, result] : fallbacks_of(support, {}))
        lines.push_back(missing_line(support, *part));
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0],
              "Linux 6.1.0 has no BPF compiler in use (CONFIG_BPF_JIT): port stages are "
              "interpreted, several times slower");
    EXPECT_TRUE(lines[1].starts_with("Linux 6.1.0 has no tcx hook (since 6.6): the daemon")) << lines[1];
}

TEST(KernelVersions, AreTheFirstTwoNumbers) {
    EXPECT_EQ(kernel_version("6.1.0-56-amd64"), (KernelVersion{6, 1}));
    EXPECT_EQ(kernel_version("7.3.4+deb13-amd64"), (KernelVersion{7, 3}));
    EXPECT_EQ(kernel_version("5.18"), (KernelVersion{5, 18}));
    EXPECT_EQ(kernel_version(""), KernelVersion{});
    EXPECT_EQ(kernel_version("6"), KernelVersion{});
    EXPECT_EQ(kernel_version("6.x"), KernelVersion{});
    EXPECT_LT(kernel_version("6.9"), kernel_version("6.12"));
}

// Whoever runs this, as root or not: what was found does not contradict itself.
TEST(ThisKernel, AnswersEachProbe) {
    const KernelSupport support = kernel_support();
    ASSERT_EQ(support.parts.size(), kernel_parts().size());
    EXPECT_FALSE(support.release.empty());
    for (const auto& [part, result] : support.parts)
        if (result.presence == Presence::unknown) {
            EXPECT_FALSE(result.detail.empty()) << part->name;
        }
    for (const auto& [part, result] : kernel_support(PartKind::fallback).parts)
        if (part->kind == PartKind::need) {
            EXPECT_EQ(result.presence, Presence::unknown) << part->name << " was not asked for";
        }
}

}  // namespace
}  // namespace pktpit::router
