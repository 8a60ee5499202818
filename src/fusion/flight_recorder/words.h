// Sentences about dumps of the flight recorder, English and Chinese. Private to this folder. Pure.
#pragma once

#include <string>

#include "fusion/flight_recorder/progress.h"

namespace accel::fusion {

// "all_reduce of 16777216 Float"
std::string call_words(const FlightRecord& record);
void say(GroupProgress& group);
void say(PendingTransfer& transfer);

}  // namespace accel::fusion
