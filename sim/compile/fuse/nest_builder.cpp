#include "sim/compile/fuse/nest_builder.h"

#include <algorithm>
#include <array>

#include "sim/compile/fuse/reduction_split.h"

namespace sgsim::compile::fuse {

void Expression::absorb(const Expression& o, std::uint32_t behind) {
  for (const Read& read : o.reads) {
    if (std::none_of(reads.begin(), reads.end(), [&](const Read& r) { return r.same_as(read); })) reads.push_back(read);
  }
  for (const OpUse& u : o.uses) use(u.op, u.times, behind == kNone ? u.behind : behind);
}

void Expression::use(std::uint32_t op, std::uint32_t times, std::uint32_t behind) {
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const OpUse& u) { return u.op == op && u.behind == behind; });
  if (found == uses.end()) uses.push_back({op, times, behind});
  else found->times = std::max(found->times, times);
}

std::uint32_t Expression::operations(const Program& program) const {
  std::uint32_t n = 0;
  for (const OpUse& u : uses) n += u.behind == kNone ? u.times * program.ops[u.op].arithmetic : 0;
  for (const Read& read : reads) n += read.masked ? 0 : read.times;
  return n;
}

std::uint32_t Expression::loads() const {
  std::uint32_t n = 0;
  for (const Read& read : reads) n += read.times;
  return n;
}

namespace {

/// Dimensions of `mask`, outermost in memory first.
std::vector<std::uint32_t> in_memory_order(const Dims& shape, const Dims& storage, std::uint32_t mask) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t d = 0; d < shape.rank; ++d) {
    if ((mask >> d) & 1U) order.push_back(d);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t d) { return shape[d] == 1 ? std::int64_t{0} : storage[d]; };
    return key(a) > key(b);
  });
  return order;
}

}  // namespace

std::uint32_t NestBuilder::add_buffer(std::uint32_t value) {
  const Value& v = program_.values[value];
  result_.buffers.push_back({.value = value, .elements = static_cast<double>(v.elements()), .element_size = graph::size_of(v.dtype)});
  return static_cast<std::uint32_t>(result_.buffers.size() - 1);
}

std::uint32_t NestBuilder::partial_buffer(double elements) {
  result_.buffers.push_back({.value = kNone, .elements = elements, .element_size = 4});
  return static_cast<std::uint32_t>(result_.buffers.size() - 1);
}

LoopNest& NestBuilder::new_nest(LoopKind kind, const Expression& expression) {
  LoopNest nest;
  nest.kind = kind;
  nest.piece = piece_;
  nest.backward = backward_;
  for (const OpUse& u : expression.uses) {
    if (std::find(nest.ops.begin(), nest.ops.end(), u.op) == nest.ops.end()) nest.ops.push_back(u.op);
    nest.flops += static_cast<double>(u.times) * static_cast<double>(program_.ops[u.op].flops);
  }
  result_.nests.push_back(std::move(nest));
  return result_.nests.back();
}

Dependency NestBuilder::dependency(const Read& read, const Dims& shape, const std::vector<std::uint32_t>& order) const {
  std::array<Loop, kMaxRank> loops;
  std::size_t n = 0;
  double elements = 1.0;
  for (const std::uint32_t d : order) {
    loops[n++] = {shape[d], read.strides[d]};
    if (read.strides[d] != 0) elements *= static_cast<double>(shape[d]);
  }
  const double held = result_.buffers[read.buffer].elements;
  Dependency result{.buffer = read.buffer, .times = read.times, .signature = 0,
                    .elements = std::min({read.place != 0 ? read.touched : elements, held, read.most}), .whole = false, .contiguous = false};
  describe(result, {loops.data(), n}, read.offset, read.place);
  return result;
}

std::uint32_t NestBuilder::pointwise(const Expression& expression, std::uint32_t value, const Dims& storage) {
  const Dims& shape = program_.values[value].shape;
  const std::uint32_t buffer = add_buffer(value);
  LoopNest& nest = new_nest(LoopKind::pointwise, expression);
  nest.kept = shape.product();
  const auto order = in_memory_order(shape, storage, (1U << shape.rank) - 1U);
  for (const Read& read : expression.reads) nest.reads.push_back(dependency(read, shape, order));
  Read write;
  write.buffer = buffer;
  write.strides = storage;
  nest.writes.push_back(dependency(write, shape, order));
  return buffer;
}

