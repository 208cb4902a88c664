// SPDX-License-Identifier: BSD-3-Clause
#include "router/model/dataplane.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>

#include "fib/lookup.h"
#include "offload/model/profile.h"
#include "offload/model/topology.h"

namespace pktpit::router {
namespace {

model::Transfer transfer_of(config::ModelTransfer transfer) {
    switch (transfer) {
        case config::ModelTransfer::read:
            return model::Transfer::read;
        case config::ModelTransfer::bounce:
            return model::Transfer::bounce;
        case config::ModelTransfer::write:
            break;
    }
    return model::Transfer::write;
}

/// One that comes with the program, else a file, relative to the configuration.
template <class Document>
Result<Document> open_document(const std::string& folder, const std::string& name,
                               const config::Config& config, const std::string& where) {
    const auto own = model::embedded_names(folder);
    const bool comes_with_us = std::ranges::find(own, name) != own.end();
    auto opened = Document::open(comes_with_us ? name : config::file_path(name, config));
    if (opened) return std::move(*opened);
    Error error = opened.error().empty() ? Error{} : opened.error().front();
    error.where = where + (error.where.empty() ? "" : " (" + error.where + ")");
    return tl::unexpected(std::move(error));
}

std::string rate_text(double gbps) {
    char text[32];
    std::snprintf(text, sizeof text, "%g Gbps", gbps);
    return text;
}

}  // namespace

Result<std::unique_ptr<ModelDataplane>> ModelDataplane::open(const config::Config& config,
                                                             const fib::Capacity& capacity,
                                                             PuntHandler on_punt) {
    auto held = lock(config);
    if (!held) return tl::unexpected(held.error());
    std::unique_ptr<ModelDataplane> self(new ModelDataplane(config, std::move(*held), std::move(on_punt)));
    if (auto done = self->set_up(capacity); !done) return tl::unexpected(done.error());
    return self;
}

ModelDataplane::~ModelDataplane() {
    for (ModelPort* port : model_ports())
        stop(*port);
    end();  // before the wires that the worker looks at
}

Result<void> ModelDataplane::set_up(const fib::Capacity& capacity) {
    if (auto done = set_up_image(capacity); !done) return done;
    const config::Model& settings = config_.model;
    auto topology =
        open_document<model::Topology>("topologies", settings.topology, config_, "/model/topology");
    if (!topology) return tl::unexpected(topology.error());
    auto profile = open_document<model::Profile>("profiles", settings.profile, config_, "/model/profile");
    if (!profile) return tl::unexpected(profile.error());
    const model::Transfer transfer = transfer_of(settings.transfer);
    about_ = "topology " + topology->name + ", profile " + profile->name() + ", transfer " +
             std::string(model::to_string(transfer));
    spdlog::warn("modelled hardware: {}; no packet is on a real bus, and time is virtual", about_);

    auto io = std::make_unique<ModelPacketIo>(*topology, *profile, transfer, counters_of(0));
    io_ = io.get();
    Worker& worker = add_worker(std::move(io));
    worker.watch_interrupt(io_->sleep_descriptor());
    worker.resume();
    for (const auto& [name, interface] : config_.interfaces)
        if (!interface.parent)
            if (auto made = create_device(interface); !made) return made;
    wait_for_links();
    return {};
}

Result<size_t> ModelDataplane::choose_nic_port(const config::Interface& interface) const {
    const auto& all = io_->nic_ports();
    const auto taken = [&](size_t place) {
        // Those that the configuration names are not for others.
        for (const auto& [name, other] : config_.interfaces)
            if (name != interface.name && other.nic_port == all[place].name) return true;
        return std::ranges::any_of(model_ports(),
                                   [&](const ModelPort* port) { return port->nic_port == place; });
    };
    const std::string has = "topology " + config_.model.topology + " has " + std::to_string(all.size()) +
                            " ports, from " +
                            (all.empty() ? std::string("none") : all.front().name + " to " + all.back().name);
    if (!interface.nic_port.empty()) {
        const auto found = std::ranges::find(all, interface.nic_port, &ModelPacketIo::NicPort::name);
        const std::string where = "/interfaces/" + interface.name + "/nic_port";
        if (found == all.end())
            return fail(where, "there is no modelled port \"" + interface.nic_port + "\"",
                        "a port of a NIC of the topology", has);
        const auto place = static_cast<size_t>(found - all.begin());
        if (taken(place))
            return fail(where, "\"" + interface.nic_port + "\" is another interface's", "one that is free",
                        has);
        return place;
    }
    for (size_t place = 0; place < all.size(); place++)
        if (!taken(place)) return place;
    return fail("/interfaces/" + interface.name, "no modelled port is left for it",
                "at most as many ports as NICs have", has + "; `pktpit model list` shows others");
}

Result<void> ModelDataplane::create_device(const config::Interface& interface) {
    if (port(interface.name)) return {};
    const auto place = choose_nic_port(interface);
    if (!place) return tl::unexpected(place.error());
    auto made = ModelPort::open(interface, config_, *place);
    if (!made) return tl::unexpected(made.error());
    spdlog::info("{}: modelled port {}, wire {}, MAC address {}", interface.name,
                 io_->nic_ports()[*place].name, (*made)->wire->name(), (*made)->wire->mac().to_string());
    add_port(std::move(*made));
    return {};
}

bool ModelDataplane::show_links() {
    bool all = true;
    for (ModelPort* port : model_ports()) {
        port->show_link();
        all = all && port->wire->link_up();
    }
    return all;
}

Result<void> ModelDataplane::start_port(TapPort& which) {
    auto& port = static_cast<ModelPort&>(which);
    port.wanted = true;
    start(port);
    port.show_link();
    return {};
}

void ModelDataplane::start(ModelPort& port) {
    if (port.started || !port.wire) return;
    const WorkerPause paused(all_workers());
    io_->add(port.nic_port, port.id, *port.wire);
    port.started = true;
}

void ModelDataplane::stop_port(TapPort& which) {
    auto& port = static_cast<ModelPort&>(which);
    port.wanted = false;
    stop(port);
}

void ModelDataplane::stop(ModelPort& port) {
    if (!std::exchange(port.started, false)) return;
    const WorkerPause paused(all_workers());
    io_->remove(port.id);
}

std::vector<WorkerState::Queue> ModelDataplane::queues_of(unsigned) const {
    std::vector<WorkerState::Queue> queues;
    for (const ModelPort* port : model_ports())
        if (port->started) queues.push_back({port->id, 0, false});
    return queues;
}

void ModelDataplane::reset_counters(uint16_t port) {
    StagelessDataplane::reset_counters(port);
    const WorkerPause paused(all_workers());
    io_->reset_latency(port);
}

std::optional<NicDetails> ModelDataplane::nic(uint16_t id) {
    const auto* port = static_cast<const ModelPort*>(this->port(id));
    if (!port) return std::nullopt;
    const ModelPacketIo::NicPort& place = io_->nic_ports()[port->nic_port];
    NicDetails details;
    details.device = port->wire ? port->wire->name() : "a device that has gone";
    details.model = "modelled NIC port " + place.name + ", " + rate_text(place.gbps);
    details.direct = config_.model.transfer != config::ModelTransfer::bounce;
    details.payload = details.direct ? "modelled packet memory" : "modelled main memory, bounced";
    const WorkerPause paused(all_workers());
    details.statistics = io_->statistics(port->nic_port);
    return details;
}

/// What each file's frames will be decided by is there: all ports with a link are up in the FIB.
bool ModelDataplane::all_in_fib() const {
    bool any = false;
    for (const ModelPort* port : model_ports()) {
        if (!port->wanted) return false;
        if (!port->wire || !port->wire->link_up()) continue;
        any = true;
        if ((pp_fib_port_at(image_memory().data(), &geometry(), port->id)->flags & PP_PORT_UP) == 0)
            return false;
    }
    return any;
}

void ModelDataplane::tick() {
    StagelessDataplane::tick();
    for (ModelPort* port : model_ports()) {
        if (!port->wire || port->wire->lost()) reopen(*port);
        port->follow_tap();
        port->show_link();
    }
    if (io_->playing() || !all_in_fib()) return;
    // Once more around the daemon's loop: what followed from the last link has been done, too.
    if (!std::exchange(begun_, true)) return;
    const WorkerPause paused(all_workers());
    io_->play();
}

// The Linux device below was deleted, perhaps to be made again: another device under the same name.
void ModelDataplane::reopen(ModelPort& port) {
    if (port.wire) {
        spdlog::warn("{}: the Linux device below has gone", port.name);
        stop(port);
        port.wire.reset();
        port.failure_told = true;  // that it is not there needs no second word
    }
    if (auto opened = port.reopen(); !opened) {
        if (!std::exchange(port.failure_told, true))
            spdlog::error("{}; trying again", opened.error().to_string());
        return;
    }
    if (port.wanted) start(port);
    spdlog::info("{}: the Linux device below is back", port.name);
}

}  // namespace pktpit::router
