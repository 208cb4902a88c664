// SPDX-License-Identifier: BSD-3-Clause
/// A control plane over a host, a dataplane and a loop that a test turns itself.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "router/control/control_plane.h"
#include "tests/unit/control/fake_dataplane.h"
#include "tests/unit/control/fake_host.h"
#include "tests/unit/control/fake_loop.h"
#include "tests/unit/control/fake_slow_path.h"

namespace pktpit::router::fake {

template <class SomeHost = Host, class SomeLoop = Loop>
struct ControlRig {
    /// `name` is the test's: it stands in the path of the routes by hand.
    ControlRig(const std::string& name, std::initializer_list<const char*> devices,
               uint32_t node_bytes = 1 << 20)
        : path(testing::TempDir() + name + "_" + std::to_string(getpid()) + ".json"),
          dataplane(host, faults, false, node_bytes) {
        for (const char* device : devices)
            host.add_device(device);
        control = ControlPlane::make({kernel, dataplane, host, slow_path, loop,
                                      [this](const RouteFilter& filter) -> Result<std::unique_ptr<Kernel>> {
                                          return std::make_unique<HostKernel>(host, filter);
                                      },
                                      path})
                      .value();
    }
    ~ControlRig() {
        control.reset();
        std::filesystem::remove(path);
    }
    ControlRig(const ControlRig&) = delete;
    ControlRig& operator=(const ControlRig&) = delete;

    std::string path;
    Faults faults;
    SomeHost host{faults};
    HostKernel kernel{host, RouteFilter{.of_devices = true}};
    MemoryDataplane dataplane;
    SlowPathNothing slow_path;
    SomeLoop loop;
    std::unique_ptr<ControlPlane> control;
};

}  // namespace pktpit::router::fake
