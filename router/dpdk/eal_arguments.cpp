// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/eal_arguments.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace pktpit::router {
namespace {

size_t number_in(const std::filesystem::path& file) {
    size_t value = 0;
    std::ifstream(file) >> value;
    return value;
}

}  // namespace

std::vector<std::string> eal_arguments(const EalPlan& plan) {
    std::vector<std::string> words{"pktpitd", "--no-telemetry", "--file-prefix=" + plan.prefix, "-l",
                                   std::to_string(plan.cpu),
                                   // With a list of allowed devices EAL takes no other by itself. This one is
                                   // the root of the bus, which no driver wants; ports are opened one by one.
                                   "-a", "0000:00:00.0"};
    if (plan.hugepages) {
        words.emplace_back("--in-memory");
    } else {  // which --in-memory refuses
        words.insert(words.end(),
                     {"--no-huge", "--no-shconf", "-m", std::to_string((plan.memory >> 20) + 1)});
    }
    words.insert(words.end(), plan.options.begin(), plan.options.end());
    return words;
}

size_t free_hugepage_bytes(const std::string& sysfs) {
    constexpr std::string_view prefix = "hugepages-";
    std::error_code error;
    size_t bytes = 0;
    for (const auto& size : std::filesystem::directory_iterator(sysfs + "/kernel/mm/hugepages", error)) {
        const std::string name = size.path().filename();  // "hugepages-2048kB"
        size_t kib = 0;
        if (!name.starts_with(prefix)) continue;
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), kib);
        const size_t free = number_in(size.path() / "free_hugepages");
        const size_t reserved = number_in(size.path() / "resv_hugepages");
        bytes += (free - std::min(free, reserved)) * (kib << 10);
    }
    return bytes;
}

}  // namespace pktpit::router
