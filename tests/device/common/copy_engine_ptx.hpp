// SPDX-License-Identifier: Apache-2.0
#pragma once
// PTX of kernels that do one TMA operation each: load_R and im2col_R (R dimensions), store_R,
// reduce_OP_R. The driver compiles them.
//
// One block copies `bytes` of `image` into shared memory, 1024-byte aligned. Its first thread does
// the operation there. Then the block copies shared memory back. `status` becomes 1 when a load has
// completed its barrier with exactly `tx` bytes, or a store is done.

#include <string>

namespace tw::test {

inline constexpr const char* kReduceNames[] = {"add", "min", "max", "inc",
                                               "dec", "and", "or",  "xor"};

inline std::string ptx_coordinates(int rank, const char* registers) {
  std::string list = "{";
  for (int i = 0; i < rank; ++i)
    list += (i == 0 ? std::string() : std::string(", ")) + registers + std::to_string(i);
  return list + "}";
}

inline std::string ptx_load(int rank, bool im2col) {
  const std::string where = "[%shared], [%map, " + ptx_coordinates(rank, "%c") + "], [%barrier]";
  return std::string("  mbarrier.init.shared::cta.b64 [%barrier], 1;\n") +
         "  fence.proxy.async;\n"
         "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%barrier], %tx;\n"
         "  cp.async.bulk.tensor." +
         std::to_string(rank) + "d.shared::cluster.global." + (im2col ? "im2col" : "tile") +
         ".mbarrier::complete_tx::bytes " + where +
         (im2col ? ", " + ptx_coordinates(rank - 2, "%o") : "") +
         ";\n"
         "  mov.u32 %tries, 0;\n"
         "WAIT:\n"
         "  mbarrier.try_wait.parity.shared::cta.b64 %done, [%barrier], 0;\n"
         "  @%done bra ARRIVED;\n"
         "  add.u32 %tries, %tries, 1;\n"
         "  setp.lt.u32 %again, %tries, 100000;\n"
         "  @%again bra WAIT;\n"
         "  bra ISSUED;\n"
         "ARRIVED:\n"
         "  st.global.u32 [%status], 1;\n";
}

inline std::string ptx_store(int rank, const char* reduction) {
  const std::string where = "[%map, " + ptx_coordinates(rank, "%c") + "], [%shared];\n";
  const std::string start =
      reduction ? "  cp.reduce.async.bulk.tensor." : "  cp.async.bulk.tensor.";
  return start + std::to_string(rank) + "d.global.shared::cta." +
         (reduction ? std::string(reduction) + "." : std::string()) + "tile.bulk_group " + where +
         "  cp.async.bulk.commit_group;\n"
         "  cp.async.bulk.wait_group 0;\n"
         "  st.global.u32 [%status], 1;\n";
}

inline std::string ptx_copy(const char* label, bool into_shared) {
  const std::string l = label;
  const std::string move = into_shared ? "  ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%from];\n"
                                         "  st.shared.v4.u32 [%to], {%w0, %w1, %w2, %w3};\n"
                                       : "  ld.shared.v4.u32 {%w0, %w1, %w2, %w3}, [%to];\n"
                                         "  st.global.v4.u32 [%from], {%w0, %w1, %w2, %w3};\n";
  return "  shl.b32 %at, %thread, 4;\n" + l + ":\n  setp.ge.u32 %end, %at, %bytes;\n  @%end bra " +
         l +
         "_END;\n"
         "  cvt.u64.u32 %wide, %at;\n"
         "  add.u64 %from, %image, %wide;\n"
         "  add.u32 %to, %shared, %at;\n" +
         move + "  add.u32 %at, %at, 2048;\n  bra " + l + ";\n" + l + "_END:\n";
}

inline std::string ptx_entry(const std::string& name, int rank, const std::string& operation) {
  std::string text = ".visible .entry " + name +
                     "(.param .align 64 .b8 p_map[128], .param .u64 p_image, .param .u32 p_bytes,\n"
                     " .param .u32 p_tx, .param .align 4 .b8 p_coord[20],\n"
                     " .param .align 4 .b8 p_offsets[12], .param .u64 p_status)\n{\n"
                     "  .reg .b64 %map, %image, %from, %wide, %status;\n"
                     "  .reg .b32 %shared, %barrier, %bytes, %tx, %thread, %at, %to, %tries;\n"
                     "  .reg .b32 %c<5>, %w<4>, %word;\n"
                     "  .reg .b16 %o<3>;\n"
                     "  .reg .pred %end, %done, %again, %first;\n"
                     "  mov.b64 %map, p_map;\n  cvta.param.u64 %map, %map;\n"
                     "  ld.param.u64 %image, [p_image];\n  cvta.to.global.u64 %image, %image;\n"
                     "  ld.param.u64 %status, [p_status];\n  cvta.to.global.u64 %status, %status;\n"
                     "  ld.param.u32 %bytes, [p_bytes];\n  ld.param.u32 %tx, [p_tx];\n"
                     "  mov.u32 %thread, %tid.x;\n  mov.u32 %shared, memory;\n"
                     "  add.u32 %barrier, %shared, %bytes;\n";
  for (int i = 0; i < rank; ++i) {
    const std::string n = std::to_string(i);
    text += "  ld.param.u32 %c" + n + ", [p_coord+" + std::to_string(i * 4) + "];\n";
    if (i < 3)
      text += "  ld.param.u32 %word, [p_offsets+" + std::to_string(i * 4) + "];\n  cvt.u16.u32 %o" +
              n + ", %word;\n";
  }
  return text + ptx_copy("IN", true) +
         "  fence.proxy.async;\n  bar.sync 0;\n"
         "  setp.ne.u32 %first, %thread, 0;\n  @%first bra ISSUED;\n" +
         operation + "ISSUED:\n  bar.sync 0;\n" + ptx_copy("OUT", false) + "  ret;\n}\n";
}

inline std::string copy_engine_ptx() {
  std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 1024 .b8 memory[];\n";
  for (int rank = 1; rank <= 5; ++rank) {
    const std::string r = std::to_string(rank);
    text += ptx_entry("load_" + r, rank, ptx_load(rank, false));
    if (rank >= 3) text += ptx_entry("im2col_" + r, rank, ptx_load(rank, true));
    text += ptx_entry("store_" + r, rank, ptx_store(rank, nullptr));
    for (const char* name : kReduceNames)
      text += ptx_entry(std::string("reduce_") + name + "_" + r, rank, ptx_store(rank, name));
  }
  return text;
}

}  // namespace tw::test
