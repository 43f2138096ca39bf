#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/byte_source.h"

namespace sgsim::import::kineto {

/// A JSON member as text: strings without their quotes and with their escapes, everything else as it stands.
struct Member {
  std::string_view key, value;
  bool quoted = false;
};

/// One trace event; the views live until the next call of EventLexer::next.
struct Event {
  std::string_view phase, category, name, pid, tid, time, duration;
  std::vector<Member> args;

  /// An argument's text, empty when absent. `key`: not empty.
  [[nodiscard]] std::string_view arg(std::string_view key) const {
    for (const Member& m : args) {
      if (m.key.size() == key.size() && m.key.front() == key.front() && m.key == key) return m.value;
    }
    return {};
  }
};

/// What the lexer had to forgive.
struct Forgiven {
  std::uint64_t malformed_events = 0;    // dropped
  std::uint64_t unescaped_quotes = 0;    // strings with quotes inside, kept whole
  bool list_root = false, unterminated = false, trailing_garbage = false;
  std::string malformed_example, quote_example;
};

/// Takes Chrome trace events out of JSON text that need not be quite JSON: a list or an object as root, arrays and files
/// that end early, quotes inside of names, raw control bytes. Needs memory for the largest event, not for the file.
class EventLexer {
 public:
  /// `strict_first`: well-formed events are read by read_strict_event (strict_event.h); false is for its tests.
  explicit EventLexer(ByteSource& source, bool strict_first = true);

  /// The next event; false at the end.
  [[nodiscard]] bool next(Event& event);
  /// Members of the root beside the events, as text (nothing longer than 8 MiB); complete once `next` gave false.
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& header() const { return header_; }
  [[nodiscard]] bool found_events() const { return found_events_; }
  [[nodiscard]] const Forgiven& forgiven() const { return forgiven_; }

 private:
  enum class State : std::uint8_t { root, members, events, done };
  enum class Lexed : std::uint8_t { good, bad, more };  // more: the buffer ends first

  bool refill();
  void see_end();
  void skip_space();
  char peek();
  void start();
  bool root_member();
  Lexed event(Event& event);
  Lexed skip_value();
  Lexed object(std::vector<Member>* args, Event* event);
  Lexed value(Member& member, bool in_object);
  Lexed string(std::string_view& text, char close_context);
  Lexed closes(std::size_t after, char context, bool& yes) const;
  Lexed skip_nested(std::string_view& text);
  void resynchronise(std::size_t from);

  ByteSource& source_;
  std::vector<char> storage_;
  std::string_view buffer_;  // of storage_: what was read and is still needed
  std::string open_;         // brackets still to close, in skip_nested
  std::size_t at_ = 0;
  bool strict_first_, end_of_file_ = false, found_events_ = false;
  State state_ = State::root;
  std::map<std::string, std::string, std::less<>> header_;
  Forgiven forgiven_;
};

/// Resolves JSON escapes (\uXXXX to UTF-8; a lone surrogate to U+FFFD). Text without backslash comes back unchanged.
[[nodiscard]] std::string unescape(std::string_view text);

}  // namespace sgsim::import::kineto
