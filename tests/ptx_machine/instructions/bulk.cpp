// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/bulk.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "tensor_map/descriptor.hpp"
#include "tensor_map/geometry.hpp"
#include "tensor_map/model/rows.hpp"
#include "tensor_map/model/tma_model.hpp"
#include "tensor_map/rebind.hpp"
#include "tests/ptx_machine/instructions/mbarrier.hpp"
#include "tests/ptx_machine/instructions/memory.hpp"
#include "tests/ptx_machine/instructions/reductions.hpp"
#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {
namespace {

/// Begins asynchronous work. Its reports name this instruction, even if it runs later.
template <class Work>
uint64_t begin(Warp& w, Work work) {
  return w.launch->begin_work([&w, pc = w.pc, work] {
    const uint32_t now = std::exchange(w.pc, pc);
    work();
    w.pc = now;
  });
}

/// New work of a kind, and work that completes at a CTA's mbarrier.
JudgedWork judged_work(Warp& w, Kind kind) {
  if (!w.judge()) return {};
  return {w.judge()->agent(w, kind), w.judge()->begin_work()};
}
JudgedWork judged_work(Warp& w, const Cta& cta, uint64_t barrier) {
  if (!w.judge()) return {};
  return {w.judge()->agent_at(w, cta, shared_offset(barrier)), w.judge()->begin_work()};
}

/// The global writes of a bulk store.
JudgedWork writes_of(Warp& w, const JudgedWork& store) {
  if (!w.judge()) return {};
  return {w.judge()->agent(w, Kind::bulk_write), store.time};
}

/// Tells the judge of the work's shared memory. Ranges out of bounds fail later, in the work.
void judged(Warp& w, const JudgedWork& work, const Cta& cta, uint64_t offset, uint64_t bytes,
            bool writes, uint32_t lane, Proxy proxy = Proxy::async) {
  const bool inside = offset <= cta.shared_bytes && bytes <= cta.shared_bytes - offset;
  if (w.judge() && inside)
    w.judge()->work_access(w, work, cta, offset, bytes, writes, proxy, static_cast<uint8_t>(lane));
}

/// The same for global memory. Reductions are atomic per element and pass Reach::gpu.
void judged_global(Warp& w, const JudgedWork& work, uint64_t address, uint64_t bytes, bool writes,
                   Proxy proxy = Proxy::async, Reach reach = Reach::weak) {
  if (w.judge() && w.launch->memory.contains(address, bytes))
    w.judge()->work_global(w, work, address, bytes, writes, proxy, reach);
}

/// The end of work completes bytes or arrives at a barrier.
void arrive(Warp& w, uint64_t barrier, const JudgedWork& work, int64_t bytes, uint32_t arrivals) {
  if (w.judge()) Judge::work_arrives(work, mbarrier_knowledge(w, barrier));
  mbarrier_update(w, barrier, -bytes, arrivals);
}

void commit(BulkGroups& groups) {
  groups.committed.push_back(std::move(groups.open));
  groups.open.clear();
}

/// Waits until at most `left` groups are pending. The others have then ended for these kinds.
void wait(Warp& w, BulkGroups& groups, size_t left, std::initializer_list<Kind> kinds) {
  while (groups.committed.size() > left) {
    const std::vector<Work> oldest = std::move(groups.committed.front());
    groups.committed.erase(groups.committed.begin());
    for (const Work& work : oldest) {
      w.launch->finish(work.number);
      for (const Kind kind : kinds)
        if (w.judge()) w.judge()->work_ended(w, {w.judge()->agent(w, kind), work.judged});
    }
  }
}

uint32_t value32(const Warp& w, const Operand& operand, uint32_t lane) {
  return source<uint32_t>(w, operand)[lane];
}

/// An address in the CTA's own shared memory, with its rank.
uint64_t own_shared(Warp& w, const Operand& operand, uint32_t lane) {
  return shared_base(w) | shared_offset(as_shared(w, address_of(w, operand, lane)));
}

void check_outcome(Warp& w, const model::Outcome& outcome) {
  if (outcome.fault) w.fail(outcome.reason);
}

void check_global(Warp& w, uint64_t address, uint64_t bytes) {
  if (bytes != 0 && !w.launch->memory.contains(address, bytes))
    w.fail("the copy reaches outside global memory: " + std::to_string(bytes) + " bytes at " +
           std::to_string(address));
}

// cp.async.

/// The number of bytes read from global memory; the rest is filled with zeros.
uint32_t source_bytes(const Warp& w, const Instruction& in, uint32_t lane, uint32_t bytes) {
  if (in.operands < 4 || in.operand[3].kind == Operand::Kind::none) return bytes;
  return std::min(bytes, value32(w, in.operand[3], lane));
}

void cp_async(Warp& w, const Instruction& in) {
  const uint32_t bytes = static_cast<uint32_t>(in.operand[2].value);
  const bool wide = in.op == Op::cp_async_cg;
  if (wide ? bytes != 16 : bytes != 4 && bytes != 8 && bytes != 16)
    w.fail("cp.async of another size");
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t to = address_of(w, in.operand[0], i), from = address_of(w, in.operand[1], i);
    const uint32_t taken = source_bytes(w, in, i, bytes);
    if (from % bytes != 0) w.fail("the source is not aligned");
    if (to % bytes != 0) w.fail("the destination is not aligned");
    const JudgedWork work = judged_work(w, Kind::copy);
    judged(w, work, *w.cta, shared_offset(to), bytes, true, i, Proxy::generic);
    judged_global(w, work, from, taken, false, Proxy::generic);
    const uint64_t number = begin(w, [&w, to, from, bytes, taken] {
      uint8_t* shared = shared_range(w, *w.cta, shared_offset(to), bytes, Access::write);
      check_global(w, from, taken);
      std::memcpy(shared, reinterpret_cast<const void*>(from), taken);
      std::memset(shared + taken, 0, bytes - taken);
    });
    w.copies[i].open.push_back({number, work.time});
  });
}

