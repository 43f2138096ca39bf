#include "sim/import/kineto/strict_event.h"

#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sgsim::import::kineto {

#ifdef __SSE2__
namespace {

class Block {  // 16 bytes, compared at once: bit i of an answer is byte i
 public:
  explicit Block(const char* at) : bytes_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))) {}
  [[nodiscard]] std::uint32_t equal(char c) const { return bits(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8(c))); }
  [[nodiscard]] std::uint32_t quotes_and_escapes() const {
    return bits(_mm_or_si128(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes_, _mm_set1_epi8('\\'))));
  }
  // '[' and '{', ']' and '}' differ in one bit only.
  [[nodiscard]] std::uint32_t brackets() const {
    const __m128i one = _mm_or_si128(bytes_, _mm_set1_epi8(0x20));
    return bits(_mm_or_si128(_mm_cmpeq_epi8(one, _mm_set1_epi8('{')), _mm_cmpeq_epi8(one, _mm_set1_epi8('}'))));
  }
  // What ends a number or a word: a comma, a closing bracket, space; and what is odd there (quotes, opening brackets, control bytes, above 127).
  [[nodiscard]] std::uint32_t ends_of_words() const {
    const __m128i comma = _mm_cmpeq_epi8(bytes_, _mm_set1_epi8(','));
    return bits(_mm_or_si128(comma, _mm_cmplt_epi8(bytes_, _mm_set1_epi8('#')))) | brackets();
  }
  // What may stand before the quote that opens a string, and after the one that closes it.
  [[nodiscard]] std::uint32_t may_open() const {
    const __m128i opening = _mm_cmpeq_epi8(_mm_or_si128(bytes_, _mm_set1_epi8(0x20)), _mm_set1_epi8('{'));
    const __m128i space = _mm_or_si128(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(bytes_, _mm_set1_epi8('\n')));
    return bits(_mm_or_si128(_mm_or_si128(opening, space), separators()));
  }
  [[nodiscard]] std::uint32_t may_follow() const {
    const __m128i closing = _mm_cmpeq_epi8(_mm_or_si128(bytes_, _mm_set1_epi8(0x20)), _mm_set1_epi8('}'));
    return bits(_mm_or_si128(closing, separators()));
  }

 private:
  [[nodiscard]] __m128i separators() const { return _mm_or_si128(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8(',')), _mm_cmpeq_epi8(bytes_, _mm_set1_epi8(':'))); }
  static std::uint32_t bits(__m128i mask) { return static_cast<std::uint32_t>(_mm_movemask_epi8(mask)); }
  __m128i bytes_;
};

// Bit i of the result: an odd number of bits up to and with i (16 bits).
std::uint32_t running_parity(std::uint32_t x) {
  x ^= x << 1;
  x ^= x << 2;
  x ^= x << 4;
  return x ^ (x << 8);
}

class StrictReader {
 public:
  StrictReader(const char* at, const char* end) : at_(at), end_(end) {}

  const char* event(Event& e) {
    ++at_;  // {
    for (;;) {
      std::string_view key, text;
      bool quoted = false;
      if (!key_and_colon(key)) return nullptr;
      if (key == "args" && *at_ == '{') {
        if (!members(e.args)) return nullptr;
      } else {
        if (!value(text, quoted)) return nullptr;
        if (std::string_view* place = place_of(e, key)) *place = text;
      }
      bool more = false;
      if (!next_member(more)) return nullptr;
      if (!more) return at_;
    }
  }

 private:
  static std::string_view* place_of(Event& e, std::string_view key) {
    switch (key.size()) {
      case 2: return key == "ph" ? &e.phase : key == "ts" ? &e.time : nullptr;
      case 3: return key == "cat" ? &e.category : key == "pid" ? &e.pid : key == "tid" ? &e.tid : key == "dur" ? &e.duration : nullptr;
      case 4: return key == "name" ? &e.name : nullptr;
      default: return nullptr;
    }
  }

  bool members(std::vector<Member>& into) {
    ++at_;  // {
    spaces();
    if (*at_ == '}') return ++at_, true;
    for (;;) {
      Member& member = into.emplace_back();
      if (!key_and_colon(member.key) || !value(member.value, member.quoted)) return false;
      bool more = false;
      if (!next_member(more)) return false;
      if (!more) return true;
    }
  }

