// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/punt_reader.h"

#include <bpf/libbpf.h>

#include <cerrno>

#include "base/errno_text.h"
#include "router/xdp/punt_record.h"

namespace pktpit::router {
namespace {

// Pages of each CPU's ring: 1 MiB holds 600 full-size frames or 100 jumbo ones.
constexpr size_t ring_pages = 256;

}  // namespace

Result<std::unique_ptr<PuntReader>> PuntReader::open(int punts_map, Handler handler) {
    std::unique_ptr<PuntReader> reader(new PuntReader(std::move(handler)));
    auto receive = [](void* self, int, void* data, uint32_t size) {
        static_cast<PuntReader*>(self)->receive(data, size);
    };
    // What does not fit is counted by the port stage itself, as drop_punt_full.
    auto lost = [](void*, int, __u64) {};
    perf_buffer* buffer = perf_buffer__new(punts_map, ring_pages, receive, lost, reader.get(), nullptr);
    if (!buffer)
        return fail(PP_MAP_PUNTS, "cannot open the rings for punted frames: " + errno_text(errno),
                    "locked memory and the privilege to open perf events",
                    "run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
    reader->buffer_ = {buffer, perf_buffer__free};
    return reader;
}

PuntReader::~PuntReader() = default;

int PuntReader::descriptor() const {
    return perf_buffer__epoll_fd(buffer_.get());
}

void PuntReader::poll() {
    perf_buffer__consume(buffer_.get());
}

void PuntReader::receive(void* data, uint32_t size) {
    const auto punt = read_punt({static_cast<uint8_t*>(data), size});
    if (!punt) {
        malformed_++;
        return;
    }
    handler_(punt->head, punt->frame);
}

}  // namespace pktpit::router
