// Takes out of a trace what is its owner's before anything is concluded from it: paths, functions, modules, ranges,
// hosts and threads get pseudonyms, so that every report made afterwards holds none of them. Names of kernels, of the
// framework and of known libraries stay. Shapes are needed for the conclusions and become symbols after them.
#pragma once

#include "diagnosis/diagnosis.h"
#include "fusion/digest/digest.h"
#include "report/anonymize/pseudonyms.h"
#include "trace/trace_store.h"

namespace accel::report {

// Before the analyses. Structure, times and numbers are unchanged: the diagnosis is the same but for the names.
void anonymize_names(TraceStore& store, Pseudonyms& pseudonyms);

// After the diagnosis, before the report is built: sizes in recorded shapes become symbols, also where the words of a
// finding state them. FLOPs, bytes and whether a size is aligned stand in the report as computed values.
void anonymize_shapes(TraceStore& store, Diagnosis& diagnosis, Pseudonyms& pseudonyms);

// Of a rank whose names were taken out before its digest was made: sizes in shapes become symbols. Ranks that share the
// pseudonyms can still be compared; sizes of messages stay, as computed values.
void anonymize_digest(fusion::RankDigest& digest, Pseudonyms& pseudonyms);

}  // namespace accel::report
