#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "sim/core/error.h"
#include "sim/cost/make/make_profile.h"

/// sgsim-make-profile TRUTH_DIR OUT_DIR [NAME...]: writes OUT_DIR/NAME.json for each named GPU, or for all. OUT_DIR/h200-measured.json must be
/// there for the H100s.
int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: sgsim-make-profile TRUTH_DIR OUT_DIR [NAME...]\n");
    return static_cast<int>(sgsim::ExitCode::bad_input);
  }
  std::vector<std::string> names(argv + 3, argv + argc);
  if (names.empty()) names = sgsim::cost::make::profile_names();
  const std::filesystem::path measured = std::filesystem::path(argv[2]) / "h200-measured.json";
  try {
    for (const std::string& name : names) {
      const std::filesystem::path path = std::filesystem::path(argv[2]) / (name + ".json");
      sgsim::cost::save_profile(sgsim::cost::make::make_profile(name, argv[1], measured.string()), path);
      std::printf("%s\n", path.c_str());
    }
  } catch (const sgsim::InputError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(sgsim::ExitCode::bad_input);
  } catch (const sgsim::EnvironmentError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(sgsim::ExitCode::environment);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(sgsim::ExitCode::our_bug);
  }
  return 0;
}
