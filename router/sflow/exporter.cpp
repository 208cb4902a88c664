// SPDX-License-Identifier: BSD-3-Clause
#include "router/sflow/exporter.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/errno_text.h"
#include "base/socket_address.h"
#include "router/forward/forward.h"

namespace pktpit::router {
namespace {

constexpr uint64_t fcs = 4;  // bytes

uint64_t drops_of(const pp_port_counters& counters) {
    uint64_t drops = 0;
    for (int i = PP_NONE + 1; i < PP_VERDICT_COUNT; i++)
        if (action_of(static_cast<pp_verdict>(i)) == PP_ACTION_DROP) drops += counters.verdict[i];
    return drops;
}

}  // namespace

SflowOutput sflow_output_of(pp_verdict verdict) {
    switch (verdict) {
        case PP_PUNT_TTL_EXPIRED:
            return SflowOutput::dropped(sflow_drop::ttl_exceeded);
        case PP_PUNT_NO_ROUTE:
            return SflowOutput::dropped(sflow_drop::net_unreachable);
        case PP_PUNT_UNREACHABLE:
            return SflowOutput::dropped(sflow_drop::host_unreachable);
        case PP_PUNT_PROHIBITED:
            return SflowOutput::dropped(sflow_drop::prohibited);
        case PP_DROP_FILTER:
            return SflowOutput::dropped(sflow_drop::acl);
        case PP_DROP_POLICE:
        case PP_DROP_HOST_ARP:
        case PP_DROP_HOST_ICMP:
        case PP_DROP_HOST_BGP:
        case PP_DROP_HOST_OTHER:
            return SflowOutput::dropped(sflow_drop::rate);
        case PP_DROP_PUNT_FULL:
        case PP_DROP_NO_SLOT:
        case PP_DROP_EGRESS_FULL:
        case PP_DROP_SPLIT_FULL:
            return SflowOutput::dropped(sflow_drop::no_buffer);
        default:
            break;
    }
    switch (action_of(verdict)) {
        case PP_ACTION_HOST:
        case PP_ACTION_TAKEN:
            return SflowOutput::self();
        case PP_ACTION_DROP:
            return SflowOutput::dropped(sflow_drop::unknown);
        default:
            return SflowOutput::unknown();  // fragments, what waits for a neighbour: that is the daemon's to
                                            // say
    }
}

Result<SflowExporter::Collector> SflowExporter::open(const config::SflowCollector& address) {
    const SocketAddress to(address.address, address.port);
    Collector collector{address,
                        Fd(socket(to.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
    if (!collector.socket)
        return fail("/sflow/collectors",
                    "no socket to send to " + address.address.to_string() + " by: " + errno_text(errno));
    return collector;
}

Result<void> SflowExporter::configure(const config::Sflow& wanted) {
    if (wanted == settings_) return {};
    std::vector<Collector> collectors;
    for (const config::SflowCollector& address : wanted.collectors) {
        auto opened = open(address);
        if (!opened) return tl::unexpected(opened.error());
        collectors.push_back(std::move(*opened));
    }
    send();
    collectors_ = std::move(collectors);
    settings_ = wanted;
    counters_due_.reset();
    return {};
}

void SflowExporter::observe(const Observation& seen, uint32_t observed_one_in) {
    const auto port = ports_.find(seen.port);
    if (collectors_.empty() || port == ports_.end() || port->second.one_in == 0) return;
    const uint32_t one_in = port->second.one_in;
    if (observed_one_in < one_in &&
        std::uniform_real_distribution<double>(0, one_in)(random_) >= observed_one_in)
        return;
    Sequences& of_port = sequences_[seen.port];
    if (in_this_tick_ >= most_per_tick) {
        of_port.skipped++;
        counts_.skipped++;
        return;
    }
    in_this_tick_++;
    const std::vector<uint8_t> frame = seen.ingress(settings_.header_bytes);
    SflowFlowSample sample;
    sample.sequence = ++of_port.flow;
    sample.source = sample.input = port->second.ifindex;
    sample.rate = one_in;
    sample.pool = static_cast<uint32_t>(sources_.counters(seen.port).rx_packets);
    sample.drops = static_cast<uint32_t>(sources_.lost(seen.port) + of_port.skipped);
    sample.output = output_of(seen);
    sample.frame_length = seen.frame_length;
    sample.header = frame;
    counts_.flow_samples++;
    add(sample);
}

SflowOutput SflowExporter::output_of(const Observation& seen) const {
    if (seen.verdict != PP_FORWARDED) return sflow_output_of(seen.verdict);
    const auto port = ports_.find(seen.egress_port);
    return port == ports_.end() ? SflowOutput::unknown() : SflowOutput::interface(port->second.ifindex);
}

void SflowExporter::tick(Time now) {
    in_this_tick_ = 0;
    if (collectors_.empty()) return;
    const bool due = settings_.counters_s != 0 && (!counters_due_ || now >= *counters_due_);
    if (due) {
        counters_due_ = now + std::chrono::seconds(settings_.counters_s);
        for (const auto& [id, port] : ports_) {
            if (port.one_in == 0 || port.ifindex == 0) continue;
            const pp_port_counters counted = sources_.counters(id);
            SflowCounterSample sample;
            sample.sequence = ++sequences_[id].counter;
            sample.ifindex = port.ifindex;
            sample.up = port.up;
            sample.in_octets = counted.rx_bytes + fcs * counted.rx_packets;
            sample.out_octets = counted.tx_bytes + fcs * counted.tx_packets;
            sample.in_packets = counted.rx_packets;
            sample.out_packets = counted.tx_packets;
            sample.in_discards = drops_of(counted);
            counts_.counter_samples++;
            add(sample);
        }
    }
    send();
}

template <class Sample>
void SflowExporter::add(const Sample& sample) {
    for (int tries = 0; tries < 2; tries++) {
        if (!waiting_) {
            const auto up = std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now() - started_);
            waiting_.emplace(settings_.agent, 0, ++datagram_, static_cast<uint32_t>(up.count()));
        }
        if (waiting_->add(sample)) return;
        send();  // it is full
    }
}

void SflowExporter::send() {
    if (!waiting_ || waiting_->empty()) return;
    const auto bytes = waiting_->bytes();
    for (const Collector& one : collectors_) {
        const SocketAddress to(one.address.address, one.address.port);
        const auto sent = ::sendto(one.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                   to.get(), to.size);
        (sent == static_cast<ssize_t>(bytes.size()) ? counts_.datagrams : counts_.not_sent)++;
    }
    waiting_.reset();
}

}  // namespace pktpit::router