void cp_async_commit(Warp& w, const Instruction&) {
  each_lane(w.mask, [&](uint32_t i) { commit(w.copies[i]); });
}
void cp_async_wait(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    wait(w, w.copies[i], static_cast<size_t>(in.operand[0].value), {Kind::copy});
  });
}
void cp_async_wait_all(Warp& w, const Instruction&) {
  each_lane(w.mask, [&](uint32_t i) {
    commit(w.copies[i]);
    wait(w, w.copies[i], 0, {Kind::copy});
  });
}

/// Arrives at the barrier when all copies that the lane has begun are done.
void cp_async_arrive(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    std::vector<Work> works = w.copies[i].open;
    for (const auto& group : w.copies[i].committed)
      works.insert(works.end(), group.begin(), group.end());
    const uint64_t barrier = own_shared(w, in.operand[0], i);
    begin(w, [&w, works, barrier] {
      for (const Work& work : works) {
        w.launch->finish(work.number);
        if (w.judge())
          Judge::work_arrives({w.judge()->agent(w, Kind::copy), work.judged},
                              mbarrier_knowledge(w, barrier));
      }
      mbarrier_update(w, barrier, 0, 1);
    });
  });
}

// Bulk copies.

/// The CTAs that receive a load: those of the multicast mask, or that of the address.
std::vector<Cta*> receivers(Warp& w, const Instruction& in, uint64_t address, const Operand& mask,
                            uint32_t lane) {
  if (!in.has(Class::multicast)) return {&cta_at(w, address)};
  std::vector<Cta*> out;
  const uint64_t bits = read_lane(w, mask, lane);
  for (uint32_t rank = 0; rank < 16; ++rank)
    if (bits >> rank & 1) out.push_back(&cta_at(w, uint64_t{rank} << kRankShift));
  return out;
}

/// Completes a load's bytes at the barrier of one receiver.
void complete(Warp& w, const Cta& cta, uint64_t barrier, const JudgedWork& work, uint64_t bytes) {
  arrive(w, uint64_t{cta.rank} << kRankShift | shared_offset(barrier), work,
         static_cast<int64_t>(bytes), 0);
}

/// A load is work of its own for each receiver, since it completes at that CTA's barrier.
std::vector<JudgedWork> judged_loads(Warp& w, const std::vector<Cta*>& ctas, uint64_t barrier) {
  std::vector<JudgedWork> works;
  for (const Cta* cta : ctas) works.push_back(judged_work(w, *cta, barrier));
  return works;
}

