// SPDX-License-Identifier: BSD-3-Clause
/// Devices whose frames may lack TCP and UDP checksums under an XDP program in native mode, which hands on
/// bytes and not what the kernel knows of them (bpf/complete_checksum.h). Private to router/xdp.
#pragma once

#include <string>

namespace pktpit::router {

/// Virtual ones, whose senders may be on the same machine; and bonds, which may have such below.
bool may_lack_checksums(const std::string& device);

}  // namespace pktpit::router
