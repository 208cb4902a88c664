// SPDX-License-Identifier: BSD-3-Clause
#include "fib/node_space.h"

#include <algorithm>
#include <cassert>

namespace pktpit::fib {
namespace {

constexpr unsigned unit_bits = 4;
static_assert(1u << unit_bits == PP_FIB_PLACE_UNIT);
constexpr uint32_t root_pages = PP_FIB_ROOT_BYTES >> most_size_bits;
/// Asked only for so many at once: an epoch's end costs a system call, and no call should take long.
constexpr size_t worth_asking = 64;

uint64_t all_free(unsigned size_bits) {
    const unsigned places = 1u << (most_size_bits - size_bits);
    return places == 64 ? ~uint64_t{0} : (uint64_t{1} << places) - 1;
}

}  // namespace

NodeSpace::NodeSpace(uint32_t bytes, uint32_t roots, Reclamation reclamation)
    : first_page_(1 + roots * root_pages),
      page_count_(bytes >> page_bits),
      fresh_page_(first_page_),
      pages_(page_count_),
      reclamation_(std::move(reclamation)) {
    assert(first_page_ <= page_count_);
    for (uint32_t root = roots; root-- > 0;)
        free_roots_.push_back((1 + root * root_pages) << (page_bits - unit_bits));
}

std::optional<uint32_t> NodeSpace::take_free(unsigned size_bits) {
    auto& partial = partial_[size_bits];
    while (!partial.empty()) {
        Page& page = pages_[partial.back()];
        if (page.size_bits == size_bits && page.free != 0 && !page.evacuating) break;
        page.listed &= static_cast<uint16_t>(~(1u << size_bits));
        partial.pop_back();
    }
    if (partial.empty()) {
        uint32_t number = 0;
        if (!empty_pages_.empty()) {
            number = empty_pages_.back();
            empty_pages_.pop_back();
        } else if (fresh_page_ < page_count_) {
            number = fresh_page_++;
        } else {
            return std::nullopt;
        }
        pages_[number].free = all_free(size_bits);
        pages_[number].size_bits = static_cast<uint8_t>(size_bits);
        list(number, size_bits);
    }
    const uint32_t number = partial.back();
    Page& page = pages_[number];
    const auto slot = static_cast<uint32_t>(std::countr_zero(page.free));
    page.free &= page.free - 1;
    used_ += uint64_t{1} << size_bits;
    return (number << (page_bits - unit_bits)) + (slot << (size_bits - unit_bits));
}

void NodeSpace::list(uint32_t number, unsigned size_bits) {
    if (pages_[number].listed >> size_bits & 1) return;
    pages_[number].listed |= static_cast<uint16_t>(1u << size_bits);
    partial_[size_bits].push_back(number);
}

std::optional<uint32_t> NodeSpace::take_free_root() {
    if (free_roots_.empty()) return std::nullopt;
    const uint32_t place = free_roots_.back();
    free_roots_.pop_back();
    used_ += PP_FIB_ROOT_BYTES;
    return place;
}

std::optional<uint32_t> NodeSpace::take(unsigned size_bits) {
    if (waiting_.size() >= worth_asking) collect(worth_asking);
    if (auto place = take_free(size_bits)) return place;
    collect(waiting_.size());
    if (auto place = take_free(size_bits)) return place;
    if (!waiting_.empty()) {
        reclamation_.wait();
        collect(waiting_.size());
        if (auto place = take_free(size_bits)) return place;
    }
    if (!evacuating_) return std::nullopt;
    end_evacuation();
    return take_free(size_bits);
}

std::optional<uint32_t> NodeSpace::take_root() {
    if (auto place = take_free_root()) return place;
    if (waiting_.empty()) return std::nullopt;
    reclamation_.wait();
    collect(waiting_.size());
    return take_free_root();
}

void NodeSpace::drop(uint32_t place, unsigned size_bits) {
    used_ -= uint64_t{1} << size_bits;
    free_place(place, size_bits);
}

void NodeSpace::free_place(uint32_t place, unsigned size_bits) {
    const uint32_t number = place >> (page_bits - unit_bits);
    Page& page = pages_[number];
    assert(page.size_bits == size_bits);
    const uint32_t in_page = place & ((1u << (page_bits - unit_bits)) - 1);
    page.free |= uint64_t{1} << (in_page >> (size_bits - unit_bits));
    if (page.free == all_free(size_bits)) {
        page.size_bits = 0;
        page.evacuating = false;
        empty_pages_.push_back(number);
    } else if (!page.evacuating) {
        list(number, size_bits);
    }
}

void NodeSpace::drop_root(uint32_t place) {
    used_ -= PP_FIB_ROOT_BYTES;
    free_roots_.push_back(place);
}

void NodeSpace::retire(uint32_t place, unsigned size_bits) {
    used_ -= uint64_t{1} << size_bits;
    retire(Waiting{place, static_cast<uint8_t>(size_bits)});
}

void NodeSpace::retire_root(uint32_t place) {
    used_ -= PP_FIB_ROOT_BYTES;
    retire(Waiting{place, root_size});
}

void NodeSpace::retire(Waiting waiting) {
    waiting_.push_back(waiting);
    const uint64_t ticket = reclamation_.ticket();
    if (tickets_.empty() || tickets_.back().first != ticket)
        tickets_.emplace_back(ticket, 1);
    else
        tickets_.back().second++;
}

void NodeSpace::collect(size_t most) {
    while (most > 0 && !tickets_.empty() && reclamation_.passed(tickets_.front().first)) {
        for (uint32_t& left = tickets_.front().second; left > 0 && most > 0; left--, most--) {
            const Waiting waiting = waiting_.front();
            waiting_.pop_front();
            if (waiting.size_bits == root_size)
                free_roots_.push_back(waiting.place);
            else
                free_place(waiting.place, waiting.size_bits);
        }
        if (tickets_.front().second == 0) tickets_.pop_front();
    }
}

uint64_t NodeSpace::taken_bytes() const {
    const uint64_t free_pages = empty_pages_.size() + (page_count_ - fresh_page_);
    return capacity_bytes() - (free_pages << page_bits) - free_roots_.size() * PP_FIB_ROOT_BYTES;
}

void NodeSpace::begin_evacuation() {
    collect(waiting_.size());  // what readers have left need not be moved
    struct Candidate {
        uint32_t number;
        uint32_t used;
        uint32_t free;
    };
    std::array<std::vector<Candidate>, most_size_bits + 1> candidates;
    for (uint32_t number = first_page_; number < fresh_page_; number++) {
        const Page& page = pages_[number];
        if (page.size_bits == 0 || page.free == 0) continue;
        const auto free = static_cast<uint32_t>(std::popcount(page.free));
        candidates[page.size_bits].push_back({number, (1u << (page_bits - page.size_bits)) - free, free});
    }
    for (auto& pages : candidates) {
        std::ranges::sort(pages, {}, &Candidate::used);
        uint32_t room = 0;
        for (const Candidate& page : pages)
            room += page.free;
        uint32_t moved = 0;
        for (const Candidate& page : pages) {
            room -= page.free;
            moved += page.used;
            if (moved > room) break;
            pages_[page.number].evacuating = true;
        }
    }
    evacuating_ = true;
}

void NodeSpace::end_evacuation() {
    evacuating_ = false;
    for (uint32_t number = first_page_; number < fresh_page_; number++) {
        Page& page = pages_[number];
        if (!page.evacuating) continue;
        page.evacuating = false;
        if (page.free != 0) list(number, page.size_bits);
    }
}

bool NodeSpace::evacuating(uint32_t place) const {
    return pages_[place >> (page_bits - unit_bits)].evacuating;
}

}  // namespace pktpit::fib
