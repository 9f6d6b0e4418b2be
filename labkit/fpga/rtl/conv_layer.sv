// A whole convolution layer of the network: 3x3 convolution, bias, ReLU and int8 again.
//
// Ports   w: stream of weights, as in conv3x3. p: stream of parameters and shift, as in requantize.
//         x: stream of pixels of IN_CHANNELS int8. y: stream of LANES int8.
// Timing  That of conv3x3, and once 10 cycles: those of requantize, and of a skid buffer before and
//         behind it: no path of `ready` goes through. The parameters come beside the weights.
// Lesson  a_convolution_as_a_stream.

module conv_layer #(
  parameter  int HEIGHT          = 32,
  parameter  int WIDTH           = 32,
  parameter  int IN_CHANNELS     = 3,
  parameter  int OUT_CHANNELS    = 32,
  parameter  int CHANNEL_LANES   = 3,
  parameter  int LANES           = 1,
  parameter  int MULTIPLIER_BITS = 16,
  parameter  bit RELU            = 1'b1,
  localparam int PARAMETER_BITS  = 32 + MULTIPLIER_BITS
) (
  input  logic                       clk,
  input  logic                       rst,
  input  logic [4:0]                 shift,
  input  logic                       w_valid,
  output logic                       w_ready,
  input  logic [CHANNEL_LANES*8-1:0] w_data,
  input  logic                       p_valid,
  output logic                       p_ready,
  input  logic [PARAMETER_BITS-1:0]  p_data,
  input  logic                       x_valid,
  output logic                       x_ready,
  input  logic [IN_CHANNELS*8-1:0]   x_data,
  output logic                       y_valid,
  input  logic                       y_ready,
  output logic [LANES*8-1:0]         y_data
);

  logic                sums_valid;
  logic                sums_ready;
  logic [LANES*32-1:0] sums;
  logic                held_valid;
  logic                held_ready;
  logic [LANES*32-1:0] held;
  logic                bytes_valid;
  logic                bytes_ready;
  logic [LANES*8-1:0]  bytes;

  conv3x3 #(
    .HEIGHT       (HEIGHT),
    .WIDTH        (WIDTH),
    .IN_CHANNELS  (IN_CHANNELS),
    .OUT_CHANNELS (OUT_CHANNELS),
    .CHANNEL_LANES(CHANNEL_LANES),
    .LANES        (LANES)
  ) u_conv (
    .clk    (clk),
    .rst    (rst),
    .w_valid(w_valid),
    .w_ready(w_ready),
    .w_data (w_data),
    .x_valid(x_valid),
    .x_ready(x_ready),
    .x_data (x_data),
    .y_valid(sums_valid),
    .y_ready(sums_ready),
    .y_data (sums)
  );

  skid_buffer #(
    .WIDTH(LANES * 32)
  ) u_sums (
    .clk      (clk),
    .rst      (rst),
    .in_valid (sums_valid),
    .in_ready (sums_ready),
    .in_data  (sums),
    .out_valid(held_valid),
    .out_ready(held_ready),
    .out_data (held)
  );

  requantize #(
    .CHANNELS       (OUT_CHANNELS),
    .LANES          (LANES),
    .MULTIPLIER_BITS(MULTIPLIER_BITS),
    .RELU           (RELU)
  ) u_requantize (
    .clk    (clk),
    .rst    (rst),
    .shift  (shift),
    .p_valid(p_valid),
    .p_ready(p_ready),
    .p_data (p_data),
    .x_valid(held_valid),
    .x_ready(held_ready),
    .x_data (held),
    .y_valid(bytes_valid),
    .y_ready(bytes_ready),
    .y_data (bytes)
  );

  skid_buffer #(
    .WIDTH(LANES * 8)
  ) u_bytes (
    .clk      (clk),
    .rst      (rst),
    .in_valid (bytes_valid),
    .in_ready (bytes_ready),
    .in_data  (bytes),
    .out_valid(y_valid),
    .out_ready(y_ready),
    .out_data (y_data)
  );

endmodule
