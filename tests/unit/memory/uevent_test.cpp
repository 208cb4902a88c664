// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/uevent.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pktpit::offload {
namespace {

std::string event(const std::string& head, const std::string& subsystem = "pci") {
    const std::string nul(1, '\0');
    return head + nul + "ACTION=remove" + nul + "SUBSYSTEM=" + subsystem + nul + "PCI_ID=1AF4:1110" + nul +
           "SEQNUM=4711" + nul;
}

TEST(Uevent, AFunctionThatIsGone) {
    const auto gone = removed_function(event("remove@/devices/pci0000:00/0000:00:02.0/0000:05:00.3"));
    ASSERT_TRUE(gone.has_value());
    EXPECT_EQ(gone->to_string(), "0000:05:00.3");
    EXPECT_EQ(removed_function(event("remove@/devices/pci0001:20/0001:20:1f.7"))->to_string(),
              "0001:20:1f.7");
}

TEST(Uevent, OtherEventsAreNone) {
    const std::string path = "/devices/pci0000:00/0000:00:02.0/0000:05:00.0";
    for (const char* action : {"add@", "change@", "bind@", "unbind@", "move@", "Remove@", ""})
        EXPECT_FALSE(removed_function(event(action + path)).has_value()) << action;
    for (const char* below :
         {"/net/eth0", "/", "/0000:00:02.0:pcie001", "/p2pmem", "/0000:05:00.8", "/pci_bus/0000:05"})
        EXPECT_FALSE(removed_function(event("remove@" + path + below)).has_value()) << below;
    EXPECT_FALSE(removed_function(event("remove@/bus/pci/drivers/0000:05:00.0")).has_value());
    EXPECT_FALSE(removed_function(event("remove@" + path, "hwmon")).has_value())
        << "named after its function";
    EXPECT_FALSE(removed_function(event("remove@" + path, "pci_express")).has_value());
}

TEST(Uevent, WhatIsCutOffIsNone) {
    const std::string whole = event("remove@/devices/pci0000:00/0000:05:00.0");
    for (size_t length = 0; length < whole.size(); length++) {
        // Memory that ends where the message does, for sanitizers.
        const std::vector<char> part(whole.begin(), whole.begin() + static_cast<long>(length));
        const auto gone = removed_function(part);
        EXPECT_EQ(gone.has_value(), length >= whole.find("PCI_ID") - 1) << length;
    }
}

}  // namespace
}  // namespace pktpit::offload
