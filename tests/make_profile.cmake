# sgsim-make-profile: makes scenarios/profiles/*.json from the validation data set (docs/formats/profile.md).
add_executable(sgsim-make-profile ${PROJECT_SOURCE_DIR}/planner/make_profile/main.cpp)
target_link_libraries(sgsim-make-profile PRIVATE sgsim_cost)
