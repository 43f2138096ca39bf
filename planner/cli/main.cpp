#include "planner/cli/subcommand.h"

int main(int argc, char** argv) { return sgsim::cli::run(argc, argv); }