void bulk_load(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t to = as_shared(w, address_of(w, in.operand[0], i)),
                   from = address_of(w, in.operand[1], i);
    const uint32_t bytes = value32(w, in.operand[2], i);
    const uint64_t barrier = as_shared(w, address_of(w, in.operand[3], i));
    const std::vector<Cta*> ctas = receivers(w, in, to, in.operand[4], i);
    const std::vector<JudgedWork> works = judged_loads(w, ctas, barrier);
    for (size_t c = 0; c < ctas.size(); ++c)
      judged(w, works[c], *ctas[c], shared_offset(to), bytes, true, i);
    judged_global(w, works[0], from, bytes, false);
    begin(w, [&w, to, from, bytes, barrier, ctas, works] {
      check_global(w, from, bytes);
      for (size_t c = 0; c < ctas.size(); ++c) {
        Cta* cta = ctas[c];
        const uint64_t offset = shared_offset(to);
        cta_at(w, uint64_t{cta->rank} << kRankShift);
        shared_range(w, *cta, offset, bytes, Access::write);
        check_outcome(w, model::load_bulk(from, cta->shared, static_cast<uint32_t>(offset), bytes));
        complete(w, *cta, barrier, works[c], bytes);
      }
    });
  });
}

void bulk_store(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t to = address_of(w, in.operand[0], i), from = own_shared(w, in.operand[1], i);
    const uint32_t bytes = value32(w, in.operand[2], i);
    const JudgedWork work = judged_work(w, Kind::bulk);
    judged(w, work, *w.cta, shared_offset(from), bytes, false, i);
    judged_global(w, writes_of(w, work), to, bytes, true);
    const uint64_t number = begin(w, [&w, to, from, bytes] {
      check_global(w, to, bytes);
      shared_range(w, *w.cta, shared_offset(from), bytes, Access::read);
      check_outcome(w, model::store_bulk(to, w.cta->shared,
                                         static_cast<uint32_t>(shared_offset(from)), bytes));
    });
    w.bulk[i].open.push_back({number, work.time});
  });
}

DType dtype_of(Type type) {
  switch (type) {
    case Type::b32:
    case Type::u32:
      return DType::U32;
    case Type::s32:
      return DType::I32;
    case Type::b64:
    case Type::u64:
      return DType::U64;
    case Type::s64:
      return DType::I64;
    case Type::f16:
      return DType::F16;
    case Type::bf16:
      return DType::BF16;
    case Type::f64:
      return DType::F64;
    default:
      return DType::F32;
  }
}

model::ReduceOp reduce_op(Word operation) {
  switch (operation) {
    case Word::op_min:
      return model::ReduceOp::min;
    case Word::op_max:
      return model::ReduceOp::max;
    case Word::op_inc:
      return model::ReduceOp::inc;
    case Word::op_dec:
      return model::ReduceOp::dec;
    case Word::op_and:
      return model::ReduceOp::and_;
    case Word::op_or:
      return model::ReduceOp::or_;
    case Word::op_xor:
      return model::ReduceOp::xor_;
    default:
      return model::ReduceOp::add;
  }
}

void bulk_reduce(Warp& w, const Instruction& in) {
  const DType dtype = dtype_of(in.types[0]);
  const model::ReduceOp op = reduce_op(in.word(Class::operation));
  w.launch->statistics.unordered |= is_floating(in.types[0]);
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t to = address_of(w, in.operand[0], i), from = own_shared(w, in.operand[1], i);
    const uint32_t bytes = value32(w, in.operand[2], i);
    const JudgedWork work = judged_work(w, Kind::bulk);
    judged(w, work, *w.cta, shared_offset(from), bytes, false, i);
    judged_global(w, writes_of(w, work), to, bytes, true, Proxy::async, Reach::gpu);
    const uint64_t number = begin(w, [&w, to, from, bytes, dtype, op] {
      check_global(w, to, bytes);
      const uint64_t offset = shared_offset(from);
      shared_range(w, *w.cta, offset, bytes, Access::read);
      check_outcome(w, model::reduce_bulk(to, w.cta->shared, static_cast<uint32_t>(offset), bytes,
                                          dtype, op));
    });
    w.bulk[i].open.push_back({number, work.time});
  });
}

void bulk_prefetch(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t from = address_of(w, in.operand[0], i);
    const uint32_t bytes = value32(w, in.operand[1], i);
    check_global(w, from, bytes);
    check_outcome(w, model::prefetch_bulk(from, bytes));
  });
}

