"""The solutions of lesson 03_fpga/4_timing_and_proof. Written by `labkit build` from

chapters/03_fpga/source/timing_and_proof/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""


register_stage = r"""
module register_stage (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid,
  input  logic signed [7:0] in_data,
  output logic signed [7:0] out_data);
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) out_valid <= 0;
    else if (in_ready) begin
      out_valid <= in_valid;
      out_data  <= in_data;
    end
endmodule
"""


pipelined_tree = r"""
module pipelined_tree (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid,
  input  logic [7:0][15:0] in_data,
  output logic signed [15:0] out_data);
  logic [3:0][15:0] pairs; logic [1:0][15:0] fours;
  logic pairs_valid, fours_valid;
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) {pairs_valid, fours_valid, out_valid} <= 0;
    else if (in_ready) begin
      {pairs_valid, fours_valid, out_valid} <= {in_valid, pairs_valid, fours_valid};
      for (int i = 0; i < 4; i++) pairs[i] <= in_data[2*i] + in_data[2*i+1];
      for (int i = 0; i < 2; i++) fours[i] <= pairs[2*i] + pairs[2*i+1];
      out_data <= fours[0] + fours[1];
    end
endmodule
"""


queue = r"""
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
  assign in_ready  = waiting != 3;
  always_ff @(posedge clk) begin  // '0: all bits 0; 2'(...): two bits wide
    if (in_valid && in_ready) words[tail] <= in_data;
    head <= rst ? '0 : head + 2'(out_valid && out_ready);
    tail <= rst ? '0 : tail + 2'(in_valid && in_ready);
  end
endmodule
"""


SOLUTIONS = {
    "fpga.register_stage": register_stage,
    "fpga.pipelined_tree": pipelined_tree,
    "fpga.find_the_bug": queue,
}
