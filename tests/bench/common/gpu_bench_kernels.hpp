// SPDX-License-Identifier: Apache-2.0
#pragma once
// The benchmarks' own kernels as PTX, so that building them needs no nvcc.

namespace tw::bench {

// bench_read and bench_read_wide read 16 and 4 x 16 bytes per thread. bench_spin waits.
// bench_clock writes an SM's clock, the time in ns and the SM's number. bench_compare counts the
// 16-byte units in which two buffers differ. bench_scramble writes a hash of each word's position.
inline constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry bench_read(.param .u64 base, .param .u64 size)
{
  .reg .pred p, q;
  .reg .b32 a, b, c, d, sum, t, n, i, g;
  .reg .b64 at, from, unit, units, step, offset;
  ld.param.u64 from, [base];
  ld.param.u64 units, [size];
  mov.u32 t, %tid.x;
  mov.u32 n, %ntid.x;
  mov.u32 i, %ctaid.x;
  mov.u32 g, %nctaid.x;
  mad.wide.u32 unit, i, n, 0;
  cvt.u64.u32 offset, t;
  add.u64 unit, unit, offset;
  mul.wide.u32 step, g, n;
  mov.u32 sum, 0;
loop:
  setp.ge.u64 p, unit, units;
  @p bra done;
  shl.b64 offset, unit, 4;
  add.u64 at, from, offset;
  ld.global.v4.u32 {a, b, c, d}, [at];
  xor.b32 a, a, b;
  xor.b32 c, c, d;
  xor.b32 a, a, c;
  xor.b32 sum, sum, a;
  add.u64 unit, unit, step;
  bra loop;
done:
  setp.eq.u32 q, sum, 0x5ca1ab1e;
  @q st.global.u32 [from], sum;
  ret;
}
.visible .entry bench_read_wide(.param .u64 base, .param .u64 size)
{
  .reg .pred p, q;
  .reg .b32 a, b, c, d, e, f, g, h, k, l, m, n, r, s, u, v, t, i;
  .reg .b64 at, from, unit, units, last;
  ld.param.u64 from, [base];
  ld.param.u64 units, [size];
  mov.u32 t, %tid.x;
  mov.u32 i, %ctaid.x;
  mul.wide.u32 unit, i, 2048;
  cvt.u64.u32 last, t;
  add.u64 unit, unit, last;
  add.u64 last, unit, 1536;
  setp.ge.u64 p, last, units;
  @p bra done;
  shl.b64 at, unit, 4;
  add.u64 at, at, from;
  ld.global.v4.u32 {a, b, c, d}, [at];
  ld.global.v4.u32 {e, f, g, h}, [at+8192];
  ld.global.v4.u32 {k, l, m, n}, [at+16384];
  ld.global.v4.u32 {r, s, u, v}, [at+24576];
  xor.b32 a, a, b;
  xor.b32 c, c, d;
  xor.b32 e, e, f;
  xor.b32 g, g, h;
  xor.b32 k, k, l;
  xor.b32 m, m, n;
  xor.b32 r, r, s;
  xor.b32 u, u, v;
  xor.b32 a, a, c;
  xor.b32 e, e, g;
  xor.b32 k, k, m;
  xor.b32 r, r, u;
  xor.b32 a, a, e;
  xor.b32 k, k, r;
  xor.b32 a, a, k;
  setp.eq.u32 q, a, 0x5ca1ab1e;
  @q st.global.u32 [at], a;
done:
  ret;
}
.visible .entry bench_spin(.param .u64 nanoseconds)
{
  .reg .pred p;
  .reg .b64 begin, now, wanted;
  ld.param.u64 wanted, [nanoseconds];
  mov.u64 begin, %globaltimer;
loop:
  mov.u64 now, %globaltimer;
  sub.u64 now, now, begin;
  setp.lt.u64 p, now, wanted;
  @p bra loop;
  ret;
}
.visible .entry bench_clock(.param .u64 to)
{
  .reg .b32 sm;
  .reg .b64 at, clocks, time, where;
  ld.param.u64 at, [to];
  mov.u32 sm, %smid;
  cvt.u64.u32 where, sm;
  mov.u64 clocks, %clock64;
  mov.u64 time, %globaltimer;
  st.global.v2.u64 [at], {clocks, time};
  st.global.u64 [at+16], where;
  ret;
}
.visible .entry bench_compare(.param .u64 one, .param .u64 other, .param .u64 size, .param .u64 count)
{
  .reg .pred p;
  .reg .b32 a, b, c, d, e, f, g, h, t, n, i, k;
  .reg .b64 at, x, y, unit, units, step, offset, total;
  ld.param.u64 x, [one];
  ld.param.u64 y, [other];
  ld.param.u64 units, [size];
  ld.param.u64 total, [count];
  mov.u32 t, %tid.x;
  mov.u32 n, %ntid.x;
  mov.u32 i, %ctaid.x;
  mov.u32 k, %nctaid.x;
  mad.wide.u32 unit, i, n, 0;
  cvt.u64.u32 offset, t;
  add.u64 unit, unit, offset;
  mul.wide.u32 step, k, n;
loop:
  setp.ge.u64 p, unit, units;
  @p bra done;
  shl.b64 offset, unit, 4;
  add.u64 at, x, offset;
  ld.global.v4.u32 {a, b, c, d}, [at];
  add.u64 at, y, offset;
  ld.global.v4.u32 {e, f, g, h}, [at];
  xor.b32 a, a, e;
  xor.b32 b, b, f;
  xor.b32 c, c, g;
  xor.b32 d, d, h;
  or.b32 a, a, b;
  or.b32 c, c, d;
  or.b32 a, a, c;
  setp.ne.u32 p, a, 0;
  @p red.global.add.u32 [total], 1;
  add.u64 unit, unit, step;
  bra loop;
done:
  ret;
}
.visible .entry bench_scramble(.param .u64 base, .param .u64 size)
{
  .reg .pred p;
  .reg .b32 a, b, c, d, t, n, i, g;
  .reg .b64 at, from, unit, units, step, offset;
  ld.param.u64 from, [base];
  ld.param.u64 units, [size];
  mov.u32 t, %tid.x;
  mov.u32 n, %ntid.x;
  mov.u32 i, %ctaid.x;
  mov.u32 g, %nctaid.x;
  mad.wide.u32 unit, i, n, 0;
  cvt.u64.u32 offset, t;
  add.u64 unit, unit, offset;
  mul.wide.u32 step, g, n;
loop:
  setp.ge.u64 p, unit, units;
  @p bra done;
  cvt.u32.u64 a, unit;
  mad.lo.u32 a, a, 1664525, 1013904223;
  mad.lo.u32 b, a, 1664525, 1013904223;
  mad.lo.u32 c, b, 1664525, 1013904223;
  mad.lo.u32 d, c, 1664525, 1013904223;
  shl.b64 offset, unit, 4;
  add.u64 at, from, offset;
  st.global.v4.u32 [at], {a, b, c, d};
  add.u64 unit, unit, step;
  bra loop;
done:
  ret;
}
)";

}  // namespace tw::bench
