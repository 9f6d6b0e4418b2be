"""The solutions of lesson 03_fpga/2_a_multiply_accumulate_array. Written by `labkit build` from

chapters/03_fpga/source/a_multiply_accumulate_array/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""


mac = r"""
module mac (
    input logic clk, rst, terms_valid, terms_last, y_ready,
    input logic [15:0] terms_data,
    output logic terms_ready, y_valid,
    output logic signed [31:0] y_data);
  logic signed [7:0] x, w;  // -128 to 127
  logic first;
  assign {w, x} = terms_data;  // side by side: w is the upper byte
  assign terms_ready = !y_valid || y_ready;  // no term moves while a complete sum waits
  always_ff @(posedge clk)
    if (rst) begin y_valid <= 0; first <= 1; end
    else if (terms_valid && terms_ready) begin
      y_data <= (first ? 0 : y_data) + x * w;
      first <= terms_last;
      y_valid <= terms_last;
    end else if (y_ready) y_valid <= 0;  // the sum is taken, and no term moves
endmodule
"""


mac_array = r"""
module mac_array #(parameter LANES = 4) (
    input logic clk, rst, terms_valid, terms_last, y_ready, input logic [8*LANES+7:0] terms_data,
    output logic terms_ready, y_valid, output logic [32*LANES-1:0] y_data);
  logic [LANES-1:0] ready, valid;
  assign {terms_ready, y_valid} = {ready[0], valid[0]};  // all lanes move together
  for (genvar k = 0; k < LANES; k++) begin : gen_lanes  // a name for the copies
    logic [7:0] x, w;  // on their way to mac, which reads them with a sign
    logic [31:0] sum;
    assign x = terms_data[7:0];
    assign w = terms_data[8*(k+1) +: 8];
    assign y_data[32*k +: 32] = sum;
    mac lane (.clk, .rst, .terms_valid, .terms_last, .y_ready, .y_data(sum),
              .terms_data({w, x}), .terms_ready(ready[k]), .y_valid(valid[k]));
  end
endmodule
"""


requantize = r"""
module requantize #(parameter SHIFT = 16) (
    input logic clk, rst, x_valid, y_ready, input logic [47:0] x_data,
    output logic x_ready, y_valid, output logic signed [7:0] y_data);
  logic signed [31:0] sum;
  logic signed [16:0] m;
  logic signed [47:0] shifted;
  assign sum = x_data[31:0];
  assign m = {1'b0, x_data[47:32]};  // a 0 in front: m is never negative
  assign x_ready = !y_valid || y_ready;
  assign shifted = (sum * m + 2 ** (SHIFT - 1)) >>> SHIFT;
  always_ff @(posedge clk)
    if (rst) y_valid <= 0;
    else if (x_ready) begin
      y_valid <= x_valid;
      y_data <= shifted < 0 ? 0 : shifted > 127 ? 127 : 8'(shifted);
    end
endmodule
"""


SOLUTIONS = {
    "fpga.mac": mac,
    "fpga.mac_array": mac_array,
    "fpga.requantize_rtl": requantize,
}