void NestBuilder::write_results(LoopNest& nest, std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t r = 0; r < count; ++r) {
    Dependency write{.buffer = first + r, .times = 1, .signature = 0, .elements = result_.buffers[first + r].elements, .whole = true, .contiguous = true};
    const Loop loop{nest.kept, 1};
    describe(write, {&loop, 1}, 0, 0);
    nest.writes.push_back(write);
  }
}

std::uint32_t NestBuilder::reduction(std::uint32_t i, const Expression& expression, const Dims& shape, const Dims& storage, bool may_split) {
  const Op& op = program_.ops[i];
  const std::uint32_t all = (1U << shape.rank) - 1U, reduced = op.reduced & all;
  std::vector<std::uint32_t> order = in_memory_order(shape, row_major(shape), all & ~reduced);
  const std::size_t kept_rank = order.size();
  for (const std::uint32_t d : in_memory_order(shape, storage, reduced)) order.push_back(d);
  std::int64_t kept = 1, length = 1;
  for (std::size_t n = 0; n < order.size(); ++n) (n < kept_rank ? kept : length) *= shape[order[n]];

  std::vector<Dependency> reads;
  int inner = 0, outer = 0;
  bool contiguous = true;
  for (const Read& read : expression.reads) {
    reads.push_back(dependency(read, shape, order));
    contiguous = contiguous && reads.back().contiguous;
    if (!reads.back().whole) continue;
    bool far = true;
    for (std::size_t n = kept_rank; n < order.size(); ++n) far = far && (shape[order[n]] == 1 || read.strides[order[n]] > 1);
    ++(far ? outer : inner);
  }
  const bool is_outer = outer >= inner && outer > 0;
  const std::int64_t parts = may_split && outer + inner > 0 ? reduction_parts(kept, length, is_outer) : 1;
  if (parts <= 1) {
    const std::uint32_t first = static_cast<std::uint32_t>(result_.buffers.size());
    for (std::uint32_t r = 0; r < op.outputs; ++r) add_buffer(op.first_output + r);
    LoopNest& nest = new_nest(LoopKind::reduction, expression);
    nest.kept = kept;
    nest.reduced = length;
    nest.outer = !contiguous && (is_outer || kept > 8192);
    nest.online = op.online;
    nest.reads = std::move(reads);
    write_results(nest, first, op.outputs);
    return first;
  }

  // First kernel: each of `parts` blocks of rows by itself.
  const std::int64_t block = (length + parts - 1) / parts;
  std::vector<std::uint32_t> partial;
  for (std::uint32_t r = 0; r < op.outputs; ++r) partial.push_back(partial_buffer(static_cast<double>(kept * parts)));
  LoopNest& nest = new_nest(LoopKind::reduction, expression);
  nest.kept = kept * parts;
  nest.reduced = block;
  nest.outer = is_outer;
  nest.online = op.online;
  nest.whole_kept = kept;
  nest.whole_reduced = length;
  for (std::size_t n = 0; n < expression.reads.size(); ++n) {
    const Read& read = expression.reads[n];
    std::array<Loop, kMaxRank + 2> loops;
    std::size_t count = 0;
    std::int64_t step = 0, run = 1;
    bool one_run = true;
    for (std::size_t k = order.size(); k-- > kept_rank;) {  // do the reduced loops lie one inside the other?
      if (shape[order[k]] == 1) continue;
      if (run == 1) step = read.strides[order[k]];
      else one_run = one_run && read.strides[order[k]] == run * step;
      run *= shape[order[k]];
    }
    if (is_outer) loops[count++] = {parts, block * step};
    for (std::size_t k = 0; k < kept_rank; ++k) loops[count++] = {shape[order[k]], read.strides[order[k]]};
    if (!is_outer) loops[count++] = {parts, block * step};
    loops[count++] = {block, step};
    Dependency cut = reads[n];
    describe(cut, {loops.data(), count}, read.offset, one_run ? read.place : mix(read.place, cut.signature) | 1U);
    nest.reads.push_back(cut);
  }
  for (const std::uint32_t b : partial) write_results(nest, b, 1);
  return combine_parts(i, expression, std::move(partial), kept, parts, is_outer);
}

