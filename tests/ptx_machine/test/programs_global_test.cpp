// SPDX-License-Identifier: Apache-2.0
// Good and bad programs: global memory, clusters, dependent launches, tensor maps.
#include "tensor_map/rules/check.hpp"
#include "tests/ptx_machine/test/pairs.hpp"

using namespace tw;
using namespace tw::test;

namespace {

const Extent kTwo{.warps = 1, .ctas = 2}, kPair{.warps = 1, .ctas = 2, .cluster = 2};
/// CTA 0 goes on, CTA 1 jumps to OTHER. %d10 is the flag's address: CTA 1's first output.
const std::string kSplit =
    kPlaces +
    "setp.ne.u32 %p3, %r30, 0;\nadd.s64 %d10, %d0, 256;\nmov.u32 %r7, 1;\n@%p3 bra OTHER;\n";
/// The first CTA's threads store their data, and thread 0 sets the flag.
std::string leave(const std::string& before, const std::string& store) {
  return "st.global.u32 [%d2], %r7;\nbar.warp.sync -1;\n" + before + "@%p1 " + store +
         " [%d10], %r7;\nbra OUT;\nOTHER:\n";
}
/// The second CTA waits for the flag and reads the data.
std::string take(const std::string& load, const std::string& after) {
  return "TURN:\n" + load + " %r6, [%d10];\nsetp.eq.u32 %p4, %r6, 0;\n@%p4 bra TURN;\n" + after +
         "mad.wide.u32 %d11, %r0, 8, %d0;\nld.global.u32 %r8, [%d11];\nOUT:\n";
}
const std::string kFenceGpu = "fence.acq_rel.gpu;\n";

}  // namespace

TEST_CASE("programs: CTAs that access the same global memory") {
  good(kTwo, kPlaces + "st.global.u64 [%d2], %d4;\n");
  bad(kTwo, kPlaces + "st.global.u64 [%d0], %d4;\n",
      "race: write is not ordered after an earlier write");
  good(kTwo, kPlaces + "atom.global.add.u64 %d5, [%d0], %d4;\n");
  bad(kTwo, kPlaces + "atom.relaxed.cta.global.add.u64 %d5, [%d0], %d4;\n", "race: ");
  good(kPair, kPlaces + "atom.relaxed.cluster.global.add.u64 %d5, [%d0], %d4;\n");
  bad(kTwo, kPlaces + "atom.relaxed.cluster.global.add.u64 %d5, [%d0], %d4;\n", "race: ");
  good(kTwo, kPlaces + "red.relaxed.gpu.global.add.u64 [%d0], %d4;\n");
  bad(kTwo, kPlaces + "ld.global.u64 %d5, [%d0];\nst.global.u64 [%d2], %d5;\n", "race: ");
  // Writing equal values is only a letter.
  good(kTwo, kPlaces + "mov.u32 %r7, 5;\nst.global.u32 [%d0], %r7;\n");
  CHECK(letters().size() == 1);
  // Neighboring bytes do not race.
  good(kTwo,
       kPlaces + "cvt.u64.u32 %d6, %r30;\nadd.s64 %d6, %d6, %d0;\nst.global.u8 [%d6], %r7;\n");
}

TEST_CASE("programs: messages through global memory") {
  good(kTwo,
       kSplit + leave("", "st.release.gpu.global.u32") + take("ld.acquire.gpu.global.u32", ""));
  bad(kTwo, kSplit + leave("", "st.relaxed.gpu.global.u32") + take("ld.acquire.gpu.global.u32", ""),
      "a release and an acquire at .gpu scope");
  bad(kTwo, kSplit + leave("", "st.release.gpu.global.u32") + take("ld.relaxed.gpu.global.u32", ""),
      "race: ");
  bad(kTwo, kSplit + leave("", "st.release.cta.global.u32") + take("ld.acquire.gpu.global.u32", ""),
      "race: ");
  bad(kTwo, kSplit + leave("", "st.release.gpu.global.u32") + take("ld.acquire.cta.global.u32", ""),
      "race: ");
  bad(kTwo, kSplit + leave("", "st.global.u32") + take("ld.acquire.gpu.global.u32", ""), "race: ");
  bad(kTwo, kSplit + leave("", "st.release.gpu.global.u32") + take("ld.global.u32", ""), "race: ");
  // Within a cluster, cluster scope suffices.
  good(kPair, kSplit + leave("", "st.release.cluster.global.u32") +
                  take("ld.acquire.cluster.global.u32", ""));
  bad(kTwo,
      kSplit + leave("", "st.release.cluster.global.u32") +
          take("ld.acquire.cluster.global.u32", ""),
      "race: ");
}

