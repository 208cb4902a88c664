// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "offload/pci/snapshot.h"

namespace pktpit::offload {
namespace {

namespace fs = std::filesystem;

constexpr size_t longest_attribute = 8192;  // resource: 17 lines of 57 characters at most

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes(longest_attribute, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return bytes;
}

void read_text(SnapshotFunction& function, const fs::path& folder, const std::string& name) {
    std::string text = read_file(folder / name);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.pop_back();
    if (!text.empty()) function.attributes[name] = std::move(text);
}

void read_link(SnapshotFunction& function, const fs::path& folder, const std::string& name) {
    std::error_code failed;
    const fs::path target = fs::read_symlink(folder / name, failed);
    if (!failed) function.attributes[name] = target.filename().string();
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        names.push_back(entry->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

SnapshotFunction read_function(const fs::path& folder, std::string path) {
    SnapshotFunction function{std::move(path), read_file(folder / "config"), {}};
    for (const char* name : {"vendor", "device", "class", "resource", "numa_node", "enable",
                             "current_link_speed", "current_link_width", "max_link_speed", "max_link_width",
                             "iommu_group/type", "p2pmem/size", "p2pmem/available", "p2pmem/published"})
        read_text(function, folder, name);
    for (const char* name : {"driver", "iommu_group", "physfn"})
        read_link(function, folder, name);
    std::string interfaces;
    for (const std::string& name : names_in(folder / "net"))
        interfaces.append(interfaces.empty() ? "" : " ").append(name);
    if (!interfaces.empty()) function.attributes["net"] = interfaces;
    return function;
}

}  // namespace

Result<PciSnapshot> read_snapshot(const std::string& sysfs) {
    std::error_code failed;
    if (!fs::is_directory(sysfs, failed))
        return fail(sysfs, "is no directory", "where sysfs is mounted", "mount -t sysfs sysfs /sys");
    const fs::path folder = fs::path(sysfs) / "bus/pci/devices";
    PciSnapshot snapshot;
    for (const std::string& name : names_in(folder)) {
        // "../../../devices/pci0000:00/0000:00:01.0": where a function hangs is where its link points.
        const std::string target = fs::read_symlink(folder / name, failed).generic_string();
        const size_t root = failed ? std::string::npos : target.find("devices/");
        if (root == std::string::npos) continue;
        SnapshotFunction function = read_function(folder / name, target.substr(root + 8));
        if (!function.config.empty()) snapshot.functions.push_back(std::move(function));
    }
    return snapshot;
}

}  // namespace pktpit::offload
