// SPDX-License-Identifier: BSD-3-Clause
/// source -> router -> sink: three network namespaces joined by two veth pairs, addressed from the ranges set
/// aside for benchmarks (RFC 2544, RFC 5180). One forwarder is measured on one topology. One thread.
///
///     source namespace        router namespace         sink namespace
///     source_device ───veth─── ingress   egress ───veth─── sink_device
#pragma once

#include <cstdint>
#include <string>

#include "base/address.h"
#include "bench/harness/namespaces.h"

namespace pktpit::bench::harness {

struct Port {
    std::string device;
    uint32_t ifindex = 0;
    MacAddress mac;
};

/// Where frames seem to come from, the router's addresses and the next hop's, for one family.
struct Addressing {
    IpAddress source;
    InterfaceAddress ingress;
    InterfaceAddress egress;
    IpAddress next_hop;
};

const Addressing& addressing(Family family);

class Topology {
  public:
    /// Device names are unique on the machine: process id and a running number.
    Topology();
    Topology(const Topology&) = delete;
    Topology& operator=(const Topology&) = delete;

    [[nodiscard]] const NetworkNamespace& source() const { return source_; }
    [[nodiscard]] const NetworkNamespace& router() const { return router_; }
    [[nodiscard]] const NetworkNamespace& sink() const { return sink_; }
    [[nodiscard]] const Port& source_port() const { return source_port_; }
    [[nodiscard]] const Port& ingress() const { return ingress_; }
    [[nodiscard]] const Port& egress() const { return egress_; }
    [[nodiscard]] const Port& sink_port() const { return sink_port_; }

    /// Frames that the source could not hand over because the router's receive ring was full.
    [[nodiscard]] uint64_t refused_by_router() const;
    /// Frames that the router could not hand over because the sink's receive ring was full.
    [[nodiscard]] uint64_t refused_by_sink() const;

  private:
    NetworkNamespace source_;
    NetworkNamespace router_;
    NetworkNamespace sink_;
    Port source_port_;
    Port ingress_;
    Port egress_;
    Port sink_port_;
};

}  // namespace pktpit::bench::harness
