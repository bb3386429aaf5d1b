// Functions of statistics that schedules are made of.
#pragma once

namespace sd {

// The x in [0, 1] below which a share u of the beta distribution lies. alpha and beta from 0.01 to 50.
double beta_quantile(double u, double alpha, double beta);

// The same of the standard normal distribution, to a relative error of 1.2e-9; infinite for 0 and 1.
double normal_quantile(double p);

} // namespace sd