TEST_CASE("programs: messages by fences") {
  const std::string store = "st.relaxed.gpu.global.u32", load = "ld.relaxed.gpu.global.u32";
  good(kTwo, kSplit + leave(kFenceGpu, store) + take(load, kFenceGpu));
  bad(kTwo, kSplit + leave(kFenceGpu, store) + take(load, ""), "race: ");
  bad(kTwo, kSplit + leave("", store) + take(load, kFenceGpu), "race: ");
  bad(kTwo, kSplit + leave("fence.acq_rel.cta;\n", store) + take(load, kFenceGpu), "race: ");
  // Writes after the fence are not released.
  bad(kTwo, kSplit + kFenceGpu + leave("", store) + take(load, kFenceGpu), "race: ");
  // A flag set by an atomic operation releases, too.
  const std::string both = "atom.relaxed.gpu.global.add.u32 %r9,";
  good(kTwo, kSplit + leave(kFenceGpu, both) + take(load, kFenceGpu));
}

TEST_CASE("programs: the last CTA reads the results of all CTAs") {
  const auto last = [](const std::string& meet, const std::string& before,
                       const std::string& after) {
    return kPlaces + "mov.u32 %r7, 1;\nst.global.u32 [%d2+4], %r7;\n" + meet + before +
           "@!%p1 bra NOT;\natom.global.add.u32 %r8, [%d0], %r7;\nst.shared.u32 [%r10], "
           "%r8;\nNOT:\n" +
           after +
           "bar.sync 0;\nld.shared.u32 %r8, [%r10];\nsetp.eq.u32 %p4, %r8, 0;\n@%p4 bra OUT;\n" +
           "xor.b32 %r9, %r31, 64;\nmad.wide.u32 %d11, %r9, 8, %d0;\nld.global.u32 %r9, "
           "[%d11+4];\nOUT:\n";
  };
  const Extent extent{.warps = 2, .ctas = 2};
  good(extent, last(kSync, kFenceGpu, kFenceGpu));
  bad(extent, last(kSync, "", kFenceGpu), "race: ");
  bad(extent, last(kSync, kFenceGpu, ""), "race: ");
  // Only the barrier orders the other warp before thread 0.
  bad(extent, last("", kFenceGpu, kFenceGpu), "race: ");
}

TEST_CASE("programs: global memory between threads and the async proxy") {
  const std::string write = kPlaces + init(1) + "st.global.u64 [%d3], %d4;\n";
  const std::string load = expect(512) + bulk_load(512) + await() + kLoadOther;
  good({}, write + "fence.proxy.async.global;\n" + kSync + load);
  good({}, write + "fence.proxy.async;\n" + kSync + load);
  bad({}, write + kSync + load, "no fence.proxy.async");
  bad({}, write + kFence + kSync + load, "no fence.proxy.async");
  bad({}, write + "fence.proxy.async.global;\n" + load, "race: ");
}

TEST_CASE("programs: constant loads of what the grid writes") {
  const std::string own = kPlaces + "st.global.u64 [%d2], %d4;\n";
  good({}, own + "ld.global.u64 %d5, [%d2];\n");
  bad({}, own + "ld.global.nc.u64 %d5, [%d2];\n", "constant load of memory that the grid writes");
  good({}, kPlaces + "ld.global.nc.u64 %d5, [%d3];\nst.global.u64 [%d2], %d5;\n");
  bad({}, kPlaces + "ld.global.nc.u64 %d5, [%d2];\nst.global.u64 [%d2], %d5;\n",
      "writes what the grid has read as constant");
}

