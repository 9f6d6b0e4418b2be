// A compiled design with AXI ports: its reset, and a processor's side of AXI4-Lite.
//
// Whoever derives from it is at the ends of its streams: `before_edge` gives the inputs of a cycle,
// `after_edge` moves words and lets the clock rise. So the streams move while a register is read.

#pragma once
#include <utility>
#include <vector>

#include "axi.h"

class AxiDesign {
 public:
  AxiDesign(const Model* model, const AxiPorts& ports)
      : ports(ports), model(model), design(model->create()) {
    set(ports.reset, ports.reset_level);
    for (int cycle = 0; cycle < 2; cycle++) {
      edge(0);
      edge(1);
    }
    set(ports.reset, !ports.reset_level);
    set(ports.write_bytes, 0xF);
  }
  AxiDesign(const AxiDesign&) = delete;
  virtual ~AxiDesign() { model->destroy(design); }

  // One write of a register; the response, or -1 if none came in `limit` cycles, -2 where the logic
  // does not settle.
  int write(uint32_t address, uint32_t value, uint32_t bytes, int64_t limit) {
    set(ports.write_address.data, address);
    set(ports.write_data.data, value);
    set(ports.write_bytes, bytes);
    bool address_waits = true, data_waits = true;
    for (int64_t age = 0; age < limit; age++) {
      bool gives_address = address_waits && age >= pace.address;
      bool gives_data = data_waits && age >= pace.data;
      bool takes = age >= pace.answer;
      set(ports.write_address.valid, gives_address);
      set(ports.write_data.valid, gives_data);
      set(ports.write_answer.ready, takes);
      if (!before_edge()) return -2;
      if (gives_address && get(ports.write_address.ready)) address_waits = false;
      if (gives_data && get(ports.write_data.ready)) {
        data_waits = false;
        last_access = cycle;
      }
      bool answered = takes && get(ports.write_answer.valid);
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
    for (int64_t age = 0; age < limit; age++) {
      bool gives_address = address_waits && age >= pace.address;
      bool takes = age >= pace.answer;
      set(ports.read_address.valid, gives_address);
      set(ports.read_data.ready, takes);
      if (!before_edge()) return -2;
      if (gives_address && get(ports.read_address.ready)) address_waits = false;
      bool answered = takes && get(ports.read_data.valid);
      *value = get(ports.read_data.data);
      int response = get(ports.read_response);
      if (!after_edge()) return -2;
      if (answered) return release(response);
    }
    return release(-1);
  }

  AxiPace pace = {0, 0, 0};

 protected:
  virtual bool before_edge() = 0;  // the inputs of this cycle, then all logic settles
  virtual bool after_edge() = 0;   // words move, and the clock rises

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
    if (port >= 0) model->get(design, port, limbs);
    const volatile uint32_t* read = limbs;  // one by one: a load of both waits for both stores
    uint64_t low = read[0], high = read[1];
    return low | high << 32;
  }

  bool edge(bool level) {
    set(ports.clock, level);
    return model->settle(design);
  }

  const AxiPorts ports;
  int64_t cycle = 0;         // clock cycles since the reset
  int64_t last_access = -1;  // the cycle in which the latest written value was taken

 private:
  int release(int response) {
    for (const Channel* c : {&ports.write_address, &ports.write_data, &ports.read_address})
      set(c->valid, 0);
    set(ports.write_answer.ready, 0);
    set(ports.read_data.ready, 0);
    return response;
  }

  const Model* model;
  void* design;
  std::vector<std::pair<uint64_t, bool>> shown;  // what each input port was last set to
};
