// SPDX-License-Identifier: BSD-3-Clause
/// The image of the test router, made once, and for whatever reads it until the program has ended.
#pragma once

#include "tests/unit/forward/heap_image.h"

namespace pktpit::fuzz {

inline const router::ImageView& router_image() {
    static router::test::HeapImage& memory = *new router::test::HeapImage;
    static const router::ImageView view = [] {
        router::test::fill_test_router(memory.image(), memory.base());
        return memory.view();
    }();
    return view;
}

}  // namespace pktpit::fuzz
