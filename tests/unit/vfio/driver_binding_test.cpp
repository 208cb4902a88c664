// SPDX-License-Identifier: BSD-3-Clause
#include "offload/vfio/driver_binding.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/fd.h"
#include "tests/unit/memory/fake_sysfs.h"
#include "tests/until.h"

namespace pktpit::offload {
namespace {

namespace fs = std::filesystem;

const std::string address = "0000:03:00.0";

class DriverBindings : public testing::Test {
  protected:
    DriverBindings() { sysfs.add(address, "0x020000", {{0, 0xfe000000, 4096}}); }
    Result<DriverBinding> bind() const {
        const PciTree tree = sysfs.tree();
        return DriverBinding::to_vfio(*tree.find(PciAddress::parse(address).value()), sysfs.root());
    }
    void vfio_is_there() const {
        fs::create_directories(fs::path(sysfs.root()) / "bus/pci/drivers/vfio-pci");
    }
    [[nodiscard]] std::string driver_override() const { return sysfs.attribute(address, "driver_override"); }
    [[nodiscard]] std::string driver() const {
        std::error_code none;
        return fs::read_symlink(sysfs.device(address) / "driver", none).filename().string();
    }
    [[nodiscard]] std::string bus(const std::string& name) const { return sysfs.root() + "/bus/pci/" + name; }

    test::FakeSysfs sysfs;
};

TEST_F(DriverBindings, ADeviceAtVfioAlreadyStaysThere) {
    sysfs.bind(address, "vfio-pci");
    {
        const auto binding = bind();
        ASSERT_TRUE(binding.has_value()) << binding.error().to_string();
    }
    EXPECT_EQ(driver(), "vfio-pci");
    EXPECT_EQ(driver_override(), "(null)\n");
    EXPECT_EQ(test::FakeSysfs::read(bus("drivers_probe")), "");
}

TEST_F(DriverBindings, AnInterfaceThatIsUpIsInUse) {
    vfio_is_there();
    sysfs.bind(address, "e1000e");
    fs::create_directories(sysfs.device(address) / "net/eth7");
    fs::create_directories(sysfs.root() + "/class/net/eth7");
    test::FakeSysfs::write(sysfs.root() + "/class/net/eth7/flags", "0x1003\n");
    const auto binding = bind();
    ASSERT_FALSE(binding.has_value());
    EXPECT_EQ(binding.error().where, address);
    EXPECT_NE(binding.error().message.find("eth7 is up"), std::string::npos);
    EXPECT_EQ(binding.error().hint, "ip link set eth7 down");
    EXPECT_EQ(driver_override(), "(null)\n") << "nothing was touched";
    EXPECT_EQ(driver(), "e1000e");
}

TEST_F(DriverBindings, AKernelWithoutVfio) {
    sysfs.bind(address, "e1000e");
    const auto binding = bind();
    ASSERT_FALSE(binding.has_value());
    EXPECT_EQ(binding.error().hint, "modprobe vfio-pci");
    EXPECT_EQ(driver_override(), "(null)\n");
}

TEST_F(DriverBindings, WhatCannotBeWrittenSaysSo) {
    vfio_is_there();
    fs::remove(sysfs.device(address) / "driver_override");
    fs::create_directory(sysfs.device(address) / "driver_override");
    const auto binding = bind();
    ASSERT_FALSE(binding.has_value());
    EXPECT_NE(binding.error().message.find("driver_override cannot be written"), std::string::npos);
}

TEST_F(DriverBindings, ARefusalOfVfioGivesTheDeviceBack) {
    vfio_is_there();
    fs::create_directories(bus("drivers/e1000e"));
    sysfs.bind(address, "e1000e");
    const auto binding = bind();  // nobody plays the kernel: the driver stays
    ASSERT_FALSE(binding.has_value());
    EXPECT_NE(binding.error().hint.find("pktpit doctor"), std::string::npos);
    EXPECT_EQ(driver_override(), "\n");
    EXPECT_EQ(test::FakeSysfs::read(bus("drivers_probe")), address) << "its driver is asked to take it again";
}

/// What is written into a FIFO next. A writer goes on once this has begun.
std::string next_written(const std::string& path) {
    const Fd fifo(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    char text[64];
    if (!pktpit::test::readable(fifo.get())) return "nothing came";
    const auto length = ::read(fifo.get(), text, sizeof text);
    return length > 0 ? std::string(text, static_cast<size_t>(length)) : "nothing";
}

TEST_F(DriverBindings, TakesItFromItsDriverAndGivesItBack) {
    vfio_is_there();
    sysfs.bind(address, "e1000e");
    fs::remove(bus("drivers_probe"));
    for (const char* name : {"drivers_probe", "drivers/e1000e/unbind", "drivers/vfio-pci/unbind"})
        ASSERT_EQ(mkfifo(bus(name).c_str(), 0600), 0);
    const auto become = [this](const std::string& name) {
        fs::remove(sysfs.device(address) / "driver");
        if (!name.empty()) sysfs.bind(address, name);
    };
    std::thread kernel([&] {
        EXPECT_EQ(next_written(bus("drivers/e1000e/unbind")), address);
        EXPECT_EQ(driver_override(), "vfio-pci");
        become("vfio-pci");
        EXPECT_EQ(next_written(bus("drivers_probe")), address);
        EXPECT_EQ(next_written(bus("drivers/vfio-pci/unbind")), address);
        become("");
        EXPECT_EQ(next_written(bus("drivers_probe")), address);
        EXPECT_EQ(driver_override(), "\n");
        become("e1000e");
    });
    {
        auto binding = bind();
        ASSERT_TRUE(binding.has_value()) << binding.error().to_string();
        EXPECT_EQ(driver(), "vfio-pci");
        DriverBinding moved = std::move(*binding);
        *binding = DriverBinding();
        EXPECT_EQ(driver(), "vfio-pci") << "it is the other's now";
    }
    kernel.join();
    EXPECT_EQ(driver(), "e1000e");
}

}  // namespace
}  // namespace pktpit::offload
