// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace pktpit::bench::report {
namespace {

struct Rule {
    const char* function;  ///< a part of its name
    const char* step;
};

// The first rule that any function of the stack answers to, from the kernel's depths outwards to the loop.
constexpr Rule rules[] = {
    {"net_rx_action", "softirqs meanwhile: the sink's receiving, and what came in"},
    {"xsk_destruct_skb", "kernel: completion of a frame"},
    {"veth_xmit", "kernel: handing the frame to the device"},
    {"sock_alloc_send", "kernel: an skb for the frame"},
    {"xsk_build_skb", "kernel: copying the frame"},
    {"__dev_direct_xmit", "kernel: handing the frame to the device"},
    {"xsk_sendmsg", "kernel: the rest of a doorbell"},
    {"sys_sendto", "kernel: the rest of a doorbell"},
    {"sys_recvfrom", "kernel: waking the fill ring"},
    {"sys_poll", "kernel: waking the fill ring"},
    {"epoll", "sleeping and waking"},
    {"SocketIo::receive", "receive: descriptors, fill ring"},
    {"SocketIo::fill", "receive: descriptors, fill ring"},
    {"SocketIo::submit", "submit: egress descriptors"},
    {"SocketIo::transmit", "submit: egress descriptors"},
    {"SocketIo::kick", "submit: egress descriptors"},
    {"SocketIo::complete", "completions: slots come back"},
    {"forward", "parse, look up, decide"},
    {"lookup", "parse, look up, decide"},
    {"ControlLoop", "rewrite, count, gather"},
    {"fib_main_loop", "l3fwd: parse, look up, rewrite"},
    {"lpm_main_loop", "l3fwd: parse, look up, rewrite"},
    {"Worker::", "the worker's own loop"},
    {"entry_SYSCALL", "kernel: entering and leaving"},
};

const char* step_of(const std::vector<std::string>& stack) {
    for (const Rule& rule : rules)
        for (const std::string& function : stack)
            if (function.find(rule.function) != std::string::npos) return rule.step;
    return "elsewhere";
}

}  // namespace

Profile sort_stacks(const std::string& text) {
    Profile profile;
    std::map<std::string, std::map<std::string, size_t>> counts;
    std::vector<std::string> stack;
    const auto finish = [&] {
        if (stack.empty()) return;
        counts[step_of(stack)][stack.front()]++;
        profile.samples++;
        stack.clear();
    };
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const size_t address = line.find_first_not_of(" \t");
        const size_t name = address == std::string::npos ? address : line.find(' ', address);
        if (name == std::string::npos)
            finish();
        else
            stack.push_back(line.substr(name + 1));
    }
    finish();
    for (const auto& [step, functions] : counts) {
        ProfileStep out{step, 0, {}};
        for (const auto& [function, count] : functions) {
            const double share = static_cast<double>(count) / static_cast<double>(profile.samples);
            out.share += share;
            out.functions.emplace_back(function, share);
        }
        std::sort(out.functions.begin(), out.functions.end(),
                  [](const auto& a, const auto& b) { return a.second > b.second; });
        profile.steps.push_back(std::move(out));
    }
    std::sort(profile.steps.begin(), profile.steps.end(),
              [](const ProfileStep& a, const ProfileStep& b) { return a.share > b.share; });
    return profile;
}

void print_profile(FILE* out, const Profile& profile) {
    fmt::print(out, "\nprofile of {}, {}; {} samples of its threads that forward\n", profile.forwarder,
               profile.conditions, profile.samples);
    for (const ProfileStep& step : profile.steps) {
        fmt::print(out, "{:6.1f} %  {}\n", step.share * 100, step.name);
        for (size_t i = 0; i < std::min<size_t>(step.functions.size(), 5); i++)
            if (step.functions[i].second >= 0.005)
                fmt::print(out, "            {:5.1f} %  {}\n", step.functions[i].second * 100,
                           step.functions[i].first);
    }
}

}  // namespace pktpit::bench::report
