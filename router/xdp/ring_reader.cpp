// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/ring_reader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/epoll.h>

#include <cerrno>
#include <numeric>

#include "base/errno_text.h"
#include "router/xdp/skeleton.h"

namespace pktpit::router {

Result<std::unique_ptr<RingReader>> RingReader::open(int rings, const std::string& name, size_t bytes,
                                                     Handler handler) {
    std::unique_ptr<RingReader> self(new RingReader(rings, bytes, std::move(handler)));
    self->epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    if (!self->epoll_) return fail(name, "cannot watch the rings: " + errno_text(errno));
    for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
        if (auto added = self->add(name); !added) return tl::unexpected(added.error());
    if (auto published = self->publish(name); !published) return tl::unexpected(published.error());
    return self;
}

RingReader::~RingReader() {
    for (uint32_t cpu = 0; cpu < all_.size(); cpu++)
        bpf_map_delete_elem(rings_, &cpu);
}

Result<void> RingReader::add(const std::string& name) {
    Fd map(bpf_map_create(BPF_MAP_TYPE_RINGBUF, name.c_str(), 0, 0, static_cast<uint32_t>(bytes_), nullptr));
    if (!map)
        return fail(
            name,
            "cannot make a BPF ring buffer of " + std::to_string(bytes_) + " bytes: " + errno_text(errno),
            "memory and the privilege to make BPF maps", privileges_hint(errno));
    const auto receive = [](void* self, void* data, size_t size) {
        return static_cast<RingReader*>(self)->receive(data, size);
    };
    Ring ring{std::move(map), {nullptr, ring_buffer__free}};
    ring.buffer.reset(ring_buffer__new(ring.map.get(), receive, this, nullptr));
    epoll_event event{};
    event.events = EPOLLIN;
    if (!ring.buffer ||
        epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ring_buffer__epoll_fd(ring.buffer.get()), &event) != 0)
        return fail(name, "cannot read a BPF ring buffer: " + errno_text(errno),
                    "locked memory and descriptors");
    all_.push_back(std::move(ring));
    return {};
}

// All at once, since the kernel waits for a grace period with each change; before Linux 5.19 one by one.
Result<void> RingReader::publish(const std::string& name) {
    std::vector<uint32_t> cpus(all_.size());
    std::iota(cpus.begin(), cpus.end(), 0U);
    std::vector<int> descriptors;
    for (const Ring& ring : all_)
        descriptors.push_back(ring.map.get());
    auto count = static_cast<uint32_t>(cpus.size());
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    if (bpf_map_update_batch(rings_, cpus.data(), descriptors.data(), &count, &options) == 0) return {};
    for (const uint32_t cpu : cpus)
        if (bpf_map_update_elem(rings_, &cpu, &descriptors[cpu], BPF_ANY) != 0)
            return fail(name, "port stages cannot have the rings: " + errno_text(errno));
    return {};
}

void RingReader::poll() {
    for (const Ring& ring : all_) {
        taken_ = 0;
        ring_buffer__consume(ring.buffer.get());
    }
}

// What comes while it is read would be read as well, without an end.
int RingReader::receive(const void* data, size_t size) {
    handler_({static_cast<const uint8_t*>(data), size});
    taken_ += size;
    return taken_ < bytes_ ? 0 : -EAGAIN;
}

}  // namespace pktpit::router