void bulk_commit(Warp& w, const Instruction&) {
  each_lane(w.mask, [&](uint32_t i) { commit(w.bulk[i]); });
}
void bulk_wait(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const size_t left = static_cast<size_t>(in.operand[0].value);
    if (in.has(Class::read))
      wait(w, w.bulk[i], left, {Kind::bulk});
    else
      wait(w, w.bulk[i], left, {Kind::bulk, Kind::bulk_write});
  });
}

// Tensor copies.

struct Box {
  TensorMapDesc map;
  int32_t coord[5] = {};
};

TensorMapDesc read_map(Warp& w, uint64_t address, uint32_t lane) {
  if (address % 64 != 0) w.fail("the tensor map's address is no multiple of 64");
  TensorMapBytes bytes;
  const bool global = w.launch->memory.contains(address, sizeof bytes);
  if (global && w.judge()) w.judge()->map_used(w, address);
  for (uint64_t i = 0; i < 16; ++i) {
    const uint64_t at = address + 8 * i;
    const void* from = global ? reinterpret_cast<const void*>(at)
                              : locate(w, Word::none, at, 8, Access::read, lane);
    std::memcpy(&bytes.words[i], from, 8);
  }
  TensorMapDesc desc;
  if (!decode(bytes, &desc).ok())
    w.fail("not a valid tensor map: " + std::string(last_failure().message));
  return desc;
}

/// Reads operand `number`: a map with coordinates (gather4, scatter4: a column and four rows).
Box read_box(Warp& w, const Instruction& in, int number, uint32_t lane) {
  const Operand& list = in.operand[number];
  Box box;
  box.map = read_map(w, address_of(w, item(w, list, 0), lane), lane);
  const bool rows = in.op == Op::tensor_gather4 || in.op == Op::tensor_scatter4;
  const int wanted =
      rows ? 5 : 1 + static_cast<int>(in.word(Class::dimensions)) - static_cast<int>(Word::d1);
  if (list.count != wanted + 1) w.fail("the number of coordinates does not match the dimensions");
  if (box.map.rank != (rows ? 2 : wanted))
    w.fail("the tensor map's rank does not match the instruction");
  for (int i = 0; i < wanted; ++i)
    box.coord[i] = static_cast<int32_t>(value32(w, item(w, list, i + 1), lane));
  return box;
}

/// Fails unless the part of the box inside the tensor is in global memory.
void check_box(Warp& w, const TensorMapDesc& map, const int32_t* coord) {
  uint64_t first = map.global_address, last = map.global_address;
  for (int32_t i = 0; i < map.rank; ++i) {
    const int64_t extent = static_cast<int64_t>(map.global_dim[i]);
    const int64_t begin = std::max<int64_t>(coord[i], 0);
    const int64_t end = std::min<int64_t>(
        coord[i] + static_cast<int64_t>(map.box_dim[i]) * map.element_strides[i], extent);
    if (begin >= end) return;
    const uint64_t stride = i == 0 ? dtype_bytes(map.dtype) : map.global_stride_bytes[i - 1];
    first += static_cast<uint64_t>(begin) * stride;
    last += static_cast<uint64_t>(end - 1) * stride;
  }
  check_global(w, first, last - first + dtype_bytes(map.dtype));
}

void check_rows(Warp& w, const Box& box) {
  for (int i = 1; i < 5; ++i) {
    const int32_t coord[2] = {box.coord[0], box.coord[i]};
    check_box(w, box.map, coord);
  }
}

/// Tells the judge which global memory a box accesses. A store's rows are rounded up to 16 bytes.
void judge_box(Warp& w, const JudgedWork& work, const TensorMapDesc& map, const int32_t* coord,
               bool writes, Reach reach) {
  const model::RowShape shape(map, coord[0]);
  const int64_t begin = std::max<int64_t>(shape.first, 0);
  int64_t end = std::min<int64_t>(shape.first + shape.bytes, shape.extent);
  if (writes && end > begin) end = begin + (end - begin + 15) / 16 * 16;
  if (!w.judge() || end <= begin) return;
  model::for_each_row(map, coord, [&](uint64_t address, bool inside) {
    if (inside)
      judged_global(w, work, address + static_cast<uint64_t>(begin),
                    static_cast<uint64_t>(end - begin), writes, Proxy::async, reach);
  });
}

void judge_boxes(Warp& w, const JudgedWork& work, const Box& box, bool rows, bool writes,
                 Reach reach = Reach::weak) {
  if (!rows) return judge_box(w, work, box.map, box.coord, writes, reach);
  TensorMapDesc row = box.map;
  row.box_dim[1] = row.element_strides[1] = 1;
  for (int i = 1; i < 5; ++i) {
    const int32_t coord[2] = {box.coord[0], box.coord[i]};
    judge_box(w, work, row, coord, writes, reach);
  }
}

