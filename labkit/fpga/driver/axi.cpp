// Clocks a design with AXI ports: registers are read and written, packets go in and out.
//
// A processor's side of AXI4-Lite, one access at a time, and both ends of two AXI4-Streams. All
// go on together: while a register is read the streams move.

#include "axi.h"

#include <algorithm>
#include <cstring>
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

class AxiRun {
 public:
  AxiRun(const Model* model, const AxiPorts& ports)
      : model(model), design(model->create()), ports(ports) {
    set(ports.reset, 0);
    for (int cycle = 0; cycle < 2; cycle++) {
      edge(0);
      edge(1);
    }
    set(ports.reset, 1);
    set(ports.write_bytes, 0xF);
  }
  AxiRun(const AxiRun&) = delete;
  ~AxiRun() { model->destroy(design); }

  // One write of a register; the response, or -1 if none came in `limit` cycles.
  int write(uint32_t address, uint32_t value, uint32_t bytes, int64_t limit) {
    set(ports.write_address.data, address);
    set(ports.write_data.data, value);
    set(ports.write_bytes, bytes);
    bool address_waits = true, data_waits = true;
    for (int64_t end = state.cycle + limit; state.cycle < end;) {
      set(ports.write_address.valid, address_waits);
      set(ports.write_data.valid, data_waits);
      set(ports.write_answer.ready, 1);
      if (!before_edge()) return -2;
      address_waits = address_waits && !get(ports.write_address.ready);
      bool moved = data_waits && get(ports.write_data.ready);
      if (moved) state.last_access = state.cycle;
      data_waits = data_waits && !moved;
      bool answered = get(ports.write_answer.valid);
      int response = get(ports.write_response);
      if (!after_edge()) return -2;
      if (answered) return release(response);
    }
    return release(-1);
  }

  // One read of a register.
  int read(uint32_t address, uint32_t* value, int64_t limit) {
    set(ports.read_address.data, address);
    bool address_waits = true;
    for (int64_t end = state.cycle + limit; state.cycle < end;) {
      set(ports.read_address.valid, address_waits);
      set(ports.read_data.ready, 1);
      if (!before_edge()) return -2;
      address_waits = address_waits && !get(ports.read_address.ready);
      bool answered = get(ports.read_data.valid);
      *value = get(ports.read_data.data);
      int response = get(ports.read_response);
      if (!after_edge()) return -2;
      if (answered) return release(response);
    }
    return release(-1);
  }

  // Up to `cycles`; ends early with a packet's last word out, or after `quiet` cycles in which no
  // stream moved.
  AxiEnding advance(int64_t cycles, int64_t quiet) {
    int64_t idle = 0;
    for (int64_t end = state.cycle + cycles; state.cycle < end;) {
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
    state.queued = to_send.size();
    return state;
  }

  std::vector<uint8_t> stalls_in, stalls_out;
  std::vector<uint64_t> words;
  std::vector<uint8_t> lasts;

 private:
  void set(int port, uint64_t value) {
    if (port < 0) return;
    if (port >= int(shown.size())) shown.resize(port + 1, {0, false});
    auto& [now, known] = shown[port];
    if (known && now == value) return;
    now = value;
    known = true;
    uint32_t limbs[2] = {uint32_t(value), uint32_t(value >> 32)};
    model->set(design, port, limbs);
  }

  uint64_t get(int port) {
    uint32_t limbs[2] = {0, 0};
    model->get(design, port, limbs);
    return limbs[0] | uint64_t(limbs[1]) << 32;
  }

  bool edge(bool level) {
    set(ports.clock, level);
    return model->settle(design);
  }

  // The inputs of this cycle, then all logic settles.
  bool before_edge() {
    if (!in_valid && !to_send.empty()) in_valid = !withheld(stalls_in, state.cycle);
    set(ports.in.valid, in_valid);
    if (in_valid) {
      set(ports.in.data, to_send.front().data);
      set(ports.in.last, to_send.front().last);
    }
    out_ready = !withheld(stalls_out, state.cycle);
    set(ports.out.ready, out_ready);
    return edge(0);
  }

  // Words move, and the clock rises.
  bool after_edge() {
    bool in_ready = get(ports.in.ready), out_valid = get(ports.out.valid);
    Word offered = {get(ports.out.data), uint8_t(get(ports.out.last))};
    watch(out_valid, offered);
    packet_ended = false;
    state.in_valid = in_valid, state.in_ready = in_ready;
    state.out_valid = out_valid, state.out_ready = out_ready;
    if (in_valid && in_ready) {
      to_send.pop_front();
      in_valid = false;
      state.sent++;
      state.last_sent = state.cycle;
    }
    if (out_valid && out_ready) {
      words.push_back(offered.data);
      lasts.push_back(offered.last);
      packet_ended = offered.last;
      state.received++;
      state.last_received = state.cycle;
    }
    bool settled = edge(1);
    state.cycle++;
    return settled;
  }

  // An offered word has to stay until it is taken.
  void watch(bool out_valid, const Word& offered) {
    bool same = offered.data == waiting.data && offered.last == waiting.last;
    if (waits && (!out_valid || !same)) state.violations++;
    waits = out_valid && !out_ready;
    waiting = offered;
  }

  int release(int response) {
    for (const Channel* c : {&ports.write_address, &ports.write_data, &ports.read_address})
      set(c->valid, 0);
    set(ports.write_answer.ready, 0);
    set(ports.read_data.ready, 0);
    return response;
  }

  const Model* model;
  void* design;
  const AxiPorts ports;
  AxiState state = {0, 0, 0, 0, -1, -1, -1, 0, 0, 0, 0, 0};
  std::vector<std::pair<uint64_t, bool>> shown;  // what each input port was last set to
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
void axi_state(AxiRun* run, AxiState* state) { *state = run->read_state(); }
void axi_received(AxiRun* run, const uint64_t** words, const uint8_t** lasts) {
  *words = run->words.data();
  *lasts = run->lasts.data();
}
}
