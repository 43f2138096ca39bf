#include "calibrate/stats/fit.h"
#include "calibrate/stats/summary.h"
#include "tests/support/catch.h"

using namespace sgsim::calibrate;

TEST_CASE("a summary is total: no, one and two samples") {
  const Summary none = summarize({});
  CHECK(none == Summary{});
  const std::vector<double> one = {3.0};
  CHECK(summarize(one) == Summary{.count = 1, .outliers = 0, .median = 3.0, .spread = 0.0, .least = 3.0, .greatest = 3.0});
  // Median of 2 and 4 is 3; both deviate by 1, so the median absolute deviation is 1 and the spread 1.4826.
  const std::vector<double> two = {4.0, 2.0};
  const Summary s = summarize(two);
  CHECK(s.median == 3.0);
  CHECK(s.spread == Approx(1.4826));
  CHECK(s.outliers == 0);
}

TEST_CASE("an outlier is counted and does not move the median") {
  // Median 10.1; deviations 0.1 0 0.1 0.1 0.1 0 989.9 -> median 0.1, spread 0.148; 5 spreads are 0.74.
  const std::vector<double> samples = {10.0, 10.1, 10.2, 10.0, 10.2, 10.1, 1000.0};
  const Summary s = summarize(samples);
  CHECK(s.median == 10.1);
  CHECK(s.outliers == 1);
  CHECK(s.greatest == 1000.0);
}

TEST_CASE("equal samples have no spread and no outliers, whatever one odd value does") {
  const std::vector<double> samples = {5.0, 5.0, 5.0, 5.0, 9.0};
  CHECK(summarize(samples).spread == 0.0);
  CHECK(summarize(samples).outliers == 0);  // without a spread nothing says how far is far
}

TEST_CASE("quantiles lie between order statistics") {
  const std::vector<double> samples = {1.0, 2.0, 3.0, 5.0};
  CHECK(quantile(samples, 0.0) == 1.0);
  CHECK(quantile(samples, 1.0) == 5.0);
  CHECK(quantile(samples, 0.9) == Approx(4.4));  // place 2.7: 3 + 0.7 * 2
  CHECK(quantile({}, 0.5) == 0.0);
}

TEST_CASE("drift compares the last third with the first") {
  const std::vector<double> slower = {1.0, 1.0, 1.0, 1.02, 1.03, 1.04, 1.05, 1.05, 1.05};
  CHECK(*drift(slower) == Approx(0.05));
  const std::vector<double> five = {1.0, 1.0, 1.0, 1.0, 1.0};
  CHECK_FALSE(drift(five).has_value());
  CHECK_FALSE(drift({}).has_value());
}

TEST_CASE("a line is found exactly, and an outlier does not pull it") {
  // y = 5e-6 + 1e-9 x
  const std::vector<double> x = {0.0, 1e3, 1e4, 1e5, 1e6};
  std::vector<double> y;
  for (const double v : x) y.push_back(5e-6 + 1e-9 * v);
  Line line = fit_line(x, y);
  CHECK(line.fixed == Approx(5e-6));
  CHECK(line.slope == Approx(1e-9));
  CHECK(line.error < 1e-9);
  y[2] *= 3.0;
  line = fit_line(x, y);
  CHECK(line.fixed == Approx(5e-6).epsilon(0.02));
  CHECK(line.slope == Approx(1e-9).epsilon(0.02));
}

TEST_CASE("a line never has a negative term") {
  const std::vector<double> x = {1.0, 2.0, 4.0};
  const std::vector<double> falling = {4.0, 2.0, 1.0}, through_below = {1.0, 3.0, 7.0};
  CHECK(fit_line(x, falling).slope == 0.0);
  CHECK(fit_line(x, through_below).fixed == 0.0);
  const std::vector<double> single = {2.0};
  CHECK(fit_line(single, single).fixed == Approx(2.0));
}
