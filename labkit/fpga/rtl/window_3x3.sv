// From a stream of pixels to the stream of their 3x3 windows, with a border of zeros.
//
// The pixels of an image come row by row. Behind each row the module puts a pixel of zeros, and
// behind each image a row of them: positions 0..HEIGHT by 0..WIDTH. The zeros behind one row are
// the border before the next one. At each position three pixels of a column enter on the right:
// the pixel itself, and from two line buffers those above it. The window around pixel
// (row - 1, col - 1) is complete at position (row, col).
//
// Ports   x: stream of pixels, PIXEL_BITS each (all channels of a pixel in one word).
//         window: stream of 9 pixels; tap 3 * r + s, r and s from 0 (top left), lowest first.
// Timing  At most one position per cycle. HEIGHT + WIDTH + 1 positions of an image give no window:
//         all those of row 0 and column 0.
// Lesson  a_convolution_as_a_stream.

module window_3x3 #(
  parameter int HEIGHT     = 32,
  parameter int WIDTH      = 32,
  parameter int PIXEL_BITS = 24
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    x_valid,
  output logic                    x_ready,
  input  logic [PIXEL_BITS-1:0]   x_data,
  output logic                    window_valid,
  input  logic                    window_ready,
  output logic [9*PIXEL_BITS-1:0] window_data
);

  logic                  first_row;
  logic                  first_col;
  logic                  border;
  logic                  step;
  logic [PIXEL_BITS-1:0] pixel;

  assign pixel = border ? '0 : x_data;

  raster #(
    .HEIGHT(HEIGHT),
    .WIDTH (WIDTH)
  ) u_raster (
    .clk      (clk),
    .rst      (rst),
    .step     (step),
    .first_row(first_row),
    .first_col(first_col),
    .border   (border)
  );

  window_control u_control (
    .clk         (clk),
    .rst         (rst),
    .x_valid     (x_valid),
    .x_ready     (x_ready),
    .border      (border),
    .first_row   (first_row),
    .first_col   (first_col),
    .step        (step),
    .window_valid(window_valid),
    .window_ready(window_ready)
  );

  window_rows #(
    .ROW       (WIDTH + 1),
    .PIXEL_BITS(PIXEL_BITS)
  ) u_rows (
    .clk      (clk),
    .rst      (rst),
    .step     (step),
    .first_row(first_row),
    .d        (pixel),
    .window   (window_data)
  );

endmodule
