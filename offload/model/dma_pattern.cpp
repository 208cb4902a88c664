// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/dma_pattern.h"

namespace pktpit::model {

DmaPattern::DmaPattern(Fabric& fabric, Endpoint& device, std::vector<DmaStep> steps, unsigned window)
    : fabric_(fabric), device_(device), steps_(std::move(steps)), left_(window), buffer_(65536) {
    device.attach_client(*this);
}

void DmaPattern::start() {
    for (uint64_t place = 0; place < left_.size(); place++)
        ended_.push(place);
    begin(0);
}

/// Ended places begin again; a write may end while it is being asked for.
void DmaPattern::begin(uint64_t) {
    if (beginning_) return;
    beginning_ = true;
    while (!ended_.empty()) {
        const uint64_t place = ended_.pop();
        const uint64_t number = begun_++;
        left_[place] = steps_.size();
        for (const DmaStep& step : steps_) {
            const uint64_t address = step.address + number % step.packets * step.stride;
            const Requester::Options options{place, 0, false, TlpType::memory_write};
            if (step.read)
                device_.dma().read(address, buffer_.data(), step.bytes, options);
            else
                device_.dma().write(address, buffer_.data(), step.bytes, options);
        }
        // So that time goes on where nothing holds a device up.
        if (fabric_.events().pending() == 0) break;
    }
    beginning_ = false;
}

void DmaPattern::dma_done(uint64_t place, DmaResult result) {
    failed_ += result != DmaResult::done;
    if (--left_[place] > 0) return;
    packets_++;
    ended_.push(place);
    begin(0);
}

double measure(Fabric& fabric, DmaPattern& pattern, Time warm_up, Time duration) {
    pattern.start();
    fabric.events().run_until(fabric.events().now() + warm_up);
    const uint64_t before = pattern.packets();
    fabric.events().run_until(fabric.events().now() + duration);
    return static_cast<double>(pattern.packets() - before) / to_seconds(duration);
}

}  // namespace pktpit::model
