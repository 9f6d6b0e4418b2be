// What Python and the driver of streams tell each other: a Job goes in, a Result comes out.

#pragma once
#include "model.h"

struct Stalls {  // a pattern of 0 and 1, gone through again and again; 1 withholds
  const uint8_t* pattern;
  int64_t length;  // 0: never
};

struct Offered {  // a stream into the design
  int valid, ready, data, last;  // ports; last is -1 where the stream has none
  int words;                     // 32-bit words of one value
  const uint32_t* values;
  const uint8_t* lasts;
  int64_t count;
  Stalls stalls;
};

struct Taken {  // a stream out of the design
  int valid, ready, data, last;
  int words;
  int64_t wanted;  // -1: as many as come
  Stalls stalls;
};

struct Plain {  // an input with one value for each cycle; the last one is held
  int port, words;
  const uint32_t* values;
  int64_t count;
};

struct Recorded {
  const char* name;  // of a signal inside, for Model::find; null for a port
  int port, words;
};

struct Job {
  const Model* model;
  int clock, reset;  // ports, or -1
  int offered_count, taken_count, plain_count, recorded_count;
  const Offered* offered;
  const Taken* taken;
  const Plain* plain;
  const Recorded* recorded;
  int64_t cycles;    // exactly so many; -1: until the streams are through
  int64_t at_least;  // cycles that the plain inputs want
  int64_t quiet;     // cycles without a word moved after which streams are through
  int64_t limit;
  int64_t rows;  // cycles of the record that are kept, the last ones
  int64_t again_after;  // cycles after which a second reset begins the run anew; 0: never
  int64_t idle;  // cycles without a word moved after which it is given up, as at the limit; 0: never
};

enum Ending { GOING_ON, FINISHED, AT_LIMIT, OSCILLATES };

struct OfferResult {
  int64_t count;      // words that the design has taken
  int valid, ready;   // in the last cycle
};

struct TakeResult {
  int64_t count;  // words that came
  int valid, ready;
  const uint32_t* values;
  const int64_t* times;  // the cycle of each
  const uint8_t* lasts;
};

struct Violation {
  int64_t cycle;
  int stream;  // of the taken ones
  int kind;    // 0: valid was withdrawn, 1: data or last changed
};

struct Result {
  int64_t cycles, last_moved;  // last_moved: the last cycle that moved a word, or -1
  int64_t violation_count;
  const Violation* violations;
  const uint32_t* record;  // a ring of Job::rows cycles
};
