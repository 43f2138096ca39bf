#include "calibrate/device/machine.h"

namespace sgsim::calibrate {

std::string throttle_text(std::uint64_t reasons) {
  // Bits of nvmlClocksEventReasons (NVML API reference); idle (0x1) and application clocks (0x2) hold nothing back.
  struct Word {
    std::uint64_t bit;
    const char* text;
  };
  constexpr Word kWords[] = {{0x4, "power cap"},        {0x8, "hardware slowdown"}, {0x10, "clocks tied to another GPU"}, {0x20, "thermal (software)"},
                             {0x40, "thermal (hardware)"}, {0x80, "power brake"},       {0x100, "display clock"}};
  std::string text;
  for (const Word& word : kWords) {
    if ((reasons & word.bit) != 0) text += (text.empty() ? "" : ", ") + std::string(word.text);
  }
  return text;
}

}  // namespace sgsim::calibrate
