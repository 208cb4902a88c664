// SPDX-License-Identifier: BSD-3-Clause
#include "config/syntax.h"

#include <memory>
#include <set>

#include "base/json/pointer.h"
#include "config/sax.h"

namespace pktpit::config {
namespace {

using nlohmann::json;

/// Builds the value, and notes what nlohmann's own builder lets pass.
class Builder : public SaxHandler {
  public:
    Builder(std::string_view text, const size_t& consumed) : lines_(text), consumed_(consumed) {}

    bool value(json&& scalar) override {
        if (scalar.is_string() && !short_enough(scalar.get_ref<const std::string&>(), "string")) scalar = "";
        put(std::move(scalar));
        return true;
    }

    bool open(json&& container) override {
        if (stack_.size() >= max_depth) {
            out_.errors.push_back({path(), "objects and arrays are nested too deep",
                                   "at most " + std::to_string(max_depth) + " levels", ""});
            return false;
        }
        stack_.push_back({put(std::move(container)), {}, false, {}});
        return true;
    }

    bool close() override {
        stack_.pop_back();
        return true;
    }

    bool member(std::string& name) override {
        Level& level = stack_.back();
        level.key = name;
        if (!short_enough(name, "key")) level.key.resize(32);
        level.repeated = !level.keys.insert(level.key).second;
        if (level.repeated)
            out_.errors.push_back({path(),
                                   "key " + in_quotes(level.key) +
                                       " is there twice in one object, again on line " +
                                       std::to_string(lines_.line_at(consumed_ - 1)),
                                   "each key once", "remove one of the two, or merge them"});
        return true;
    }

    bool broken(Error&& error) override {
        out_.errors.clear();
        out_.errors.push_back(std::move(error));
        return false;
    }

    Document take(bool complete) {
        out_.readable = complete;
        return std::move(out_);
    }

  private:
    struct Level {
        json* place;
        std::string key;
        bool repeated;
        std::set<std::string> keys;
    };

    json* put(json&& value) {
        if (stack_.empty()) {
            out_.value = std::move(value);
            return &out_.value;
        }
        Level& level = stack_.back();
        if (level.place->is_array()) {
            level.place->push_back(std::move(value));
            return &level.place->back();
        }
        if (level.repeated) {
            // The first value is kept; this one's own members need a place to go, too.
            discarded_.push_back(std::make_unique<json>(std::move(value)));
            return discarded_.back().get();
        }
        json& slot = (*level.place)[level.key];
        slot = std::move(value);
        return &slot;
    }

    [[nodiscard]] std::string path() const {
        std::string pointer;
        for (size_t i = 0; i < stack_.size(); i++) {
            const Level& level = stack_[i];
            // An array being filled inside: its last element. One that gets a new element: the place after
            // it.
            size_t next = level.place->size() - (i + 1 < stack_.size() && !level.place->empty());
            pointer =
                level.place->is_array() ? at(std::move(pointer), next) : at(std::move(pointer), level.key);
        }
        return pointer;
    }

    bool short_enough(const std::string& text, const char* what) {
        if (text.size() <= max_string) return true;
        out_.errors.push_back({path(), std::string(what) + " of " + std::to_string(text.size()) + " bytes",
                               "at most " + std::to_string(max_string) + " bytes", ""});
        return false;
    }

    LineCounter lines_;
    const size_t& consumed_;
    Document out_;
    std::vector<Level> stack_;
    std::vector<std::unique_ptr<json>> discarded_;
};

/// Notes the line of every value. Of a key that is there twice, the first.
class Indexer : public SaxHandler {
  public:
    Indexer(std::string_view text, const size_t& consumed, std::unordered_map<std::string, size_t>& lines)
        : counter_(text), consumed_(consumed), lines_(lines) {}

    bool value(json&&) override {
        arrive();
        return true;
    }
    bool open(json&& container) override {
        arrive();
        levels_.push_back({path_, container.is_array(), 0});
        return levels_.size() <= max_depth;
    }
    bool close() override {
        levels_.pop_back();
        return true;
    }
    bool member(std::string& name) override {
        path_ = at(levels_.back().path, name);
        note();
        return true;
    }
    bool broken(Error&&) override { return false; }

  private:
    struct Level {
        std::string path;
        bool is_array;
        size_t count;
    };

    void arrive() {
        if (!levels_.empty() && !levels_.back().is_array) return;  // noted with its key
        if (!levels_.empty()) path_ = at(levels_.back().path, levels_.back().count++);
        note();
    }

    // The last byte of a token is never a newline; the byte behind it, which ends a number, may be one.
    void note() { lines_.try_emplace(path_, counter_.line_at(consumed_ - 1)); }

    LineCounter counter_;
    const size_t& consumed_;
    std::unordered_map<std::string, size_t>& lines_;
    std::vector<Level> levels_;
    std::string path_;
};

}  // namespace

Document read_json(std::string_view text) {
    size_t consumed = 0;
    Builder builder(text, consumed);
    bool complete = read_events(text, builder, consumed);
    return builder.take(complete);
}

LineIndex::LineIndex(std::string_view text) {
    size_t consumed = 0;
    Indexer indexer(text, consumed, lines_);
    read_events(text, indexer, consumed);
}

size_t LineIndex::line_of(std::string pointer) const {
    for (;;) {
        if (auto found = lines_.find(pointer); found != lines_.end()) return found->second;
        size_t slash = pointer.rfind('/');
        if (slash == pointer.npos) return 0;
        pointer.resize(slash);
    }
}

}  // namespace pktpit::config
