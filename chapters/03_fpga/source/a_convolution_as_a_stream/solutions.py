"""The solutions of lesson 03_fpga/3_a_convolution_as_a_stream. Written by `labkit build` from

chapters/03_fpga/source/a_convolution_as_a_stream/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""


line_buffer = r"""
module line_buffer #(parameter WIDTH = 8, parameter LENGTH = 33) (
    input logic clk, rst, step, input logic [WIDTH-1:0] d, output logic [WIDTH-1:0] q);
  logic [WIDTH-1:0] words [LENGTH];
  logic [$clog2(LENGTH)-1:0] now, next;  // as many bits as an address needs
  assign next = (now == LENGTH - 1) ? 0 : now + 1;
  always_ff @(posedge clk)
    if (rst) now <= 0;
    else if (step) begin
      now <= next;
      words[now] <= d;
      q <= words[next];
    end
endmodule
"""


window_control = r"""
module window_control (
    input logic clk, rst, x_valid, border, first_row, first_col, window_ready,
    output logic x_ready, step, window_valid);
  logic room;
  assign room = !window_valid || window_ready;
  assign x_ready = room && !border;
  assign step = room && (border || x_valid);
  always_ff @(posedge clk)
    if (rst) window_valid <= 0;
    else if (room) window_valid <= step && !first_row && !first_col;
endmodule
"""


SOLUTIONS = {
    "fpga.line_buffer": line_buffer,
    "fpga.window_control": window_control,
}
