// SPDX-License-Identifier: Apache-2.0
// Which operands a plan copies, and which it refuses to.
#include <string>

#include "paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Four products of 64 x 64 by 64 x 128; nothing promised.
GemmDesc batch_of(Order d_order) {
  GemmDesc desc = gemm_desc(64, 128, 64);
  desc.d_order = d_order;
  desc.realign = true;
  desc.min_m = 64;
  desc.batch = 4;
  return desc;
}

}  // namespace

TEST_CASE("operands whose matrices share elements are not copied, and whoever must promises") {
  const auto device = hopper();
  struct Side {
    const char* argument;
    int64_t GemmDesc::*stride;
    int64_t GemmDesc::*leading;
    uint32_t GemmDesc::*alignment;
  };
  for (const Order d_order : {Order::row, Order::column})
    for (const Side& side :
         {Side{"a_batch_stride", &GemmDesc::a_batch, &GemmDesc::lda, &GemmDesc::a_alignment},
          Side{"b_batch_stride", &GemmDesc::b_batch, &GemmDesc::ldb, &GemmDesc::b_alignment}}) {
      INFO(side.argument);
      GemmDesc desc = batch_of(d_order);
      std::unique_ptr<Plan> plan;
      CHECK(GemmPlan::create(device, desc, &plan).ok());
      desc.*side.stride = 512;  // windows of eight rows, or columns, further
      CHECK(GemmPlan::create(device, desc, &plan).code() == Code::ERROR_OVERLAP);
      CHECK(std::string(last_error().fault.argument) == side.argument);
      CHECK(last_error().fault.got == 512);
      const std::string message = last_error().message;
      CHECK(message.find("realign") != std::string::npos);
      CHECK(message.find("dst_") == std::string::npos);
      CHECK(last_error().fault.limit == (side.stride == &GemmDesc::a_batch ? 4096 : 8192));
      // Each of the ways out that the message names.
      GemmDesc other = desc;
      other.*side.alignment = 16;
      CHECK(GemmPlan::create(device, other, &plan).ok());
      other = desc;
      other.realign = false;
      CHECK(GemmPlan::create(device, other, &plan).ok());
      other = desc;
      other.*side.stride = last_error().fault.limit;
      CHECK(GemmPlan::create(device, other, &plan).ok());
      // Matrices between each other's lines share nothing; of a pitch that no map can have a copy
      // is packed, whatever they share.
      other = desc;
      other.*side.leading = 256;
      other.*side.stride = 64;
      CHECK(GemmPlan::create(device, other, &plan).ok());
      other.*side.leading = 65;
      CHECK(GemmPlan::create(device, other, &plan).ok());
    }
}
