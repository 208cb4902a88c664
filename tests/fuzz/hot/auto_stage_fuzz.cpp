// SPDX-License-Identifier: BSD-3-Clause
// Any bytes where auto ports' stages write (bpf/auto.h): the tag in front of a frame, and a CPU's samples,
// whose counters may jump and whose cells may be torn. Whatever they say, the blocks that are chosen from
// them decide as the full table does, no more of them than allowed, and rates stay rates.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include "router/hot/hot_choice.h"
#include "router/hot/sample_reader.h"
#include "router/loop/socket_order.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/input.h"
#include "tests/unit/fib/test_image.h"

namespace {

using pktpit::fuzz::demand;
using pktpit::fuzz::Input;
using namespace pktpit;
using namespace pktpit::router;

constexpr size_t budget = 12;

/// Made once: what an input leaves of it is the next one's beginning, but for routes, which all have their
/// first groups again, and blocks, which are gone.
struct Tables {
    pktpit::test::TestImage image{pktpit::test::TestImage::small()};
    fib::TableId hot = image->add_table().value();
    fib::GroupId groups[3] = {image.add_group(), image.add_group(), image.add_group()};
};

Tables& tables() {
    static Tables once;
    return once;
}

/// The full table: routes of both families inside each other, some changed while blocks of them are
/// installed.
class FullTable {
  public:
    FullTable() {
        routes_.set_budget(budget);
        for (const char* prefix : prefixes)
            set(prefix);
    }
    ~FullTable() { routes_.clear(); }
    FullTable(const FullTable&) = delete;
    FullTable& operator=(const FullTable&) = delete;

    void set(const char* text) {
        const Prefix prefix = *Prefix::parse(text);
        if (routes_.before_change(prefix))
            demand(image_->set(prefix, tables().groups[next_++ % 3]).has_value(), "room");
    }
    /// A destination of the traffic: near a route, or anywhere.
    static pp_destination destination(Input& input) {
        const auto where = input.take<uint8_t>();
        if (where >= std::size(prefixes)) return {input.take<uint64_t>(), input.take<uint64_t>()};
        pp_destination near = destination_of(Prefix::parse(prefixes[where])->address);
        near.low ^= input.take<uint16_t>();
        return near;
    }
    void check() {
        demand(routes_.size() <= budget, "no more blocks than allowed");
        demand(choice_.hit_rate() >= 0 && choice_.hit_rate() <= 1, "a share is one");
        routes_.for_each([this](const Prefix& block, HotBlock& state) {
            demand(std::isfinite(state.score) && choice_.rate_of(state) >= 0, "a rate is one");
            demand(image_->lookup(block.address, table_) == image_->lookup(block.address),
                   "a block decides as the full table does");
        });
    }

    HotChoice& choice() { return choice_; }

    static constexpr const char* prefixes[] = {"10.0.0.0/8",      "10.1.0.0/16",       "10.1.2.0/24",
                                               "192.0.2.0/25",    "192.0.2.1/32",      "2001:db8::/32",
                                               "2001:db8:1::/48", "2001:db8:1:2::/64", "0.0.0.0/0"};

  private:
    pktpit::test::TestImage& image_ = tables().image;
    fib::TableId table_ = tables().hot;
    size_t next_ = 0;
    HotRoutes routes_{*image_, table_};
    HotChoice choice_{routes_};
};

void look_at_tag(Input& input) {
    const auto bytes = input.take<pp_order_tag>();
    uint8_t frame[sizeof bytes + 1];
    std::memcpy(frame, &bytes, sizeof bytes);
    const auto number = SocketOrder::number_of(frame + sizeof bytes);
    demand(number.has_value() == (bytes.magic == PP_ORDER_MAGIC), "a tag is told by its magic number");
    demand(!number || *number == bytes.number, "its number is handed on");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input input(data, size);
    look_at_tag(input);
    static const auto samples = std::make_unique<pp_samples>();
    samples->packets = samples->taken = 0;
    SampleReader reader;
    FullTable table;
    for (int steps = 0; !input.empty() && steps < 2000; steps++) {
        switch (input.take<uint8_t>() % 8) {
            case 0:
            case 1:
                samples->cells[samples->taken++ % PP_SAMPLES] = FullTable::destination(input);
                samples->packets += input.take<uint8_t>();
                break;
            case 2:
                table.choice().missed(FullTable::destination(input), input.take<uint16_t>());
                break;
            case 3:
                samples->packets = input.take<uint64_t>();
                break;
            case 4:
                samples->taken = input.take<uint64_t>();
                break;
            case 5:
                table.set(FullTable::prefixes[input.take<uint8_t>() % std::size(FullTable::prefixes)]);
                table.check();
                break;
            default:
                const double passed = reader.read(*samples, table.choice());
                demand(passed >= 0, "packets are counted upwards");
                demand(samples->every >= 1, "sampling goes on");
                table.choice().passed(passed, input.take<uint16_t>());
                table.choice().tick();
                table.check();
        }
    }
    return 0;
}