void tensor_load(Warp& w, const Instruction& in) {
  const bool rows = in.op == Op::tensor_gather4;
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t to = as_shared(w, address_of(w, in.operand[0], i));
    const Box box = read_box(w, in, 1, i);
    const uint64_t barrier = as_shared(w, address_of(w, in.operand[2], i));
    const std::vector<Cta*> ctas = receivers(w, in, to, in.operand[3], i);
    const std::vector<JudgedWork> works = judged_loads(w, ctas, barrier);
    const uint64_t span = (rows ? 4 : 1) * model::shared_span(box.map);
    for (size_t c = 0; c < ctas.size(); ++c)
      judged(w, works[c], *ctas[c], shared_offset(to), span, true, i);
    judge_boxes(w, works[0], box, rows, false);
    begin(w, [&w, to, box, barrier, ctas, rows, works] {
      rows ? check_rows(w, box) : check_box(w, box.map, box.coord);
      const uint32_t offset = static_cast<uint32_t>(shared_offset(to));
      for (size_t c = 0; c < ctas.size(); ++c) {
        Cta* cta = ctas[c];
        cta_at(w, uint64_t{cta->rank} << kRankShift);
        shared_range(w, *cta, offset, (rows ? 4 : 1) * model::shared_span(box.map), Access::write);
        const model::Outcome outcome =
            rows ? model::load_gather4(box.map, box.coord[0], box.coord + 1, cta->shared, offset)
                 : model::load_tile(box.map, box.coord, cta->shared, offset);
        check_outcome(w, outcome);
        complete(w, *cta, barrier, works[c], outcome.transaction_bytes);
      }
    });
  });
}

model::Outcome store_box(const Instruction& in, const Box& box, const uint8_t* shared,
                         uint32_t offset) {
  switch (in.op) {
    case Op::tensor_scatter4:
      return model::store_scatter4(box.map, box.coord[0], box.coord + 1, shared, offset);
    case Op::tensor_reduce:
      return model::reduce_tile(box.map, box.coord, shared, offset,
                                reduce_op(in.word(Class::operation)));
    default:
      return model::store_tile(box.map, box.coord, shared, offset);
  }
}

void tensor_store(Warp& w, const Instruction& in) {
  const bool rows = in.op == Op::tensor_scatter4;
  // Only the map knows the elements' type, so every reduction counts as floating-point.
  w.launch->statistics.unordered |= in.op == Op::tensor_reduce;
  each_lane(w.mask, [&](uint32_t i) {
    const Box box = read_box(w, in, 0, i);
    const uint32_t offset = static_cast<uint32_t>(shared_offset(own_shared(w, in.operand[1], i)));
    const JudgedWork work = judged_work(w, Kind::bulk);
    judged(w, work, *w.cta, offset, (rows ? 4 : 1) * model::shared_span(box.map), false, i);
    judge_boxes(w, writes_of(w, work), box, rows, true,
                in.op == Op::tensor_reduce ? Reach::gpu : Reach::weak);
    const uint64_t number = begin(w, [&w, &in, box, offset, rows] {
      rows ? check_rows(w, box) : check_box(w, box.map, box.coord);
      // The part of a box outside the tensor need not have been written.
      shared_range(w, *w.cta, offset, (rows ? 4 : 1) * model::shared_span(box.map), Access::any);
      check_outcome(w, store_box(in, box, w.cta->shared, offset));
    });
    w.bulk[i].open.push_back({number, work.time});
  });
}

void tensor_prefetch(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const Box box = read_box(w, in, 0, i);
    check_box(w, box.map, box.coord);
    check_outcome(w, model::prefetch_tile(box.map, box.coord));
  });
}

// Tensor maps that a kernel modifies.

void map_replace_address(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    TensorMapBytes map;
    const uint64_t offset = shared_offset(own_shared(w, in.operand[0], i));
    uint8_t* at = shared_range(w, *w.cta, offset, sizeof map, Access::both);
    if (w.judge())
      w.judge()->access(w, *w.cta, offset, sizeof map, true, true,
                        {.lane = static_cast<uint8_t>(i)});
    std::memcpy(&map, at, sizeof map);
    rebind_address(&map, read_lane(w, in.operand[1], i));
    std::memcpy(at, &map, sizeof map);
  });
}

