// Three rows of three pixels that move by one with each step: two line buffers and nine registers.
//
// Ports   step: a pixel comes in. d: this pixel. first_row: it lies in the first row of its image.
//         window: the last three pixels of three rows; tap 3 * r + s, r and s from 0 (top left),
//         lowest first. ROW is how many steps a row has, its border included.
// Timing  One pixel per step; the window has it in the next cycle.
// Lesson  a_convolution_as_a_stream.

module window_rows #(
  parameter int ROW        = 33,
  parameter int PIXEL_BITS = 24
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    step,
  input  logic                    first_row,
  input  logic [PIXEL_BITS-1:0]   d,
  output logic [9*PIXEL_BITS-1:0] window
);

  // The column that enters, d at its bottom. In the first row the line buffers still hold rows of
  // the image before, or nothing at all: zeros take their place, and the next row finds these zeros
  // two rows above.
  logic [PIXEL_BITS-1:0] middle;
  logic [PIXEL_BITS-1:0] top;
  logic [PIXEL_BITS-1:0] one_row_ago;
  logic [PIXEL_BITS-1:0] two_rows_ago;

  assign middle = first_row ? '0 : one_row_ago;
  assign top    = first_row ? '0 : two_rows_ago;

  line_buffer #(
    .WIDTH (PIXEL_BITS),
    .LENGTH(ROW)
  ) u_row_above (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   (d),
    .q   (one_row_ago)
  );

  line_buffer #(
    .WIDTH (PIXEL_BITS),
    .LENGTH(ROW)
  ) u_row_two_above (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   (middle),
    .q   (two_rows_ago)
  );

  // Three rows of three pixels; the left one lowest. Each step moves them left by one.
  logic [3*PIXEL_BITS-1:0] top_row;
  logic [3*PIXEL_BITS-1:0] middle_row;
  logic [3*PIXEL_BITS-1:0] bottom_row;
  assign window = {bottom_row, middle_row, top_row};

  always_ff @(posedge clk) begin
    if (step) begin
      top_row    <= {top, top_row[3*PIXEL_BITS-1:PIXEL_BITS]};
      middle_row <= {middle, middle_row[3*PIXEL_BITS-1:PIXEL_BITS]};
      bottom_row <= {d, bottom_row[3*PIXEL_BITS-1:PIXEL_BITS]};
    end
  end

endmodule
