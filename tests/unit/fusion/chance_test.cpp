#include "fusion/straggler/chance.h"

#include <gtest/gtest.h>

#include "fusion/straggler/delay_cost.h"

namespace accel::fusion {
namespace {

TEST(Chance, of_a_mean_is_that_of_students_t) {
  // Quantiles of the tables: 2.776 at 4 degrees of freedom and 2.306 at 8 leave 2.5 % above them.
  EXPECT_NEAR(chance_of_mean({2.776 - 1.5811388, 2.776, 2.776 + 1.5811388, 2.776 - 2.7386128, 2.776 + 2.7386128}),
              0.025, 1e-3);
  EXPECT_NEAR(chance_of_mean({-1, 1}), 0.5, 0.5);
  EXPECT_LT(chance_of_mean({20, 21, 19, 20}), 1e-4);
  EXPECT_GT(chance_of_mean({20, -3, 5, -1}), 0.1);
  EXPECT_EQ(chance_of_mean({20}), 1);
  EXPECT_EQ(chance_of_mean({3, 3, 3}), 0);
}

TEST(Chance, of_the_largest_falls_with_what_it_makes_of_all) {
  EXPECT_LT(chance_of_largest({40, 1, 2, 0.5, 1, 3, 1, 0.2}), 1e-3);
  EXPECT_GT(chance_of_largest({9, 4, 2, 1, 6, 3, 1, 5}), 0.3);
  EXPECT_EQ(chance_of_largest({}), 1);
}

TEST(Chance, of_two_sorts_counts_what_lies_between_them) {
  EXPECT_LT(chance_of_two_sorts({15.1, 15.2, 15.0}, {0.1, 0.2, 0, 0.1}), 1e-4);
  EXPECT_GT(chance_of_two_sorts({9, 6}, {4, 1, 3}), 0.01);
  EXPECT_EQ(chance_of_two_sorts({5, 3}, {4, 1}), 1);
  EXPECT_EQ(chance_of_two_sorts({5}, {1, 1}), 1);
}

TEST(DelayCost, of_a_delay_now_and_then_hides_in_the_lead_of_hosts_that_run_ahead) {
  JobPace pace;
  pace.host_ns = 20e6;
  pace.device_ns = 22e6;
  pace.slowing = 1.9;
  pace.least_slowing = 1.4;
  pace.most_slowing = 2.5;
  pace.recording_costs = true;
  const RecordedDelay once{.cost_ns = 4.5e6, .error_ns = 0, .caused_ns = 40e6, .often = 1.0 / 8};
  const double waiting = cost_of_late_host(pace, once).expected_ns;
  EXPECT_GT(waiting, 2e6);
  pace.lead_steps = 6;
  EXPECT_LT(cost_of_late_host(pace, once).expected_ns, waiting / 2);
  // In every step there is no lead to hide in.
  const RecordedDelay always{.cost_ns = 36e6, .error_ns = 0, .caused_ns = 40e6, .often = 1};
  const double cost = cost_of_late_host(pace, always).expected_ns;
  pace.lead_steps = 0;
  EXPECT_EQ(cost_of_late_host(pace, always).expected_ns, cost);
}

}  // namespace
}  // namespace accel::fusion
