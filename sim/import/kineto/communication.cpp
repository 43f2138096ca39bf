#include "sim/import/kineto/communication.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/import/kineto/number.h"

namespace sgsim::import::kineto {
namespace {

using trace::CommKind;

// Lower case letters and digits only: "ncclDevKernel_AllReduce_Sum" and "all_reduce" meet as "allreduce".
std::string folded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

struct Word {
  const char* part;
  CommKind kind;
};
// Longer words before those they contain.
constexpr Word kWords[] = {
    {"reducescatter", CommKind::reduce_scatter}, {"allreduce", CommKind::all_reduce}, {"allgather", CommKind::all_gather},
    {"alltoall", CommKind::all_to_all}, {"broadcast", CommKind::broadcast}, {"barrier", CommKind::barrier}, {"sendrecv", CommKind::send_receive},
    {"isend", CommKind::send}, {"irecv", CommKind::receive}, {"send", CommKind::send}, {"recv", CommKind::receive}, {"receive", CommKind::receive}, {"reduce", CommKind::reduce},
    {"gather", CommKind::other}, {"scatter", CommKind::other},
};

double number_or(std::string_view text, double fallback) { return number(text).value_or(fallback); }

}  // namespace

CommFacts comm_facts(const Event& event) {
  CommFacts f;
  f.name = event.arg("Collective name");
  f.dtype = event.arg("dtype");
  f.group = event.arg("Process Group Name");
  f.description = event.arg("Process Group Description");
  f.ranks = event.arg("Process Group Ranks");
  f.in_split = event.arg("In split size");
  f.out_split = event.arg("Out split size");
  f.in_elements = number_or(event.arg("In msg nelems"), -1.0);
  f.out_elements = number_or(event.arg("Out msg nelems"), -1.0);
  f.size = static_cast<std::uint32_t>(std::clamp(number_or(event.arg("Group size"), 0.0), 0.0, 4e9));
  const std::string_view to = event.arg("Dst Rank"), from = event.arg("Src Rank");
  f.peer = static_cast<std::int32_t>(std::clamp(number_or(to.empty() ? from : to, -1.0), -1.0, 2e9));
  return f;
}

CommKind comm_kind(std::string_view word) {
  const std::string text = folded(word.substr(0, word.find('(')));
  for (const Word& w : kWords) {
    if (text.find(w.part) != std::string::npos) return w.kind;
  }
  return CommKind::other;
}

bool is_comm_kernel(std::string_view kernel) {
  const std::string_view name = kernel.substr(0, kernel.find('('));
  return name.find("ncclDevKernel") != std::string_view::npos || name.find("ncclKernel") != std::string_view::npos ||
         name.rfind("nccl", 0) == 0 || name.rfind("mscclKernel", 0) == 0 || name.rfind("rccl", 0) == 0;
}

bool is_comm_annotation(std::string_view name) {
  if (name.empty() || (name[0] != 'n' && name[0] != 'g' && name[0] != 'm' && name[0] != 'r')) return false;  // nearly all: once an event
  return name.rfind("nccl:", 0) == 0 || name.rfind("gloo:", 0) == 0 || name.rfind("mpi:", 0) == 0 || name == "record_param_comms";
}

double element_bytes(std::string_view dtype) {
  std::string_view text = dtype;
  if (text.rfind("c10::", 0) == 0) text.remove_prefix(5);
  const std::string t = folded(text);
  if (t == "bfloat16" || t == "half" || t == "float16" || t == "short" || t == "shortint" || t == "int16") return 2.0;
  if (t == "float" || t == "float32" || t == "int" || t == "int32" || t == "unsignedint") return 4.0;
  if (t == "double" || t == "float64" || t == "long" || t == "longint" || t == "int64" || t == "complexfloat") return 8.0;
  if (t == "byte" || t == "char" || t == "signedchar" || t == "unsignedchar" || t == "bool" || t == "uint8" || t == "int8" || t.rfind("float8", 0) == 0) return 1.0;
  return 0.0;
}

double payload(CommKind kind, const CommFacts& f) {
  if (kind == CommKind::barrier) return 0.0;
  const double element = element_bytes(f.dtype);
  if (element == 0.0) return -1.0;
  double elements = kind == CommKind::all_gather || kind == CommKind::receive ? f.out_elements : f.in_elements;
  if (elements < 0.0 && kind == CommKind::all_gather && f.in_elements >= 0.0 && f.size > 0) elements = f.in_elements * f.size;
  if (elements < 0.0 && kind != CommKind::all_gather) elements = std::max(f.in_elements, f.out_elements);
  return elements < 0.0 ? -1.0 : elements * element;
}

std::vector<std::int32_t> rank_list(std::string_view text) {
  if (text.find("...") != std::string_view::npos) return {};
  std::vector<std::int32_t> ranks;
  std::size_t at = 0;
  while ((at = text.find_first_of("0123456789", at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    const auto value = integer(text.substr(at, end - at));
    if (!value || *value > 100'000'000) return {};
    ranks.push_back(static_cast<std::int32_t>(*value));
    at = end;
  }
  return ranks;
}

bool differs(std::string_view splits) {
  const std::vector<std::int32_t> sizes = rank_list(splits);
  return std::any_of(sizes.begin(), sizes.end(), [&](std::int32_t s) { return s != sizes.front(); });
}

}  // namespace sgsim::import::kineto
