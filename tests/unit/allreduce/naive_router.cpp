// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/allreduce/naive_router.h"

#include <algorithm>
#include <cstring>

namespace pktpit::allreduce::test {
namespace {

template <class Element>
void add(Datagram& to, const Datagram& from) {
    for (size_t at = sizeof(pa_header); at + sizeof(Element) <= to.size(); at += sizeof(Element)) {
        Element left = 0, right = 0;
        std::memcpy(&left, to.data() + at, sizeof left);
        std::memcpy(&right, from.data() + at, sizeof right);
        left = static_cast<Element>(left + right);
        std::memcpy(to.data() + at, &left, sizeof left);
    }
}

}  // namespace

Datagram NaiveRouter::sum(const Chunk& chunk, size_t worker) const {
    Datagram result = chunk.of.at(worker);
    pa_header header = *read_header(result);
    header.kind = PA_RESULT;
    std::fill(result.begin() + sizeof header, result.end(), uint8_t{0});
    for (const auto& [from, datagram] : chunk.of) {
        header.exponent = std::max(header.exponent, read_header(datagram)->exponent);
        if (epoch_.type == PA_BFP16)
            add<uint16_t>(result, datagram);
        else
            add<uint32_t>(result, datagram);
    }
    std::memcpy(result.data(), &header, sizeof header);
    return result;
}

void NaiveRouter::check(size_t worker, const pa_header& header, const Datagram& datagram) {
    const auto note = [&](const char* what) {
        if (broken_.empty())
            broken_ = std::string(what) + ": chunk " + std::to_string(header.chunk) + " of worker " +
                      std::to_string(worker);
    };
    if (header.kind != PA_ADD || header.key != epoch_.key || header.epoch != epoch_.number ||
        header.worker != worker)
        note("no packet of this epoch");
    if (header.slot != header.chunk % epoch_.slots ||
        ((header.type & PA_VERSION_BIT) != 0) != (header.chunk / epoch_.slots % 2 == 1))
        note("wrong slot");
    if (datagram.size() != sizeof header + header.count * bytes_of(epoch_.type) || datagram.size() % 8 != 0)
        note("wrong length");
    // Only who has the result before may overwrite what was before that.
    if (header.chunk >= epoch_.slots && !chunks_[header.chunk - epoch_.slots].answered[worker])
        note("slot taken before its other version was done");
    const auto before = chunks_[header.chunk].of.find(worker);
    if (before != chunks_[header.chunk].of.end() && before->second != datagram)
        note("sent again with other bytes");
}

std::vector<Answer> NaiveRouter::operator()(size_t worker, const Datagram& datagram) {
    const auto header = read_header(datagram);
    if (!header) {
        broken_ = "no header";
        return {};
    }
    check(worker, *header, datagram);
    Chunk& chunk = chunks_[header->chunk];
    const bool again = !chunk.of.emplace(worker, datagram).second;
    if (chunk.of.size() < epoch_.workers) return {};
    std::vector<Answer> answers;
    for (size_t to = 0; to < epoch_.workers; to++)
        if (!again || to == worker) {
            answers.push_back({to, sum(chunk, to)});
            chunk.answered[to] = true;
        }
    return answers;
}

}  // namespace pktpit::allreduce::test
