// Clocks a design with AXI ports: registers are read and written, packets go in and out.
//
// A processor's side of AXI4-Lite, one access at a time, and both ends of two AXI4-Streams. All
// go on together: while a register is read the streams move.

#include "axi_design.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace {

struct Word {
  uint64_t data;
  uint8_t last;
};

bool withheld(const std::vector<uint8_t>& pattern, int64_t cycle) {
  return !pattern.empty() && pattern[cycle % pattern.size()];
}

}  // namespace

class AxiRun : public AxiDesign {
 public:
  using AxiDesign::AxiDesign;

  // Up to `cycles`; ends early with a packet's last word out, or after `quiet` cycles in which no
  // stream moved.
  AxiEnding advance(int64_t cycles, int64_t quiet) {
    int64_t idle = 0;
    for (int64_t end = cycle + cycles; cycle < end;) {
      int64_t moves = state.sent + state.received;
      if (!before_edge() || !after_edge()) return UNSETTLED;
      idle = moves == state.sent + state.received ? idle + 1 : 0;
      if (packet_ended) return PACKET_OUT;
      if (idle >= quiet) return QUIET;
    }
    return ADVANCED;
  }

  void send(const uint64_t* words, const uint8_t* lasts, int64_t count) {
    for (int64_t i = 0; i < count; i++) to_send.push_back({words[i], lasts[i]});
  }

  void drop() {
    to_send.clear();
    in_valid = false;
  }

  AxiState read_state() {
    state.cycle = cycle;
    state.last_access = last_access;
    state.queued = to_send.size();
    return state;
  }

  std::vector<uint8_t> stalls_in, stalls_out;
  std::vector<uint64_t> words;
  std::vector<uint8_t> lasts;

 private:
  bool before_edge() override {
    if (!in_valid && !to_send.empty()) in_valid = !withheld(stalls_in, cycle);
    set(ports.in.valid, in_valid);
    if (in_valid) {
      set(ports.in.data, to_send.front().data);
      set(ports.in.last, to_send.front().last);
    }
    out_ready = !withheld(stalls_out, cycle);
    set(ports.out.ready, out_ready);
    return edge(0);
  }

  bool after_edge() override {
    bool in_ready = get(ports.in.ready), out_valid = get(ports.out.valid);
    Word offered = {0, 0};
    if (out_valid) offered = {get(ports.out.data), uint8_t(get(ports.out.last))};
    watch(out_valid, offered);
    packet_ended = false;
    state.in_valid = in_valid, state.in_ready = in_ready;
    state.out_valid = out_valid, state.out_ready = out_ready;
    if (in_valid && in_ready) {
      to_send.pop_front();
      in_valid = false;
      state.sent++;
      state.last_sent = cycle;
    }
    if (out_valid && out_ready) {
      words.push_back(offered.data);
      lasts.push_back(offered.last);
      packet_ended = offered.last;
      state.received++;
      state.last_received = cycle;
    }
    bool settled = edge(1);
    cycle++;
    return settled;
  }

  // An offered word has to stay until it is taken.
  void watch(bool out_valid, const Word& offered) {
    bool same = offered.data == waiting.data && offered.last == waiting.last;
    if (waits && (!out_valid || !same)) state.violations++;
    waits = out_valid && !out_ready;
    waiting = offered;
  }

  AxiState state = {0, 0, 0, 0, -1, -1, -1, 0, 0, 0, 0, 0};
  std::deque<Word> to_send;
  bool in_valid = false, out_ready = false, packet_ended = false, waits = false;
  Word waiting = {0, 0};
};

#pragma GCC visibility push(default)
extern "C" {
AxiRun* axi_new(const Model* model, const AxiPorts* ports) { return new AxiRun(model, *ports); }
void axi_free(AxiRun* run) { delete run; }
int axi_write(AxiRun* run, uint32_t address, uint32_t value, uint32_t bytes, int64_t limit) {
  return run->write(address, value, bytes, limit);
}
int axi_read(AxiRun* run, uint32_t address, uint32_t* value, int64_t limit) {
  return run->read(address, value, limit);
}
int axi_advance(AxiRun* run, int64_t cycles, int64_t quiet) { return run->advance(cycles, quiet); }
void axi_send(AxiRun* run, const uint64_t* words, const uint8_t* lasts, int64_t count) {
  run->send(words, lasts, count);
}
void axi_drop(AxiRun* run) { run->drop(); }
void axi_stall(AxiRun* run, const AxiStalls* in, const AxiStalls* out) {
  run->stalls_in.assign(in->pattern, in->pattern + in->length);
  run->stalls_out.assign(out->pattern, out->pattern + out->length);
}
void axi_pace(AxiRun* run, const AxiPace* pace) { run->pace = *pace; }
void axi_state(AxiRun* run, AxiState* state) { *state = run->read_state(); }
void axi_received(AxiRun* run, const uint64_t** words, const uint8_t** lasts) {
  *words = run->words.data();
  *lasts = run->lasts.data();
}
}
