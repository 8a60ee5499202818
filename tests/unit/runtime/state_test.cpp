#include "runtime/session/state.h"

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/session/window_plan.h"

namespace accel::runtime {
namespace {

constexpr Event kAll[] = {Event::enable,      Event::disable,  Event::rules_on,       Event::rules_off,
                          Event::request,     Event::prepared, Event::prepare_failed, Event::window_opens,
                          Event::window_ends, Event::limit,    Event::stop,           Event::drained,
                          Event::fork_child};
static_assert(sizeof(kAll) / sizeof(Event) == kEvents);

// Every word that any order of events reaches, and how.
std::map<std::uint32_t, std::vector<Event>> reachable() {
  std::map<std::uint32_t, std::vector<Event>> seen{{Word().packed(), {}}};
  std::deque<Word> open{Word()};
  while (!open.empty()) {
    const Word now = open.front();
    open.pop_front();
    for (const Event event : kAll) {
      const Transition move = transition(now, event);
      if (seen.count(move.next.packed()) != 0) continue;
      std::vector<Event> way = seen[now.packed()];
      way.push_back(event);
      seen[move.next.packed()] = way;
      open.push_back(move.next);
    }
  }
  return seen;
}

std::string described(Word word, Event event) {
  return std::string(to_string(word.state)) + (word.ready ? " ready" : "") + " + " + to_string(event);
}

TEST(States, every_event_in_every_state_does_what_the_table_says) {
  // Rows: state; columns: events in the order of Event. "-" = ignored.
  const std::map<std::string, std::vector<std::string>> table = {
      {"OFF", {"IDLE", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "OFF"}},
      {"IDLE", {"-", "OFF", "WATCHING", "IDLE", "ARMED", "-", "-", "-", "-", "-", "-", "-", "OFF"}},
      {"WATCHING", {"-", "OFF", "WATCHING", "IDLE", "ARMED", "-", "-", "-", "-", "-", "-", "-", "OFF"}},
      {"ARMED", {"-", "DRAINING", "ARMED", "-", "-", "ARMED", "IDLE", "-", "-", "-", "DRAINING", "-", "OFF"}},
      {"ARMED ready", {"-", "DRAINING", "ARMED", "-", "-", "-", "-", "ACTIVE", "-", "-", "DRAINING", "-", "OFF"}},
      {"ACTIVE", {"-", "DRAINING", "ACTIVE", "-", "-", "-", "-", "-", "DRAINING", "DRAINING", "DRAINING", "-", "OFF"}},
      {"DRAINING", {"-", "DRAINING", "DRAINING", "-", "-", "-", "-", "-", "-", "-", "-", "IDLE", "OFF"}},
  };
  for (const auto& [name, row] : table) {
    Word word;
    word.ready = name == "ARMED ready";
    for (int s = 0; s < kStates; ++s) {
      if (name.rfind(to_string(static_cast<State>(s)), 0) == 0) word.state = static_cast<State>(s);
    }
    ASSERT_EQ(row.size(), static_cast<std::size_t>(kEvents));
    for (int e = 0; e < kEvents; ++e) {
      const Transition move = transition(word, kAll[e]);
      EXPECT_EQ(move.taken ? to_string(move.next.state) : "-", row[static_cast<std::size_t>(e)])
          << described(word, kAll[e]);
      if (move.taken) continue;
      EXPECT_EQ(move.next, word) << described(word, kAll[e]);
      EXPECT_EQ(move.duty, Duty::nothing);
    }
  }
}

TEST(States, with_rules_a_window_leads_back_to_watching_and_a_disable_leads_to_off) {
  Word word{State::draining, true, false, false, false};
  EXPECT_EQ(transition(word, Event::drained).next.state, State::watching);
  word.leaving = true;
  EXPECT_EQ(transition(word, Event::drained).next, Word());
  EXPECT_EQ(transition(word, Event::drained).duty, Duty::finish);
  EXPECT_EQ(transition({State::armed, true, false, false, false}, Event::prepare_failed).next.state, State::watching);
}

TEST(States, in_any_order_of_events_a_window_opens_only_when_it_is_armed_and_prepared) {
  for (const auto& [bits, way] : reachable()) {
    const Word word = Word::unpacked(bits);
    for (const Event event : kAll) {
      const Transition move = transition(word, event);
      if (move.duty == Duty::open_window) {
        EXPECT_EQ(word.state, State::armed);
        EXPECT_TRUE(word.ready);
        EXPECT_EQ(move.next.state, State::active);
      }
      const bool enters = move.next.state == State::active && word.state != State::active;
      EXPECT_EQ(enters, move.duty == Duty::open_window) << described(word, event);
      const bool leaves = word.state == State::active && move.next.state != State::active && !move.next.dead;
      EXPECT_EQ(leaves, move.duty == Duty::close_window) << described(word, event);
    }
  }
}

TEST(States, from_everywhere_disable_leads_to_off_within_the_events_of_the_library_itself) {
  for (const auto& [bits, way] : reachable()) {
    Word word = transition(Word::unpacked(bits), Event::disable).next;
    word = transition(word, Event::drained).next;
    EXPECT_EQ(word.state, State::off) << to_string(Word::unpacked(bits).state);
  }
}

TEST(States, a_child_of_a_fork_is_off_for_ever) {
  for (const auto& [bits, way] : reachable()) {
    const Word word = transition(Word::unpacked(bits), Event::fork_child).next;
    EXPECT_TRUE(word.dead);
    for (const Event event : kAll) {
      EXPECT_FALSE(transition(word, event).taken) << to_string(event);
      EXPECT_EQ(transition(word, event).next.state, State::off);
    }
  }
}

TEST(States, the_number_of_reachable_words_is_small_enough_to_have_been_looked_at) {
  std::set<State> states;
  for (const auto& [bits, way] : reachable()) {
    states.insert(Word::unpacked(bits).state);
    EXPECT_EQ(Word::unpacked(bits).packed(), bits);
    EXPECT_LE(way.size(), 6U);
  }
  EXPECT_EQ(states.size(), static_cast<std::size_t>(kStates));
  EXPECT_LE(reachable().size(), 20U);
}

TEST(States, the_documentation_has_the_table_of_the_code) {
  std::ifstream in(std::string(ACCEL_SOURCE_DIR) + "/docs/design/runtime-states.md");
  std::stringstream text;
  text << in.rdbuf();
  const std::string page = text.str();
  for (int s = 0; s < kStates; ++s) {
    for (const bool ready : {false, true}) {
      const Word word{static_cast<State>(s), false, false, ready, false};
      if (ready && word.state != State::armed) continue;
      std::string row = std::string("| ") + to_string(word.state) + (ready ? ", prepared" : "") + " |";
      for (const Event event : kAll) {
        const Transition move = transition(word, event);
        row += std::string(" ") + (move.taken ? to_string(move.next.state) : "-") + " |";
      }
      EXPECT_NE(page.find(row), std::string::npos) << row;
    }
  }
}

StepHistory history_of(const std::vector<std::uint64_t>& steps) {
  StepHistory history;
  for (const std::uint64_t step : steps) history.add(step);
  return history;
}

TEST(WindowPlan, steps_are_steady_when_they_differ_by_less_than_three_percent) {
  EXPECT_EQ(history_of({100, 100, 100}).cycle(), 0U) << "too few to say";
  EXPECT_EQ(history_of({500, 300, 100, 101, 100, 99, 100, 101, 100, 99, 100, 100, 100, 100, 100, 100}).cycle(), 1U);
  EXPECT_EQ(history_of({100, 150, 90, 170, 120, 200, 80, 140, 110, 190}).cycle(), 0U);
}

TEST(WindowPlan, a_cycle_of_gradient_accumulation_is_found) {
  std::vector<std::uint64_t> steps;
  for (int i = 0; i < 24; ++i) steps.push_back(i % 4 == 3 ? 300 : 100);
  EXPECT_EQ(history_of(steps).cycle(), 4U);
  EXPECT_EQ(history_of({100, 300, 100, 300}).cycle(), 0U) << "two rounds may be chance";
  steps.clear();
  for (int i = 0; i < 24; ++i) steps.push_back(i % 2 == 1 ? 300 : 100);
  EXPECT_EQ(history_of(steps).cycle(), 2U);
}

TEST(WindowPlan, outliers_at_any_places_are_no_cycle) {
  for (std::uint32_t first = 0; first < 24; ++first) {
    for (std::uint32_t second = 0; second < 24; ++second) {
      std::vector<std::uint64_t> steps(24, 100);
      steps[first] = 200;
      steps[second] = 150;
      EXPECT_EQ(history_of(steps).cycle(), 1U) << first << " " << second;
    }
  }
}

TEST(WindowPlan, a_schedule_waits_warms_up_keeps_and_closes) {
  WindowPlan plan;
  plan.begin({2, 2, 3, 1, 2, 0});
  const StepHistory none;
  EXPECT_EQ(plan.armed_step(none, 1), WindowPlan::Move::stay);
  EXPECT_EQ(plan.armed_step(none, 1), WindowPlan::Move::stay);
  EXPECT_EQ(plan.armed_step(none, 1), WindowPlan::Move::open);
  EXPECT_EQ(plan.phase(), WindowPlan::Phase::warmup);
  EXPECT_EQ(plan.window_step(), WindowPlan::Move::stay);
  EXPECT_EQ(plan.window_step(), WindowPlan::Move::keep_from_here);
  EXPECT_EQ(plan.phase(), WindowPlan::Phase::active);
  EXPECT_EQ(plan.window_step(), WindowPlan::Move::stay);
  EXPECT_EQ(plan.window_step(), WindowPlan::Move::stay);
  EXPECT_EQ(plan.window_step(), WindowPlan::Move::close);
  EXPECT_EQ(plan.kept_steps(), 3U);
}

TEST(WindowPlan, steadiness_is_waited_for_up_to_a_limit_and_two_cycles_are_covered) {
  WindowPlan plan;
  plan.begin({0, 0, 5, 1, 2, 3});
  const StepHistory unsteady = history_of({100, 150, 90, 170, 120, 200, 80, 140, 110, 190});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(plan.armed_step(unsteady, 1), WindowPlan::Move::stay);
  EXPECT_EQ(plan.armed_step(unsteady, 1), WindowPlan::Move::open);
  EXPECT_FALSE(plan.was_steady());
  std::vector<std::uint64_t> steps;
  for (int i = 0; i < 24; ++i) steps.push_back(i % 4 == 3 ? 300 : 100);
  plan.begin({0, 0, 5, 1, 2, 3});
  EXPECT_EQ(plan.armed_step(history_of(steps), 1), WindowPlan::Move::open);
  EXPECT_TRUE(plan.was_steady());
  EXPECT_EQ(plan.planned_steps(), 8U);
}

TEST(WindowPlan, a_step_that_ranks_agreed_on_is_the_first_kept_one_and_a_late_rank_says_so) {
  Schedule schedule;
  schedule.warmup = 2;
  schedule.active = 3;
  schedule.start_step = 50;
  const StepHistory unsteady;
  WindowPlan plan;
  plan.begin(schedule);
  EXPECT_EQ(plan.armed_step(unsteady, 47), WindowPlan::Move::stay);
  EXPECT_EQ(plan.armed_step(unsteady, 48), WindowPlan::Move::open) << "warm-up steps come before it";
  EXPECT_EQ(plan.window_step(), WindowPlan::Move::stay);
  EXPECT_EQ(plan.window_step(), WindowPlan::Move::keep_from_here) << "at the mark that begins step 50";
  EXPECT_FALSE(plan.was_late());
  plan.begin(schedule);
  EXPECT_EQ(plan.armed_step(unsteady, 50), WindowPlan::Move::open);
  EXPECT_EQ(plan.phase(), WindowPlan::Phase::active);
  EXPECT_FALSE(plan.was_late());
  plan.begin(schedule);
  EXPECT_EQ(plan.armed_step(unsteady, 51), WindowPlan::Move::open);
  EXPECT_TRUE(plan.was_late());
}

}  // namespace
}  // namespace accel::runtime
