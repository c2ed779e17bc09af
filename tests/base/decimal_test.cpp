// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.hpp"

#include <clocale>
#include <cstdio>
#include <string>

#include "doctest_main.hpp"

namespace tw {
namespace {

TEST_CASE("places and digits") {
  CHECK(std::string(Decimal(1.5, 3).text()) == "1.500");
  CHECK(std::string(Decimal(0.0004, 3).text()) == "0.000");
  CHECK(std::string(Decimal(-2.25, 1).text()) == "-2.2");
  CHECK(std::string(Decimal::significant(3.0, 10).text()) == "3");
  CHECK(std::string(Decimal::significant(12.5, 10).text()) == "12.5");
  CHECK(std::string(Decimal(1e300, 3).text()).substr(0, 3) == "1.0");  // too long in fixed notation
}

TEST_CASE("the process's locale changes nothing") {
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C"}) {
    if (!std::setlocale(LC_ALL, name)) continue;
    CAPTURE(name);
    CHECK(std::string(Decimal(1234.5, 2).text()) == "1234.50");
    CHECK(std::string(Decimal::significant(0.5, 10).text()) == "0.5");
  }
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace tw