  void spaces() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t') ++at_;
  }

  // What follows a member: a comma and a quote, or the object's end.
  bool next_member(bool& more) {
    spaces();
    more = *at_ == ',';
    if (!more && *at_ != '}') return false;
    ++at_;
    if (more) spaces();
    return !more || *at_ == '"';
  }

  bool key_and_colon(std::string_view& key) {
    spaces();
    if (*at_ != '"') return false;
    const char* const begin = ++at_;
    for (;;) {
      if (const std::uint32_t found = Block(at_).quotes_and_escapes(); found != 0) {
        at_ += std::countr_zero(found);
        break;
      }
      at_ += 16;
      if (at_ >= end_) return false;
    }
    if (*at_ != '"') return false;  // a key with escapes is odd
    key = {begin, static_cast<std::size_t>(at_ - begin)};
    ++at_;
    spaces();
    if (*at_ != ':') return false;
    ++at_;
    spaces();
    return at_ < end_;
  }

  bool value(std::string_view& text, bool& quoted) {
    const char c = *at_;
    quoted = c == '"';
    if (quoted) return string(text);
    if (c == '[' || c == '{') return nested(text);
    const char* const begin = at_;
    for (;;) {
      if (const std::uint32_t found = Block(at_).ends_of_words(); found != 0) {
        at_ += std::countr_zero(found);
        break;
      }
      at_ += 16;
      if (at_ >= end_) return false;
    }
    text = {begin, static_cast<std::size_t>(at_ - begin)};
    return at_ > begin && at_ < end_;
  }

  bool string(std::string_view& text) {
    const char* const begin = ++at_;
    for (;;) {
      if (const std::uint32_t found = Block(at_).quotes_and_escapes(); found != 0) {
        at_ += std::countr_zero(found);
        if (*at_ == '"') break;
        at_ += 2;  // the escaped byte says nothing
      } else {
        at_ += 16;
      }
      if (at_ >= end_) return false;
    }
    text = {begin, static_cast<std::size_t>(at_ - begin)};
    ++at_;
    return at_ < end_;
  }

  // A list or object, taken whole: brackets outside of strings are counted, by kind.
  bool nested(std::string_view& text) {
    const char* const begin = at_;
    std::uint64_t kinds = 0;        // a bit an open bracket: it is '{'
    int depth = 0;
    std::uint32_t inside = 0;       // all ones: the block begins inside of a string
    std::uint32_t before_opens = 0, last_closed = 0;  // of the byte before the block
    for (; at_ < end_; at_ += 16) {
      const Block block(at_);
      const std::uint32_t quotes = block.equal('"');
      std::uint32_t brackets = block.brackets();
      if ((quotes | inside | last_closed) != 0) {
        if (block.equal('\\') != 0) return false;
        const std::uint32_t in_string = (running_parity(quotes) ^ inside) & 0xffff;  // opening quotes are in, closing ones out
        const std::uint32_t opening = quotes & in_string, closing = quotes & ~in_string;
        const std::uint32_t opens = block.may_open();
        if ((opening & ~((opens << 1) | before_opens)) != 0) return false;
        if ((((closing << 1) | last_closed) & 0xffff & ~block.may_follow()) != 0) return false;
        last_closed = closing >> 15;
        before_opens = opens >> 15;
        inside = (in_string >> 15) != 0 ? 0xffffffff : 0;
        brackets &= ~in_string;
      } else {
        before_opens = block.may_open() >> 15;
      }
      for (; brackets != 0; brackets &= brackets - 1) {
        const int i = std::countr_zero(brackets);
        const char c = at_[i];
        if (c == '[' || c == '{') {
          if (depth == 64) return false;
          kinds = (kinds << 1) | (c == '{' ? 1U : 0U);
          ++depth;
          continue;
        }
        if ((kinds & 1U) != (c == '}' ? 1U : 0U)) return false;
        kinds >>= 1;
        if (--depth > 0) continue;
        at_ += i + 1;
        text = {begin, static_cast<std::size_t>(at_ - begin)};
        return at_ < end_;
      }
    }
    return false;
  }

  const char* at_;
  const char* end_;
};

}  // namespace

const char* read_strict_event(const char* at, const char* end, Event& event) { return StrictReader(at, end).event(event); }

#else

const char* read_strict_event(const char*, const char*, Event&) { return nullptr; }

#endif

}  // namespace sgsim::import::kineto
