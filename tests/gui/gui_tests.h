#pragma once

int runModelTests(int argc, char** argv);
int runSessionTests(int argc, char** argv);
int runWindowTests(int argc, char** argv);
int runWorkTests(int argc, char** argv);
