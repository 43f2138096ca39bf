# Costs against the measurements they were not made from (needs the validation data set beside the project; says so when it
# is absent).
sgsim_test(validation cost DEPS sgsim_cost)
