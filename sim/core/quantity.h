#pragma once

#include <compare>
#include <cstdint>

namespace sgsim {

/// A physical quantity: seconds^T * bytes^B * flops^F, held as one double.
/// Only quantities of the same dimension add and compare; `Bytes / BytesPerSecond` is `Seconds`.
/// One multiply-add counts as 2 flops. Bits exist in parsing and printing only (units_text.h).
template <int T, int B, int F>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  /// The number in SI base units (s, byte, flop and their quotients).
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity o) { value_ += o.value_; return *this; }
  constexpr Quantity& operator-=(Quantity o) { value_ -= o.value_; return *this; }
  constexpr Quantity& operator*=(double k) { value_ *= k; return *this; }
  constexpr Quantity& operator/=(double k) { value_ /= k; return *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }

 private:
  double value_ = 0.0;
};

/// Quotients and products of quantities; a dimensionless result is a plain double.
template <int T, int B, int F, int T2, int B2, int F2>
constexpr auto operator/(Quantity<T, B, F> a, Quantity<T2, B2, F2> b) {
  if constexpr (T == T2 && B == B2 && F == F2) {
    return a.value() / b.value();
  } else {
    return Quantity<T - T2, B - B2, F - F2>(a.value() / b.value());
  }
}
template <int T, int B, int F, int T2, int B2, int F2>
constexpr auto operator*(Quantity<T, B, F> a, Quantity<T2, B2, F2> b) {
  if constexpr (T + T2 == 0 && B + B2 == 0 && F + F2 == 0) {
    return a.value() * b.value();
  } else {
    return Quantity<T + T2, B + B2, F + F2>(a.value() * b.value());
  }
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;

inline namespace literals {
constexpr Seconds operator""_s(long double v) { return Seconds(static_cast<double>(v)); }
constexpr Seconds operator""_ms(long double v) { return Seconds(static_cast<double>(v) * 1e-3); }
constexpr Seconds operator""_us(long double v) { return Seconds(static_cast<double>(v) * 1e-6); }
constexpr Seconds operator""_ns(long double v) { return Seconds(static_cast<double>(v) * 1e-9); }
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(static_cast<double>(v)); }
constexpr Bytes operator""_KiB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1024.0); }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1048576.0); }
constexpr Bytes operator""_GiB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1073741824.0); }
constexpr BytesPerSecond operator""_GBps(long double v) { return BytesPerSecond(static_cast<double>(v) * 1e9); }
constexpr FlopsPerSecond operator""_TFLOPs(long double v) { return FlopsPerSecond(static_cast<double>(v) * 1e12); }
}  // namespace literals

}  // namespace sgsim
