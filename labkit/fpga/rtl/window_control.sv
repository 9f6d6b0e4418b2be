// Decides when a window's circuit makes a step, and when a window is complete.
//
// A step needs room for a window, and a pixel unless the position lies on the border of zeros. The
// window around pixel (row - 1, col - 1) is complete once position (row, col) is done; in row 0
// and column 0 there is no such pixel.
//
// Ports   x_valid, x_ready: the stream of pixels. border, first_row, first_col: from `raster`.
//         step: this position is done. window_valid, window_ready: the stream of windows.
// Timing  A window is valid in the cycle after its last step.
// Lesson  a_convolution_as_a_stream.

module window_control (
  input  logic clk,
  input  logic rst,
  input  logic x_valid,
  output logic x_ready,
  input  logic border,
  input  logic first_row,
  input  logic first_col,
  output logic step,
  output logic window_valid,
  input  logic window_ready
);

  logic room;

  assign room    = !window_valid || window_ready;
  assign x_ready = room && !border;
  assign step    = room && (border || x_valid);

  always_ff @(posedge clk) begin
    if (rst) begin
      window_valid <= 1'b0;
    end else if (room) begin
      window_valid <= step && !first_row && !first_col;
    end
  end

endmodule
