// SPDX-License-Identifier: BSD-3-Clause
// removed_function() on any bytes: what it names must stand in them, as the last word of the path, in an
// event of a PCI function's removal.
#include <cstdlib>
#include <string>
#include <vector>

#include "offload/pci/uevent.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::offload;
    const std::vector<char> message(data, data + size);
    const auto gone = removed_function(message);
    if (!gone) return 0;
    const std::string text(message.begin(), message.end());
    const std::string head = text.substr(0, text.find('\0'));
    const auto named = PciAddress::parse(head.substr(head.rfind('/') + 1));
    if (!named || *named != *gone || text.rfind("remove@/devices/", 0) != 0) std::abort();
    if (text.find(std::string(1, '\0') + "SUBSYSTEM=pci") == std::string::npos) std::abort();
    return 0;
}
