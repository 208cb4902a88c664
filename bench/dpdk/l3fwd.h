// SPDX-License-Identifier: BSD-3-Clause
/// l3fwd, built from DPDK's own example source as Debian ships it (package dpdk-doc), as it is or with the
/// smallest patch that lets it run on virtual devices and hold a full table. Builds are kept below the cache
/// directory, by the text of source and patch. No DPDK code is part of this project: the patch is a list of
/// replacements, and what it comes to is in the report.
#pragma once

#include <string>
#include <vector>

#include "bench/dpdk/source_edit.h"

namespace pktpit::bench::dpdk {

struct L3fwd {
    std::string binary;
    std::string patch;    ///< as `diff -u` shows it; empty for the stock one
    std::string version;  ///< of Debian's package
};

/// The replacements, with their reasons.
std::vector<SourceEdit> l3fwd_edits(unsigned mbufs);

/// Builds it, or finds it built. Throws Failure with the compiler's words, or with the package that is
/// missing.
/// `mbufs`: packet buffers that the patched one has at least.
L3fwd build_l3fwd(bool patched, unsigned mbufs = 16384);

}  // namespace pktpit::bench::dpdk
