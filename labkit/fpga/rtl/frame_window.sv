// The 3x3 windows of frames whose ends are marked: after `last` the next pixel begins a frame.
//
// As window_3x3, with a border of zeros, where every frame has HEIGHT rows of WIDTH pixels and its
// last one is marked. A frame that ends early gives as many windows as it has pixels, too: zeros
// stand for the pixels that did not come, until the window of the last one is complete; and then
// the counters are back at the first position. A frame without a `last` is followed by another.
//
// Ports   x: stream of pixels with `last`. window: stream of 9 pixels, in the order of window_3x3;
//         its `last` is that of the pixel in the middle.
// Timing  As window_3x3. A frame that ends early takes WIDTH + 2 cycles after its last pixel.
// Lesson  video_in_video_out.

module frame_window #(
  parameter int HEIGHT     = 480,
  parameter int WIDTH      = 640,
  parameter int PIXEL_BITS = 8
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    x_valid,
  output logic                    x_ready,
  input  logic [PIXEL_BITS-1:0]   x_data,
  input  logic                    x_last,
  output logic                    window_valid,
  input  logic                    window_ready,
  output logic [9*PIXEL_BITS-1:0] window_data,
  output logic                    window_last
);

  localparam int Bits = PIXEL_BITS + 1;  // `last` goes with its pixel, at its top

  logic              first_row;
  logic              first_col;
  logic              outside;
  logic              ended;
  logic              border;
  logic              step;
  logic              restart;
  logic [Bits-1:0]   pixel;
  logic [9*Bits-1:0] window;
  logic [8:0]        lasts;

  for (genvar tap = 0; tap < 9; tap++) begin : gen_taps
    assign {lasts[tap], window_data[tap*PIXEL_BITS+:PIXEL_BITS]} = window[tap*Bits+:Bits];
  end

  assign border      = outside || ended;
  assign pixel       = border ? '0 : {x_last, x_data};
  assign window_last = lasts[4];
  assign restart     = step && lasts[5];  // this step moves it to the middle

  // ---- From a frame's last pixel until its window: only zeros come in.
  always_ff @(posedge clk) begin
    if (rst || restart) begin
      ended <= 1'b0;
    end else if (x_valid && x_ready && x_last) begin
      ended <= 1'b1;
    end
  end

  raster #(
    .HEIGHT(HEIGHT),
    .WIDTH (WIDTH)
  ) u_raster (
    .clk      (clk),
    .rst      (rst || restart),
    .step     (step),
    .first_row(first_row),
    .first_col(first_col),
    .border   (outside)
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
    .PIXEL_BITS(Bits)
  ) u_rows (
    .clk      (clk),
    .rst      (rst),
    .step     (step),
    .first_row(first_row),
    .d        (pixel),
    .window   (window)
  );

  logic unused_lasts;
  assign unused_lasts = &{1'b0, lasts[8:6], lasts[3:0]};

endmodule
