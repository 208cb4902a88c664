// SPDX-License-Identifier: BSD-3-Clause
/// A sysfs directory with PCI devices whose BARs are ordinary files, for code that takes memory through
/// `resourceN`. Gone with its owner.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "offload/pci/tree.h"

namespace pktpit::offload::test {

class FakeSysfs {
  public:
    struct Bar {
        unsigned index = 0;
        uint64_t start = 0;
        uint64_t bytes = 0;
        bool memory = true;
    };
    FakeSysfs() {
        std::string name = (std::filesystem::temp_directory_path() / "pktpit-sysfs-XXXXXX").string();
        if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
        path_ = name;
        std::filesystem::create_directories(path_ / "bus/pci/devices");
        std::filesystem::create_directories(path_ / "bus/pci/drivers");
        write(path_ / "bus/pci/drivers_probe", "");
    }
    ~FakeSysfs() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    FakeSysfs(const FakeSysfs&) = delete;
    FakeSysfs& operator=(const FakeSysfs&) = delete;

    /// A device on the root bus. Its BARs are files full of zeros.
    void add(const std::string& address, const std::string& class_code, const std::vector<Bar>& bars) {
        const auto real = path_ / "devices/pci0000:00" / address;
        std::filesystem::create_directories(real);
        std::filesystem::create_symlink(std::filesystem::path("../../../devices/pci0000:00") / address,
                                        device(address));
        write(real / "config", std::string(4096, '\0'));
        write(real / "vendor", "0x1af4\n");
        write(real / "device", "0x1110\n");
        write(real / "class", class_code + "\n");
        write(real / "enable", "0\n");
        write(real / "driver_override", "(null)\n");
        std::string resources;
        for (unsigned index = 0; index < 6; index++) {
            Bar bar{};
            for (const Bar& given : bars)
                if (given.index == index) bar = given;
            char line[80];
            std::snprintf(line, sizeof line, "0x%016llx 0x%016llx 0x%016llx\n",
                          static_cast<unsigned long long>(bar.start),
                          static_cast<unsigned long long>(bar.bytes ? bar.start + bar.bytes - 1 : 0),
                          bar.bytes == 0 ? 0ULL
                          : bar.memory   ? 0x14220cULL
                                         : 0x40101ULL);
            resources += line;
            if (bar.bytes == 0) continue;
            const auto file = real / ("resource" + std::to_string(index));
            write(file, "");
            std::filesystem::resize_file(file, bar.bytes);
        }
        write(real / "resource", resources);
    }
    void bind(const std::string& address, const std::string& driver) {
        std::filesystem::create_directories(path_ / "bus/pci/drivers" / driver);
        std::filesystem::create_directory_symlink(path_ / "bus/pci/drivers" / driver,
                                                  device(address) / "driver");
    }

    [[nodiscard]] std::string root() const { return path_.string(); }
    [[nodiscard]] std::filesystem::path device(const std::string& address) const {
        return path_ / "bus/pci/devices" / address;
    }
    [[nodiscard]] std::string attribute(const std::string& address, const std::string& name) const {
        return read(device(address) / name);
    }
    void set(const std::string& address, const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((device(address) / name).parent_path());
        write(device(address) / name, text);
    }
    /// Little-endian, into a BAR.
    void poke(const std::string& address, unsigned bar, uint64_t offset, uint64_t value,
              unsigned width) const {
        std::fstream file(device(address) / ("resource" + std::to_string(bar)),
                          std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(offset));
        for (unsigned i = 0; i < width; i++)
            file.put(static_cast<char>(value >> 8 * i));
    }
    [[nodiscard]] uint64_t peek(const std::string& address, unsigned bar, uint64_t offset) const {
        const std::string bytes = read(device(address) / ("resource" + std::to_string(bar)));
        uint64_t value = 0;
        for (unsigned i = 8; i-- > 0;)
            value = value << 8 | static_cast<uint8_t>(bytes.at(offset + i));
        return value;
    }
    [[nodiscard]] PciTree tree() const { return PciTree::live(root()).value(); }

    static std::string read(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static void write(const std::filesystem::path& path, const std::string& text) {
        std::ofstream(path, std::ios::binary) << text;
    }

  private:
    std::filesystem::path path_;
};

}  // namespace pktpit::offload::test
