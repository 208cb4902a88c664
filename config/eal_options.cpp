// SPDX-License-Identifier: BSD-3-Clause
#include "config/eal_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json/nearest.h"
#include "base/json/pointer.h"

namespace pktpit::config {
namespace {

enum class Value : uint8_t { none, optional, required };

struct EalOption {
    std::string_view name;
    Value value;
    std::string_view instead = {};  ///< not empty: Pktpit sets it itself, by what
};

constexpr std::string_view cores = "the daemon's own threads do the work";
constexpr std::string_view devices = "a port's is /interfaces/NAME/device, others are in /dpdk/devices";
constexpr std::string_view memory = "/dpdk/memory says where memory comes from, /dpdk/mbufs how much";
constexpr std::string_view names = "the daemon names its files after /instance, and leaves none";
constexpr std::string_view log = "what DPDK says is in the daemon's log";
constexpr std::string_view telemetry = "`pktpit show` tells what it would";
constexpr std::string_view usage = "`dpdk-testpmd --help` shows it";

constexpr std::array known{
    EalOption{"-c", Value::required, cores},
    EalOption{"-l", Value::required, cores},
    EalOption{"--lcores", Value::required, cores},
    EalOption{"-s", Value::required, cores},
    EalOption{"-S", Value::required, cores},
    EalOption{"--main-lcore", Value::required, cores},
    EalOption{"-a", Value::required, devices},
    EalOption{"--allow", Value::required, devices},
    EalOption{"-b", Value::required, devices},
    EalOption{"--block", Value::required, devices},
    EalOption{"--vdev", Value::required, devices},
    EalOption{"--no-pci", Value::none, devices},
    EalOption{"-m", Value::required, memory},
    EalOption{"--in-memory", Value::none, memory},
    EalOption{"--no-huge", Value::none, memory},
    EalOption{"--no-shconf", Value::none, memory},
    EalOption{"--legacy-mem", Value::none, memory},
    EalOption{"--huge-dir", Value::required, memory},
    EalOption{"--huge-unlink", Value::optional, memory},
    EalOption{"--file-prefix", Value::required, names},
    EalOption{"--proc-type", Value::required, names},
    EalOption{"--syslog", Value::required, log},
    EalOption{"--telemetry", Value::none, telemetry},
    EalOption{"--no-telemetry", Value::none, telemetry},
    EalOption{"-h", Value::none, usage},
    EalOption{"--help", Value::none, usage},
    EalOption{"-v", Value::none, usage},
    EalOption{"-d", Value::required},
    EalOption{"-n", Value::required},
    EalOption{"-r", Value::required},
    EalOption{"--base-virtaddr", Value::required},
    EalOption{"--create-uio-dev", Value::none},
    EalOption{"--force-max-simd-bitwidth", Value::required},
    EalOption{"--huge-worker-stack", Value::optional},
    EalOption{"--iova-mode", Value::required},
    EalOption{"--log-level", Value::required},
    EalOption{"--match-allocations", Value::none},
    EalOption{"--mbuf-pool-ops-name", Value::required},
    EalOption{"--no-hpet", Value::none},
    EalOption{"--single-file-segments", Value::none},
    EalOption{"--socket-limit", Value::required},
    EalOption{"--socket-mem", Value::required},
    EalOption{"--trace", Value::required},
    EalOption{"--trace-bufsz", Value::required},
    EalOption{"--trace-dir", Value::required},
    EalOption{"--trace-mode", Value::required},
    EalOption{"--vfio-intr", Value::required},
    EalOption{"--vfio-vf-token", Value::required},
    EalOption{"--vmware-tsc-map", Value::none},
};

/// What of an entry is the option's name, "-n" of "-n4" and "--trace" of "--trace=x".
std::string_view name_in(std::string_view entry) {
    return entry.starts_with("--") ? entry.substr(0, entry.find('=')) : entry.substr(0, 2);
}

std::string unknown_hint(std::string_view name) {
    std::vector<std::string> ours;
    for (const EalOption& option : known)
        if (option.instead.empty()) ours.emplace_back(option.name);
    return did_you_mean(name, ours);
}

}  // namespace

void check_eal_options(const std::vector<std::string>& options, const std::string& where, Errors& errors) {
    for (size_t i = 0; i < options.size(); i++) {
        const std::string& entry = options[i];
        const std::string place = at(where, i);
        const std::string_view name = name_in(entry);
        const auto* option = std::ranges::find(known, name, &EalOption::name);
        if (!entry.starts_with('-') || entry == "--" || option == known.end()) {
            errors.push_back({place, in_quotes(entry) + " is no option of DPDK's EAL",
                              "one that DPDK 22.11 has", unknown_hint(name)});
            continue;
        }
        const bool has_value = entry.size() > name.size();
        const bool takes_next = option->value == Value::required && !has_value && i + 1 < options.size();
        if (!option->instead.empty())
            errors.push_back({place, in_quotes(name) + " is set by Pktpit itself",
                              "options that Pktpit leaves alone", std::string(option->instead)});
        else if (option->value == Value::required && !has_value && !takes_next)
            errors.push_back({place, in_quotes(entry) + " is without its value",
                              in_quotes(entry + (entry.starts_with("--") ? "=…" : " …")), ""});
        else if (option->value == Value::none && has_value)
            errors.push_back({place, in_quotes(name) + " takes no value", in_quotes(name), ""});
        i += takes_next ? 1 : 0;
    }
}

}  // namespace pktpit::config
