// What Python and the driver of AXI ports tell each other.

#pragma once
#include "model.h"

struct Channel {  // one direction of words under valid/ready: ports, -1 where there is none
  int valid, ready, data, last;
};

struct AxiPorts {
  int clock, reset;
  int reset_level;  // what the reset is while it resets: 0 or 1
  Channel write_address, write_data, write_answer, read_address, read_data;
  int write_bytes, write_response, read_response;
  Channel in, out;  // the streams; up to 64 bits of data
  int in_bytes, out_bytes;  // which bytes of a word count: a bit for each, where there is a port
};

struct AxiPace {  // cycles from the begin of an access until its sides are ready
  int64_t address, data, answer;
};

struct AxiStalls {  // a pattern of 0 and 1, gone through again and again; 1 withholds
  const uint8_t* pattern;
  int64_t length;  // 0: never
};

enum AxiEnding { ADVANCED, PACKET_OUT, QUIET, UNSETTLED };

struct AxiState {
  int64_t cycle;               // clock cycles since the reset
  int64_t sent, queued;        // words of the stream in: taken, and not yet
  int64_t received;            // words of the stream out
  int64_t last_sent, last_received, last_access;  // the cycle in which the latest one moved, or -1
  int64_t violations;          // cycles in which an offered word was withdrawn or changed
  int in_valid, in_ready, out_valid, out_ready;  // in the latest cycle
};
