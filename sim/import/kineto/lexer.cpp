#include "sim/import/kineto/lexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "sim/import/kineto/strict_event.h"

namespace sgsim::import::kineto {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;         // what a core's cache holds
constexpr std::size_t kLongestString = std::size_t{1} << 20;   // a longer one is a quote that never closes
constexpr std::size_t kLongestMember = std::size_t{8} << 20;   // of the root
constexpr std::size_t kLongestEvent = std::size_t{64} << 20;

// What matters inside of a nested value: quotes and brackets.
constexpr std::array<bool, 256> kStops = [] {
  std::array<bool, 256> stops{};
  for (const char c : {'"', '[', ']', '{', '}'}) stops[static_cast<unsigned char>(c)] = true;
  return stops;
}();

/// The next quote. Most strings of a trace are short: the first bytes are looked at without a call.
const char* find_quote(const char* at, const char* end) {
#ifdef __SSE2__
  if (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    if (found != 0) return at + std::countr_zero(static_cast<unsigned>(found));
    at += 16;
  }
#endif
  return static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

EventLexer::EventLexer(ByteSource& source, bool strict_first) : source_(source), strict_first_(strict_first) {}

// Moves what is still needed to the front of the storage and reads on behind it. Zeros stand behind the end (kReadBeyond).
bool EventLexer::refill() {
  if (end_of_file_) return false;
  const std::size_t kept = buffer_.size() - std::min(at_, buffer_.size());
  std::vector<char> larger;
  const std::size_t wanted = kept + std::max(kChunk, kept);
  if (storage_.size() < wanted + kReadBeyond) larger.resize(wanted + kReadBeyond);
  char* const into = larger.empty() ? storage_.data() : larger.data();
  if (kept > 0) std::memmove(into, buffer_.data() + at_, kept);
  if (!larger.empty()) storage_.swap(larger);
  at_ = 0;
  const std::size_t got = source_.read(into + kept, wanted - kept);
  std::memset(into + kept + got, 0, kReadBeyond);
  buffer_ = {into, kept + got};
  end_of_file_ = got == 0;
  return got > 0;
}

char EventLexer::peek() {
  skip_space();
  return at_ < buffer_.size() ? buffer_[at_] : '\0';
}

void EventLexer::skip_space() {
  for (;;) {
    while (at_ < buffer_.size() && is_space(buffer_[at_])) ++at_;
    if (at_ < buffer_.size() || !refill()) return;
  }
}

void EventLexer::start() {
  if (peek() == '\xef') at_ += 3;  // byte order mark
  const char c = peek();
  if (c == '[') {
    ++at_;
    forgiven_.list_root = found_events_ = true;
    state_ = State::events;
  } else if (c == '{') {
    ++at_;
    state_ = State::members;
  } else {
    state_ = State::done;
  }
}

// After the root: a second trace behind the first would else be lost without a word.
void EventLexer::see_end() {
  (void)peek();
  forgiven_.trailing_garbage = at_ < buffer_.size();
}

// One member of the root object; false when the object ends or nothing can be made of it.
bool EventLexer::root_member() {
  if (peek() == ',') ++at_;
  const char c = peek();
  if (c != '"') {
    if (c == '}') {
      ++at_;
      see_end();
    } else {
      (at_ < buffer_.size() ? forgiven_.trailing_garbage : forgiven_.unterminated) = true;
    }
    return false;
  }
  const std::size_t begin = at_;
  for (;;) {
    std::string_view key;
    Lexed result = string(key, ':');
    if (result == Lexed::good) {
      const std::size_t colon = buffer_.find(':', at_);
      std::size_t v = colon + 1;
      while (v < buffer_.size() && is_space(buffer_[v])) ++v;
      if (v >= buffer_.size()) {
        result = Lexed::more;
      } else if (key == "traceEvents" && buffer_[v] == '[') {
        at_ = v + 1;
        found_events_ = true;
        state_ = State::events;
        return true;
      } else {
        const std::string name(key);
        at_ = v;
        Member member;
        result = value(member, true);
        if (result == Lexed::good) {
          header_[name] = std::string(member.value);
          return true;
        }
      }
    }
    at_ = begin;
    if (result == Lexed::bad || buffer_.size() - begin > kLongestMember || !refill()) {
      forgiven_.unterminated = end_of_file_;
      forgiven_.trailing_garbage = !end_of_file_;
      return false;
    }
    return root_member();  // the buffer moved: once more from its start
  }
}

bool EventLexer::next(Event& e) {
  for (;;) {
    switch (state_) {
      case State::root: start(); break;
      case State::members:
        if (!root_member()) state_ = State::done;
        break;
      case State::events: {
        char c = peek();
        if (c == ',') {
          ++at_;
          break;
        }
        if (c == ']') {
          ++at_;
          state_ = forgiven_.list_root ? State::done : State::members;
          if (forgiven_.list_root) see_end();
          break;
        }
        if (c == '\0' && at_ >= buffer_.size()) {
          forgiven_.unterminated = true;
          state_ = State::done;
          break;
        }
        const Lexed result = c == '{' ? event(e) : skip_value();
        if (result == Lexed::good && c == '{') return true;
        const bool cut = result == Lexed::more;  // the file ends inside of this event
        ++forgiven_.malformed_events;
        if (forgiven_.malformed_example.empty()) forgiven_.malformed_example = result == Lexed::good ? "no object" : std::string(buffer_.substr(at_, 80));
        if (result == Lexed::good) {
          break;  // a number or a list among the events: stepped over
        } else if (cut) {
          forgiven_.unterminated = true;
          state_ = State::done;
        } else {
          resynchronise(at_ + 1);
        }
        break;
      }
      case State::done: return false;
    }
  }
}

// Parses the event at `at_` and steps over it; on failure `at_` stays.
EventLexer::Lexed EventLexer::event(Event& e) {
  for (;;) {
    const std::size_t begin = at_;
    e.phase = e.category = e.name = e.pid = e.tid = e.time = e.duration = {};
    e.args.clear();
    if (const char* after = strict_first_ ? read_strict_event(buffer_.data() + at_, buffer_.data() + buffer_.size(), e) : nullptr) {
      at_ = static_cast<std::size_t>(after - buffer_.data());
      return Lexed::good;
    }
    e.phase = e.category = e.name = e.pid = e.tid = e.time = e.duration = {};
    e.args.clear();
    const std::uint64_t quotes = forgiven_.unescaped_quotes;
    const Lexed result = object(nullptr, &e);
    if (result == Lexed::good) return result;
    at_ = begin;
    forgiven_.unescaped_quotes = quotes;
    if (result == Lexed::bad || buffer_.size() - begin > kLongestEvent || !refill()) return result;
  }
}

EventLexer::Lexed EventLexer::skip_value() {
  for (;;) {
    const std::size_t begin = at_;
    Member member;
    const Lexed result = value(member, false);
    if (result == Lexed::good) return result;
    at_ = begin;
    if (result == Lexed::bad || buffer_.size() - begin > kLongestEvent || !refill()) return result;
  }
}

EventLexer::Lexed EventLexer::object(std::vector<Member>* args, Event* e) {
  ++at_;  // {
  Member member;
  for (;;) {
    while (at_ < buffer_.size() && (is_space(buffer_[at_]) || buffer_[at_] == ',')) ++at_;
    if (at_ >= buffer_.size()) return Lexed::more;
    if (buffer_[at_] == '}') {
      ++at_;
      return Lexed::good;
    }
    if (buffer_[at_] != '"') return Lexed::bad;
    if (const Lexed r = string(member.key, ':'); r != Lexed::good) return r;
    while (at_ < buffer_.size() && is_space(buffer_[at_])) ++at_;
    ++at_;  // the colon that string() saw
    while (at_ < buffer_.size() && is_space(buffer_[at_])) ++at_;
    if (at_ >= buffer_.size()) return Lexed::more;
    if (e != nullptr && member.key == "args" && buffer_[at_] == '{') {
      if (const Lexed r = object(&e->args, nullptr); r != Lexed::good) return r;
      continue;
    }
    if (const Lexed r = value(member, true); r != Lexed::good) return r;
    if (args != nullptr) {
      args->push_back(member);
      continue;
    }
    if (member.key == "ph") e->phase = member.value;
    else if (member.key == "cat") e->category = member.value;
    else if (member.key == "name") e->name = member.value;
    else if (member.key == "pid") e->pid = member.value;
    else if (member.key == "tid") e->tid = member.value;
    else if (member.key == "ts") e->time = member.value;
    else if (member.key == "dur") e->duration = member.value;
  }
}

EventLexer::Lexed EventLexer::value(Member& member, bool in_object) {
  const char c = buffer_[at_];
  member.quoted = c == '"';
  if (c == '"') return string(member.value, in_object ? '}' : ']');
  if (c == '{' || c == '[') return skip_nested(member.value);
  const std::size_t begin = at_;
  while (at_ < buffer_.size() && buffer_[at_] != ',' && buffer_[at_] != '}' && buffer_[at_] != ']' && !is_space(buffer_[at_])) {
    if (buffer_[at_] == '"' || buffer_[at_] == '{') return Lexed::bad;
    ++at_;
  }
  if (at_ >= buffer_.size()) return Lexed::more;
  member.value = buffer_.substr(begin, at_ - begin);
  return member.value.empty() ? Lexed::bad : Lexed::good;
}

// Whether a quote whose next byte is at `after` ends its string: what follows must be what may follow a string there.
EventLexer::Lexed EventLexer::closes(std::size_t after, char context, bool& yes) const {
  const auto skip = [&](std::size_t& i) {
    while (i < buffer_.size() && is_space(buffer_[i])) ++i;
    return i < buffer_.size();
  };
  yes = false;
  if (!skip(after)) return Lexed::more;
  const char c = buffer_[after];
  if (c == context) return yes = true, Lexed::good;
  if (context == ':' || c != ',') return Lexed::good;
  if (!skip(++after)) return Lexed::more;
  if (context == ']') {
    const char next = buffer_[after];
    yes = next == '"' || next == '[' || next == '{' || next == ']' || next == '-' || next == 't' || next == 'f' || next == 'n' || (next >= '0' && next <= '9');
    return Lexed::good;
  }
  if (buffer_[after] == '}') return yes = true, Lexed::good;  // a comma too many
  if (buffer_[after] != '"') return Lexed::good;
  const char* key_end = find_quote(buffer_.data() + after + 1, buffer_.data() + buffer_.size());
  if (key_end == nullptr) return Lexed::more;
  auto colon = static_cast<std::size_t>(key_end - buffer_.data()) + 1;
  if (!skip(colon)) return Lexed::more;
  yes = buffer_[colon] == ':';
  return Lexed::good;
}

EventLexer::Lexed EventLexer::string(std::string_view& text, char context) {
  const std::size_t begin = ++at_;
  std::size_t from = begin;
  bool quotes_inside = false;
  for (;;) {
    const char* quote = find_quote(buffer_.data() + from, buffer_.data() + buffer_.size());
    if (quote == nullptr) return buffer_.size() - begin > kLongestString ? Lexed::bad : Lexed::more;
    const auto end = static_cast<std::size_t>(quote - buffer_.data());
    std::size_t slashes = 0;
    while (end - slashes > begin && buffer_[end - slashes - 1] == '\\') ++slashes;
    bool yes = false;
    if (slashes % 2 == 0) {
      if (const Lexed r = closes(end + 1, context, yes); r != Lexed::good) return r;
      quotes_inside = quotes_inside || !yes;
    }
    if (yes) {
      text = buffer_.substr(begin, end - begin);
      at_ = end + 1;
      if (quotes_inside) {
        ++forgiven_.unescaped_quotes;
        if (forgiven_.quote_example.empty()) forgiven_.quote_example = std::string(text.substr(0, 120));
      }
      return Lexed::good;
    }
    if (end - begin > kLongestString) return Lexed::bad;
    from = end + 1;
  }
}

// A nested list or object, taken whole.
EventLexer::Lexed EventLexer::skip_nested(std::string_view& text) {
  const std::size_t begin = at_;
  std::string& open = open_;
  open.clear();
  while (at_ < buffer_.size()) {
    const char* at = buffer_.data() + at_;
    const char* const end = buffer_.data() + buffer_.size();
    while (at < end && !kStops[static_cast<unsigned char>(*at)]) ++at;
    at_ = static_cast<std::size_t>(at - buffer_.data());
    if (at == end) break;
    const char c = *at;
    if (c == '"') {
      std::string_view inner;
      // A key or a value: in an object the quote may be followed by either, so both are tried.
      const std::size_t here = at_;
      Lexed r = Lexed::bad;
      if (open.back() == '}') {
        const char* quote = find_quote(buffer_.data() + at_ + 1, buffer_.data() + buffer_.size());
        std::size_t after = quote == nullptr ? buffer_.size() : static_cast<std::size_t>(quote - buffer_.data()) + 1;
        while (after < buffer_.size() && is_space(buffer_[after])) ++after;
        r = string(inner, after < buffer_.size() && buffer_[after] == ':' ? ':' : '}');
      } else {
        r = string(inner, ']');
      }
      if (r != Lexed::good) return at_ = here, r;
      continue;
    }
    if (c == '[') open.push_back(']');
    if (c == '{') open.push_back('}');
    if (c == ']' || c == '}') {
      if (open.back() != c) return Lexed::bad;
      open.pop_back();
      if (open.empty()) {
        ++at_;
        text = buffer_.substr(begin, at_ - begin);
        return Lexed::good;
      }
    }
    ++at_;
  }
  return Lexed::more;
}

// Goes to the next thing that looks like the start of an event: "}, {" with a quote after it.
void EventLexer::resynchronise(std::size_t from) {
  at_ = from;
  for (;;) {
    const std::size_t brace = buffer_.find('{', at_);
    if (brace == std::string::npos || brace + 64 > buffer_.size()) {
      at_ = brace == std::string::npos ? (buffer_.size() > 64 ? std::max(at_, buffer_.size() - 64) : at_) : at_;
      if (refill()) continue;
      if (brace == std::string::npos) {
        at_ = buffer_.size();
        return;
      }
    }
    std::size_t before = brace;
    while (before > at_ && is_space(buffer_[before - 1])) --before;
    const bool comma = before > at_ && buffer_[before - 1] == ',';
    std::size_t end = comma ? before - 1 : before;
    while (end > at_ && is_space(buffer_[end - 1])) --end;
    std::size_t after = brace + 1;
    while (after < buffer_.size() && is_space(buffer_[after])) ++after;
    if (comma && end > at_ && buffer_[end - 1] == '}' && after < buffer_.size() && buffer_[after] == '"') {
      at_ = brace;
      return;
    }
    at_ = brace + 1 > buffer_.size() ? buffer_.size() : brace + 1;
    // Keep what stands before the next brace in reach of the look backwards.
  }
}

std::string unescape(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return std::string(text);
  const auto hex4 = [&](std::size_t at, unsigned& code) {
    if (at + 4 > text.size()) return false;
    code = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      const char c = text[i];
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) return false;
      code = code * 16 + static_cast<unsigned>(digit);
    }
    return true;
  };
  const auto append = [](std::string& into, unsigned code) {
    if (code < 0x80) {
      into += static_cast<char>(code);
    } else if (code < 0x800) {
      into += static_cast<char>(0xc0 | (code >> 6));
      into += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      into += static_cast<char>(0xe0 | (code >> 12));
      into += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
      into += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      into += static_cast<char>(0xf0 | (code >> 18));
      into += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
      into += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
      into += static_cast<char>(0x80 | (code & 0x3f));
    }
  };
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const char c = text[++i];
    unsigned code = 0;
    switch (c) {
      case 'n': result += '\n'; break;
      case 't': result += '\t'; break;
      case 'r': result += '\r'; break;
      case 'b': result += '\b'; break;
      case 'f': result += '\f'; break;
      case '"': case '\\': case '/': result += c; break;
      case 'u':
        if (!hex4(i + 1, code)) {
          result += "\\u";
          break;
        }
        i += 4;
        if (code >= 0xd800 && code < 0xdc00) {
          unsigned low = 0;
          if (i + 2 < text.size() && text[i + 1] == '\\' && text[i + 2] == 'u' && hex4(i + 3, low) && low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            i += 6;
          } else {
            code = 0xfffd;
          }
        } else if (code >= 0xdc00 && code < 0xe000) {
          code = 0xfffd;
        }
        append(result, code);
        break;
      default: result += '\\'; result += c; break;  // no escape of JSON: kept
    }
  }
  return result;
}

}  // namespace sgsim::import::kineto