/// The kernels that sum the parts: one; statistics of two results (Welford) are cut again when there are many parts.
std::uint32_t NestBuilder::combine_parts(std::uint32_t i, const Expression& expression, std::vector<std::uint32_t> partial, std::int64_t kept,
                                         std::int64_t parts, bool outer) {
  const Op& op = program_.ops[i];
  for (;;) {
    const std::int64_t again = op.online ? reduction_parts(kept, parts, outer) : 1;
    const std::int64_t length = again > 1 ? (parts + again - 1) / again : parts;
    std::vector<std::uint32_t> results;
    for (std::uint32_t r = 0; r < op.outputs; ++r)
      results.push_back(again > 1 ? partial_buffer(static_cast<double>(kept * again)) : add_buffer(op.first_output + r));
    LoopNest& nest = new_nest(LoopKind::reduction, expression);
    nest.flops = 1.0;
    nest.combines = true;
    nest.kept = kept * again;
    nest.reduced = length;
    nest.outer = outer;
    for (const std::uint32_t b : partial) {
      Dependency read{.buffer = b, .times = 1, .signature = 0, .elements = result_.buffers[b].elements, .whole = true, .contiguous = !outer};
      const std::array<Loop, 2> loops = outer ? std::array<Loop, 2>{Loop{kept * again, 1}, Loop{length, kept * again}}
                                              : std::array<Loop, 2>{Loop{kept * again, length}, Loop{length, 1}};
      describe(read, loops, 0, 0);
      nest.reads.push_back(read);
    }
    for (const std::uint32_t b : results) write_results(nest, b, 1);
    if (again <= 1) return results.at(0);
    partial = std::move(results);
    parts = again;
  }
}

std::uint32_t NestBuilder::scan(std::uint32_t i, const Expression& expression) {
  const Op& op = program_.ops[i];
  const Value& value = program_.values[op.first_output];
  const std::uint32_t buffer = pointwise(expression, op.first_output, value.storage);
  LoopNest& nest = result_.nests.back();
  nest.kind = LoopKind::reduction;
  for (std::uint32_t d = 0; d < value.shape.rank; ++d) {
    if ((op.reduced >> d) & 1U) nest.reduced *= value.shape[d];
  }
  nest.kept /= std::max<std::int64_t>(nest.reduced, 1);
  return buffer;
}

std::uint32_t NestBuilder::scatter(std::uint32_t i, const Expression& expression, std::uint32_t values, std::uint32_t target) {
  const Value& rows = program_.values[values];
  const std::uint32_t buffer = add_buffer(program_.ops[i].first_output);
  LoopNest& nest = new_nest(LoopKind::pointwise, expression);
  nest.kept = rows.elements();
  nest.scatters = true;
  const auto order = in_memory_order(rows.shape, rows.storage, (1U << rows.shape.rank) - 1U);
  for (const Read& read : expression.reads) nest.reads.push_back(dependency(read, rows.shape, order));
  const double elements = static_cast<double>(rows.elements());
  // Rows are added in place, by atomic operations of the second-level cache, at places that only the data knows.
  nest.reads.push_back({.buffer = target, .times = 1, .signature = mix(i, 1), .elements = 0.0, .whole = false, .contiguous = false});
  nest.writes.push_back({.buffer = buffer, .times = 1, .signature = mix(i, 2), .elements = elements, .whole = false, .contiguous = false});
  return buffer;
}

std::uint32_t NestBuilder::fixed(std::uint32_t i, const std::vector<std::uint32_t>& reads) {
  const Op& op = program_.ops[i];
  const auto first = static_cast<std::uint32_t>(result_.buffers.size());
  for (std::uint32_t r = 0; r < op.outputs; ++r) add_buffer(op.first_output + r);
  LoopNest& nest = new_nest(LoopKind::fixed, {});
  nest.op = i;
  nest.ops = {i};
  for (const std::uint32_t b : reads) nest.reads.push_back({.buffer = b, .times = 1, .signature = 0, .elements = result_.buffers[b].elements});
  for (std::uint32_t r = 0; r < op.outputs; ++r)
    nest.writes.push_back({.buffer = first + r, .times = 1, .signature = 0, .elements = result_.buffers[first + r].elements});
  return first;
}

}  // namespace sgsim::compile::fuse
