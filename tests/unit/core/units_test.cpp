#include "sim/core/error.h"
#include "sim/core/units_text.h"
#include "tests/support/catch.h"

using namespace sgsim;

TEST_CASE("bytes over bandwidth is time") {
  const Seconds t = 25_MiB / 25.0_GBps;
  CHECK(t.value() == Approx(26214400.0 / 25e9));
}

TEST_CASE("units are read with decimal and binary prefixes, bits only in text") {
  CHECK(parse_bandwidth("400 Gbit/s").value() == Approx(50e9));
  CHECK(parse_bandwidth("25GB/s").value() == Approx(25e9));
  CHECK(parse_bytes("80 GiB").value() == Approx(80.0 * 1073741824.0));
  CHECK(parse_bytes("25 MB").value() == Approx(25e6));
  CHECK(parse_seconds("1.5 us").value() == Approx(1.5e-6));
  CHECK(parse_seconds("2 s").value() == Approx(2.0));
  CHECK(parse_flop_rate("312 TFLOP/s").value() == Approx(312e12));
}

TEST_CASE("a number without its unit, with a wrong one, negative or not finite is refused") {
  for (const char* text : {"400", "400 Gb", "", "GB/s", "-1 GB/s", "nan GB/s", "inf GB/s", "1e999 GB/s", "4 GiB"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_bandwidth(text), InputError);
  }
  CHECK_THROWS_AS(parse_bytes("1 mB"), InputError);
}

TEST_CASE("quantities print with a fitting prefix") {
  CHECK(to_text(Seconds(0.0123)) == "12.3 ms");
  CHECK(to_text(80_GiB) == "80 GiB");
  CHECK(to_text(BytesPerSecond(1.87e11)) == "187 GB/s");
}
