#pragma once

int runModelTests(int argc, char** argv);
int runSessionTests(int argc, char** argv);
int runWindowTests(int argc, char** argv);
int runWorkTests(int argc, char** argv);
int runViewTests(int argc, char** argv);
int runGestureTests(int argc, char** argv);
int runHonestyTests(int argc, char** argv);
int runSmokeTests(int argc, char** argv);
int runProgramTests(int argc, char** argv);

/// What the child process of ProgramTests does: opens the file, types, and stops being without a word.
int editAndDie(const char* file);