TEST_CASE("programs: launches that overlap") {
  const std::string write = "st.global.u64 [%d2], %d4;\n", wait = "griddepcontrol.wait;\n",
                    go = "griddepcontrol.launch_dependents;\n";
  const std::string read = "ld.global.u64 %d5, [%d2];\n";
  const Extent one{.warps = 1};
  good_launches(one, {{go + write}, {wait + read, true}});
  bad_launches(one, {{go + write}, {read + wait, true}}, "griddepcontrol.wait would order them");
  good_launches(one, {{go + write}, {read, false}});
  good_launches(one, {{read}, {wait + write, true}});
  bad_launches(one, {{read}, {write + wait, true}}, "race: ");
  bad_launches(one, {{write}, {write + wait, true}},
               "race: write is not ordered after an earlier write");
  // Memory that no launch has written may be read before the wait.
  good_launches(one, {{go + write}, {"ld.global.u64 %d5, [%d3];\n" + wait + read, true}});
  // One warp waits; a barrier orders the others after it.
  const std::string first = kPlaces + "@!%p2 bra NEXT;\ngriddepcontrol.wait;\nNEXT:\n";
  good_launches({}, {{write}, {first + kSync + read, true}});
  bad_launches({}, {{write}, {first + read, true}}, "griddepcontrol.wait would order them");
  // A launch is ordered after its predecessor's predecessor only if the predecessor has waited.
  good_launches(one, {{write}, {wait + go, true}, {wait + read, true}});
  bad_launches(one,
               {{write}, {go + "griddepcontrol.launch_dependents;\n", true}, {read + wait, true}},
               "griddepcontrol.wait would order them");
  good_launches(one, {{write}, {wait + go, true}, {read, true}});
  // The async proxy.
  const std::string load = kPlaces + init(1) + kSync;
  const std::string bring = "mov.u64 %d1, %d0;\n" + expect(512) + bulk_load(512) + await();
  good_launches({}, {{write}, {load + wait + bring, true}});
  bad_launches({}, {{write}, {load + bring + wait, true}}, "griddepcontrol.wait");
}

TEST_CASE("programs: constant loads of what a predecessor writes") {
  const std::string write = "st.global.u64 [%d2], %d4;\n", wait = "griddepcontrol.wait;\n";
  const Extent one{.warps = 1};
  good_launches(one, {{write}, {wait + "ld.global.u64 %d5, [%d2];\n", true}});
  bad_launches(one, {{write}, {wait + "ld.global.nc.u64 %d5, [%d2];\n", true}},
               "memory that a predecessor grid, which may still run, writes");
  good_launches(one, {{write}, {"ld.global.nc.u64 %d5, [%d2];\n", false}});
}

TEST_CASE("programs: shared memory of a cluster") {
  const std::string far = kPlaces +
                          "mov.u32 %r6, %cluster_ctarank;\nxor.b32 %r6, %r6, 1;\n"
                          "mapa.shared::cluster.u32 %r7, %r11, %r6;\n";
  const std::string store = "st.shared::cluster.u64 [%r7], %d4;\n",
                    read = "ld.shared.u64 %d5, [%r11];\n";
  const std::string arrive = "barrier.cluster.arrive.release.aligned;\n",
                    relaxed = "barrier.cluster.arrive.relaxed.aligned;\n",
                    wait = "barrier.cluster.wait.acquire.aligned;\n";
  good(kPair, far + relaxed + wait + store + arrive + wait + read);
  bad(kPair, far + relaxed + wait + store + relaxed + wait + read, "race: ");
  bad(kPair, far + relaxed + wait + store + read, "");
  // The other CTA may have exited.
  bad(kPair, far + store, "exit");
  const std::string one = "setp.eq.u32 %p5, %r6, 0;\n@%p5 bra OUT;\n" + store + "OUT:\n";
  good(kPair, far + one + relaxed + wait);
  bad(kPair, far + relaxed + wait + one, "exit");
}

TEST_CASE("programs: barriers of another CTA") {
  // CTA 1 arrives at the barrier of CTA 0, which waits.
  const std::string begin = kPlaces + "mov.u32 %r6, %cluster_ctarank;\nsetp.ne.u32 %p5, %r6, 0;\n";
  const std::string wait = "barrier.cluster.wait.acquire.aligned;\n",
                    relaxed = "barrier.cluster.arrive.relaxed.aligned;\n";
  const auto rest = [&](const std::string& arrive, const std::string& scope) {
    return "@!%p5 bra MINE;\nmov.u32 %r8, 0;\nmapa.shared::cluster.u32 %r7, %r20, %r8;\n@%p1 " +
           arrive + " _, [%r7];\nbra OUT;\nMINE:\nTURN:\nmbarrier.try_wait.parity" + scope +
           ".shared::cta.b64 %p7, [%r20], 0;\n@!%p7 bra TURN;\nOUT:\n";
  };
  const std::string wide = "mbarrier.arrive.release.cluster.shared::cluster.b64",
                    narrow = "mbarrier.arrive.shared::cluster.b64";
  const std::string made =
      begin + init(1) + "fence.mbarrier_init.release.cluster;\n" + relaxed + wait;
  good(kPair, made + rest(wide, ".acquire.cluster"));
  CHECK(letters().empty());
  bad(kPair, begin + init(1) + relaxed + wait + rest(wide, ".acquire.cluster"),
      "fence.mbarrier_init");
  // Too narrow a scope is only a letter.
  for (const std::string& scope : {std::string(""), std::string(".acquire.cluster")}) {
    good(kPair, made + rest(narrow, scope));
    CHECK(letters().size() == 1);
  }
  good(kPair, made + rest(wide, ""));
  CHECK(letters().size() == 1);
  // The CTA exits without having waited for the arrival.
  bad(kPair,
      made + "@!%p5 bra OUT;\nmov.u32 %r8, 0;\nmapa.shared::cluster.u32 %r7, %r20, %r8;\n@%p1 " +
          wide + " _, [%r7];\nOUT:\n",
      "exit");
}

