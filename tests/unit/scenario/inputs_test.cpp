#include "sim/scenario/inputs.h"

#include <filesystem>

#include "sim/core/text_file.h"
#include "sim/scenario/read.h"
#include "tests/support/catch.h"

using namespace sgsim;

// A cache lives as long as a desktop program; the files that it was filled from may be written anew meanwhile.
TEST_CASE("a model and a profile that change on disk are read again") {
  const std::string root = std::string(SGSIM_BINARY_DIR) + "/inputs_test";
  std::filesystem::remove_all(root);
  std::filesystem::copy(std::string(SGSIM_SOURCE_DIR) + "/scenarios", root, std::filesystem::copy_options::recursive);
  scenario::Scenario s = scenario::read_scenario(root + "/llama3-8b-8xh100.json");
  s.profile = root + "/profiles/" + std::filesystem::path(s.profile).filename().string();  // the copy, not the one that ships
  scenario::InputCache cache;
  const auto before = cache.load(s);
  CHECK(before.shape.layers == 32);
  CHECK(cache.load(s).graph == before.graph);  // unchanged: the same one
  CHECK(cache.load(s).profile == before.profile);

  const std::string model = root + "/models/llama3-8b.json";
  std::string text = read_text_file(model);
  const auto at = text.find("\"num_hidden_layers\": 32");
  REQUIRE(at != std::string::npos);
  text.replace(at, 23, "\"num_hidden_layers\": 8");
  write_text_file(model, text);
  CHECK(cache.load(s).shape.layers == 8);

  write_text_file(s.profile, read_text_file(s.profile) + "\n");
  CHECK(cache.load(s).profile != before.profile);
  std::filesystem::remove_all(root);
}
