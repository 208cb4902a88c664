// SPDX-License-Identifier: BSD-3-Clause
// A file of configurations to go back to, of any bytes. Must hold: it is refused, or what was read is written
// so that the same is read again, and what is added to it is the newest and can be gone back from.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "router/daemon/saved_configs.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit::router;

/// In main memory, gone with the program.
class Folder {
  public:
    Folder() {
        std::string name = "/dev/shm/pktpit-saved-fuzz-XXXXXX";
        if (!::mkdtemp(name.data())) demand(false, "there is a folder in /dev/shm");
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string file() const { return path_ + "/i.configs"; }

  private:
    std::string path_;
};

void add_to(const std::string& text, const SavedState& before) {
    const bool waits = !before.configs.empty();
    if (waits && before.configs.back().number == SavedConfigs::largest_number) return;
    static const Folder folder;
    SavedConfigs saved(folder.file());
    std::ofstream(folder.file(), std::ios::trunc) << text;
    demand(saved.add("/new", "{}", waits).has_value(), "what can be read can be added to");
    const auto after = saved.load();
    demand(after.has_value(), "what was added can be read");
    const SavedConfig* newest = after->back(0);
    demand(newest && newest->file == "/new" && newest->text == "{}", "what was added is the newest");
    demand(after->configs.size() <= SavedConfigs::most, "no more are kept");
    demand(!waits || (after->confirmed && after->numbered(*after->confirmed)), "what may come back is there");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto state = parse_saved_configs(text, "input");
    if (!state) return pktpit::fuzz::refused(state.error());
    const auto again = parse_saved_configs(to_text(*state), "again");
    demand(again && *again == *state, "what was written is what was read");
    add_to(text, *state);
    return 0;
}
