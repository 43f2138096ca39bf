#pragma once

#include <string>
#include <vector>

namespace sgsim::calibrate {

/// Flags of `run` and `list`.
struct Selection {
  std::vector<std::string> groups;  // empty: all
  bool held_out = false;            // the shapes that the fit does not see, instead
  bool smoke = false;               // a few points of each group
  int gpus = 0;                     // 0: all local ones
};
struct RunFlags {
  Selection selection;
  double minutes = 0.0;             // 0: until everything is measured
  std::string out = "profile.json";
  std::string base;                 // profile to take what cannot be measured from; empty: none
  std::string name;                 // of the profile; empty: from the GPU's name
  std::vector<std::string> hosts;   // files of calibrate/pytorch_overhead.py
  bool verbose = false;             // every point on a line of its own
  std::string command;              // the command line, for the record
};
struct FitFlags {
  std::vector<std::string> samples;
  std::string out = "profile.json";
  std::string base, name;
  std::vector<std::string> hosts;   // files of calibrate/pytorch_overhead.py
  bool native = false;              // launch costs of a native program
};
struct ExecuteFlags {
  std::vector<std::string> programs;
  std::string out;                  // of one program; empty: NAME.measured.json.gz beside NAME.program.json[.gz]
  double seconds = 1.0;             // of steps that count, for each program
  std::string command;              // the command line, for the record
};
struct CompareFlags {
  std::string a, b;                 // each a profile or a samples file
  bool worst = false;               // print the worst points
};

/// Each returns the program's exit code.
int list_command(const Selection& selection);
int run_command(const RunFlags& flags);
int fit_command(const FitFlags& flags);
int execute_command(const ExecuteFlags& flags);
int compare_command(const CompareFlags& flags);

/// "dir/profile.samples.jsonl" for "dir/profile.json".
[[nodiscard]] std::string samples_path(const std::string& profile);

}  // namespace sgsim::calibrate