/// The warp copies one map as a whole.
void map_copy_fence(Warp& w, const Instruction& in) {
  if (!w.converged(w.alive)) return;
  const uint32_t lane = first_lane(w.mask);
  const uint64_t bytes = static_cast<uint64_t>(in.operand[2].value);
  const uint64_t to = address_of(w, in.operand[0], lane);
  const uint64_t offset = shared_offset(own_shared(w, in.operand[1], lane));
  if (bytes != 128 || to % 128 != 0)
    w.fail("a tensor map must have 128 bytes at a multiple of 128");
  check_global(w, to, bytes);
  const uint8_t* from = shared_range(w, *w.cta, offset, bytes, Access::read);
  if (w.judge()) {
    w.judge()->access(w, *w.cta, offset, bytes, true, false, {.lane = kEachLane});
    w.judge()->global_access(w, to, bytes, false, true, {.map_copied = true});
    w.judge()->fence(w, Reach::gpu);
  }
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
}

/// A lane's store to a CTA of the cluster, which completes its bytes at a barrier there.
struct AsyncStore {
  uint64_t to = 0, barrier = 0;
  std::vector<uint8_t> data;
  JudgedWork work;
};

AsyncStore async_store(Warp& w, const Instruction& in, uint32_t lane) {
  const Operand& a = in.operand[1];
  const uint32_t bytes = static_cast<uint32_t>(type_bytes(in.types[0]));
  const uint32_t count = a.kind == Operand::Kind::list ? a.count : 1;
  AsyncStore store{address_of(w, in.operand[0], lane),
                   address_of(w, in.operand[2], lane),
                   std::vector<uint8_t>(size_t{bytes} * count),
                   {}};
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t value = read_lane(w, a.kind == Operand::Kind::list ? item(w, a, k) : a, lane);
    std::memcpy(&store.data[k * bytes], &value, bytes);
  }
  if (store.to >> kRankShift != store.barrier >> kRankShift)
    w.fail("the barrier is in another CTA than the destination");
  if (store.to % store.data.size() != 0) w.fail("the destination is not aligned");
  const Cta& cta = cta_at(w, store.to);
  store.work = judged_work(w, cta, store.barrier);
  judged(w, store.work, cta, shared_offset(store.to), store.data.size(), true, lane,
         Proxy::generic);
  return store;
}

/// The stores of all lanes are one piece of work, since there may be very many of them.
void st_async(Warp& w, const Instruction& in) {
  std::vector<AsyncStore> stores;
  each_lane(w.mask, [&](uint32_t i) { stores.push_back(async_store(w, in, i)); });
  begin(w, [&w, stores] {
    for (const AsyncStore& store : stores) {
      const size_t bytes = store.data.size();
      std::memcpy(
          shared_range(w, cta_at(w, store.to), shared_offset(store.to), bytes, Access::write),
          store.data.data(), bytes);
      arrive(w, store.barrier, store.work, static_cast<int64_t>(bytes), 0);
    }
  });
}

}  // namespace

Run bulk_handler(const Instruction& in) {
  switch (in.op) {
    case Op::cp_async_ca:
    case Op::cp_async_cg:
      return cp_async;
    case Op::cp_async_commit:
      return cp_async_commit;
    case Op::cp_async_wait:
      return cp_async_wait;
    case Op::cp_async_wait_all:
      return cp_async_wait_all;
    case Op::cp_async_arrive:
      return cp_async_arrive;
    case Op::bulk_load:
      return bulk_load;
    case Op::bulk_store:
      return bulk_store;
    case Op::bulk_reduce:
      return bulk_reduce;
    case Op::bulk_prefetch:
      return bulk_prefetch;
    case Op::bulk_commit:
      return bulk_commit;
    case Op::bulk_wait:
      return bulk_wait;
    case Op::tensor_load:
    case Op::tensor_gather4:
      return tensor_load;
    case Op::tensor_store:
    case Op::tensor_scatter4:
    case Op::tensor_reduce:
      return tensor_store;
    case Op::tensor_prefetch:
      return tensor_prefetch;
    case Op::map_replace_address:
      return map_replace_address;
    case Op::map_copy_fence:
      return map_copy_fence;
    case Op::st_async:
      return st_async;
    default:
      return nullptr;
  }
}

}  // namespace tw::ptx_machine