TEST_CASE("programs: a CTA whose memory another CTA reads") {
  const std::string meet =
      "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n";
  const std::string arrive = "barrier.cluster.arrive.release.aligned;\n";
  // CTA 0 reads what CTA 1 has stored.
  const std::string read = kPlaces + kStore + meet +
                           "setp.ne.u32 %p3, %r30, 0;\n@%p3 bra OUT;\nmov.u32 %r6, 1;\n"
                           "mapa.shared::cluster.u32 %r7, %r11, %r6;\n"
                           "ld.shared::cluster.u64 %d5, [%r7];\nOUT:\n";
  good(kPair, read + meet);
  bad(kPair, read, "exit");
  bad(kPair, read + arrive, "exit");
  // Warps that exit after an arrival do not end the phase for others.
  const Extent large{.warps = 8, .ctas = 4, .cluster = 4};
  good(large, read + meet);
  bad(large, read + arrive, "exit");
}

TEST_CASE("programs: st.async into another CTA") {
  const std::string begin =
      kPlaces + init(1) + "fence.mbarrier_init.release.cluster;\n" +
      "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" +
      expect(256) +
      "mov.u32 %r6, %cluster_ctarank;\nxor.b32 %r6, %r6, 1;\nmapa.shared::cluster.u32 %r7, %r11, "
      "%r6;\n"
      "mapa.shared::cluster.u32 %r8, %r20, %r6;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r7], {%r1, %r2}, "
      "[%r8];\n";
  const std::string read = "ld.shared.u64 %d5, [%r11];\n";
  good(kPair, begin + await() + read);
  bad(kPair, begin + read + await(), "race: ");
  bad(kPair, begin, "exit");
}

TEST_CASE("programs: tensor maps that a kernel writes") {
  // The input's first 128 bytes are a map for the input after them.
  const std::string copy =
      "mov.u32 %r24, fixed+1024;\nshl.b32 %r6, %r0, 3;\nadd.s32 %r6, %r6, %r24;\nsetp.lt.u32 %p5, "
      "%r0, 16;\n"
      "@%p5 st.shared.u64 [%r6], %d4;\nbar.warp.sync -1;\nadd.s64 %d12, %d0, 127;\nand.b64 %d12, "
      "%d12, -128;\n";
  const std::string release =
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
      "[%d12], "
      "[%r24], 128;\n";
  const std::string acquire = "@%p1 fence.proxy.tensormap::generic.acquire.gpu [%d12], 128;\n";
  const std::string load =
      expect(64) +
      "mov.u32 %r25, 0;\n@%p1 "
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%r10], [%d12, {%r25}], [%r20];\n" +
      await();
  const auto run = [&](const std::string& body) {
    Lab lab;
    lab.shape.block[0] = 32;
    lab.options.judge = true;
    lab.resize();
    lab.fill([](size_t) { return 0; });
    TensorMapDesc desc;
    desc.dtype = DType::F32;
    desc.rank = 1;
    desc.global_address = (reinterpret_cast<uintptr_t>(lab.in.data()) + 143) / 16 * 16;
    desc.global_dim[0] = desc.box_dim[0] = 16;
    TensorMapBytes map;
    REQUIRE(encode(desc, 90, &map).ok());
    std::memcpy(lab.in.data(), map.words, sizeof map);
    return lab.fault(kPlaces + init(1) + kSync + body);
  };
  CHECK(run(copy + release + acquire + load) == "");
  CHECK(says(run(copy + release + load), "without an acquire"));
  const std::string plain =
      "add.s64 %d13, %d12, 0;\nshl.b32 %r6, %r0, 3;\ncvt.u64.u32 %d14, %r6;\n"
      "add.s64 %d13, %d13, %d14;\n@%p5 st.global.u64 [%d13], %d4;\nbar.warp.sync -1;\n";
  CHECK(says(run(copy + plain + acquire + load), "that threads have written"));
  // After a second write the map needs a second acquire.
  CHECK(says(run(copy + release + acquire + release + load), "without an acquire"));
}
