// SPDX-License-Identifier: BSD-3-Clause
#include "router/hot/hot_blocks.h"

namespace pktpit::router {

template class HotBlocks<fib::PrefixKey4>;
template class HotBlocks<fib::PrefixKey6>;

}  // namespace pktpit::router
