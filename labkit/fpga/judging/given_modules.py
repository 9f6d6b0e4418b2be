"""Modules that lessons give: a tree of adders, a queue, a counter, and our own answers.

The queue looks right, and loses words: lesson timing_and_proof asks for its bug. The
negative never ends a packet: lesson the_network_on_the_board asks for its `last`.
"""

from labkit.checks.items import Exercise
from labkit.checks.registry import registry

TREE = """
module tree (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid,
  input  logic [7:0][15:0] in_data,
  output logic signed [15:0] out_data);

  logic [3:0][15:0] pairs;
  logic [1:0][15:0] fours;
  always_comb begin
    for (int i = 0; i < 4; i++) pairs[i] = in_data[2*i] + in_data[2*i+1];
    for (int i = 0; i < 2; i++) fours[i] = pairs[2*i] + pairs[2*i+1];
  end

  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) out_valid <= 0;
    else if (in_ready) begin
      out_valid <= in_valid;
      out_data  <= fours[0] + fours[1];
    end
endmodule
"""

QUEUE = """
module queue (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid,
  input  logic signed [7:0] in_data,
  output logic signed [7:0] out_data);
  logic signed [7:0] words [4];
  logic [1:0] head, tail, waiting;
  assign waiting   = tail - head;
  assign out_valid = waiting != 0;
  assign out_data  = words[head];
  assign in_ready  = waiting != 4;
  always_ff @(posedge clk) begin  // '0: all bits 0; 2'(...): two bits wide
    if (in_valid && in_ready) words[tail] <= in_data;
    head <= rst ? '0 : head + 2'(out_valid && out_ready);
    tail <= rst ? '0 : tail + 2'(in_valid && in_ready);
  end
endmodule
"""

NEGATIVE = """
module negative #(parameter LENGTH = 8) (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid, out_last,
  input  logic [7:0] in_data, output logic [7:0] out_data);
  logic [15:0] count;
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) begin
      out_valid <= 0;
      count <= 0;
    end else if (in_ready) begin
      out_valid <= in_valid;
      out_data <= 255 - in_data;
      out_last <= 0;  // forgotten
    end
endmodule
"""

COLUMN_COUNTER = """
module column_counter #(parameter INPUTS = 3, parameter OUTPUTS = 2) (
  input  logic clk, rst, step,
  output logic [7:0] k,
  output logic first_value, last_value, last_output);
  logic [15:0] value;
  assign first_value = value == 0;
  assign last_value  = value == INPUTS - 1;
  assign last_output = k == OUTPUTS - 1;
  always_ff @(posedge clk)
    if (rst) begin
      k <= 0;
      value <= 0;
    end else if (step) begin
      k <= last_output ? 0 : k + 1;
      if (last_output) value <= last_value ? 0 : value + 1;
    end
endmodule
"""

# The words of a counterexample, so that a reader can tell them apart: 1 in cycle 1, then 2, 3, ...
NUMBERED = """
if ($past(rst)) assume (in_data == 1); else assume (in_data == 8'($past(in_data) + 1));
"""


def course_module(id: str) -> str:
    """The text of the course's own module for an exercise: "fpga.mac".

    A lesson takes it where its text speaks of numbers that another right module may not have.
    Raises what the registry raises for an unknown id.
    """
    return registry().find(id, Exercise).fallback
