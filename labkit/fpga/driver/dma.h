// What Python and the data movers of a DMA tell each other.

#pragma once
#include "axi.h"

struct DmaTransfer {
  int64_t length;  // bytes, as they were asked for
  int64_t moved;   // bytes so far
  int64_t beats;   // words so far
  int running;     // 1: from the start to the end of the transfer
  int last;        // the stream has ended its packet
  int excess;      // receiving: the buffer is full, and the packet goes on
  int valid, ready;  // of the stream, in the latest cycle
};

struct DmaState {
  int64_t cycle;       // clock cycles since the reset
  int64_t idle;        // how many of the latest cycles moved no word
  int64_t violations;  // cycles in which an offered word was withdrawn or changed
  DmaTransfer send, receive;
};

enum DmaEnding { DMA_ADVANCED, DMA_ENDED, DMA_QUIET, DMA_UNSETTLED };
