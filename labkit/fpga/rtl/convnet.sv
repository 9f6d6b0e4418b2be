// The course's network as one pipeline: an image goes in, ten logits come out.
//
//   image -> conv1 -> pool1 -> conv2 -> pool2 -> fc1 -> fc2 -> logits
//
// All layers work at the same time, each on what the one before has just made. fc1 multiplies
// each value of pool2 as it comes with all the weights of that value, so the weights come in the
// order of pool2's output. Two queues let a layer that works in bursts run ahead: a pooling layer
// gives a row in the time of two.
//
// The knobs: CONV1_LANES, CONV2_LANES and FC1_LANES outputs at a time. They cost 27, 72 and 1
// multipliers each.
//
// Ports   beat: 64 bits, for the stream whose valid is 1. What each holds: section_router.
//         y: stream of two int32 logits, five for each image.
// Timing  labkit/fpga/convnet/accelerator_cycles.py.
// Lesson  the_network_as_a_pipeline.

module convnet #(
  parameter int HEIGHT         = 32,
  parameter int WIDTH          = 32,
  parameter int CONV1_CHANNELS = 32,
  parameter int CONV2_CHANNELS = 64,
  parameter int FC1_OUTPUTS    = 128,
  parameter int FC2_OUTPUTS    = 10,
  parameter int CONV1_LANES    = 1,
  parameter int CONV2_LANES    = 1,
  parameter int FC1_LANES      = 8,
  parameter bit RESIDENT       = 1'b0,
  parameter int ROW_QUEUE      = 16,
  parameter int VALUE_QUEUE    = 512
) (
  input  logic        clk,
  input  logic        rst,
  input  logic [4:0]  conv1_shift,
  input  logic [4:0]  conv2_shift,
  input  logic [4:0]  fc1_shift,
  input  logic [63:0] beat,
  input  logic        conv1_p_valid,
  output logic        conv1_p_ready,
  input  logic        conv1_w_valid,
  output logic        conv1_w_ready,
  input  logic        image_valid,
  output logic        image_ready,
  input  logic        conv2_p_valid,
  output logic        conv2_p_ready,
  input  logic        conv2_w_valid,
  output logic        conv2_w_ready,
  input  logic        fc1_p_valid,
  output logic        fc1_p_ready,
  input  logic        fc2_b_valid,
  output logic        fc2_b_ready,
  input  logic        fc1_w_valid,
  output logic        fc1_w_ready,
  input  logic        fc2_w_valid,
  output logic        fc2_w_ready,
  output logic        y_valid,
  input  logic        y_ready,
  output logic [63:0] y_data
);

  localparam int Fc1Inputs  = (HEIGHT / 4) * (WIDTH / 4) * CONV2_CHANNELS;
  localparam int PixelBits  = CONV1_CHANNELS * 8;
  localparam int ImageBeats = 1 << $clog2(HEIGHT * WIDTH / 2);  // a power of two
  localparam int Fc2Inputs  = 4;  // of fc2 at a time, with two outputs: 8 weights, a beat

  if ((HEIGHT % 4 != 0) || (WIDTH % 4 != 0) || (WIDTH < 8)) begin : gen_sides_refused
    $error("HEIGHT and WIDTH must be multiples of 4, WIDTH 8 or more");
  end
  if ((CONV1_CHANNELS % 8 != 0) || (FC1_OUTPUTS % 8 != 0)) begin : gen_channels_refused
    $error("CONV1_CHANNELS and FC1_OUTPUTS must be multiples of 8");
  end
  if (FC1_LANES % 8 != 0) begin : gen_lanes_refused
    $error("FC1_LANES must be a multiple of 8: a beat has 8 weights");
  end

  // ---- image: with streamed weights the next one comes before the weights for this one, so
  // there is room for two.
  logic        pixels_valid;
  logic        pixels_ready;
  logic [63:0] pixels;
  logic        half_valid;
  logic        half_ready;
  logic [31:0] half;
  logic        pixel_valid;
  logic        pixel_ready;
  logic [23:0] pixel;

  block_fifo #(
    .WIDTH(64),
    .DEPTH(RESIDENT ? ImageBeats : 2 * ImageBeats)
  ) u_image (
    .clk      (clk),
    .rst      (rst),
    .in_valid (image_valid),
    .in_ready (image_ready),
    .in_data  (beat),
    .out_valid(pixels_valid),
    .out_ready(pixels_ready),
    .out_data (pixels)
  );

  narrow #(
    .WIDTH (32),
    .GROUPS(2)
  ) u_pixel (
    .clk    (clk),
    .rst    (rst),
    .x_valid(pixels_valid),
    .x_ready(pixels_ready),
    .x_data (pixels),
    .y_valid(half_valid),
    .y_ready(half_ready),
    .y_data (half)
  );

  // A block RAM gives its word late in a cycle.
  skid_buffer #(
    .WIDTH(24)
  ) u_held_pixel (
    .clk      (clk),
    .rst      (rst),
    .in_valid (half_valid),
    .in_ready (half_ready),
    .in_data  (half[23:0]),
    .out_valid(pixel_valid),
    .out_ready(pixel_ready),
    .out_data (pixel)
  );

  // ---- conv1 and pool1: 27 multipliers for each lane.
  logic                     taps_valid;
  logic                     taps_ready;
  logic [31:0]              taps;
  logic                     conv1_valid;
  logic                     conv1_ready;
  logic [CONV1_LANES*8-1:0] conv1;
  logic                     pool1_valid;
  logic                     pool1_ready;
  logic [CONV1_LANES*8-1:0] pool1;

  narrow #(
    .WIDTH (32),
    .GROUPS(2)
  ) u_taps (
    .clk    (clk),
    .rst    (rst),
    .x_valid(conv1_w_valid),
    .x_ready(conv1_w_ready),
    .x_data (beat),
    .y_valid(taps_valid),
    .y_ready(taps_ready),
    .y_data (taps)
  );

  conv_layer #(
    .HEIGHT       (HEIGHT),
    .WIDTH        (WIDTH),
    .IN_CHANNELS  (3),
    .OUT_CHANNELS (CONV1_CHANNELS),
    .CHANNEL_LANES(3),
    .LANES        (CONV1_LANES)
  ) u_conv1 (
    .clk    (clk),
    .rst    (rst),
    .shift  (conv1_shift),
    .w_valid(taps_valid),
    .w_ready(taps_ready),
    .w_data (taps[23:0]),
    .p_valid(conv1_p_valid),
    .p_ready(conv1_p_ready),
    .p_data (beat[47:0]),
    .x_valid(pixel_valid),
    .x_ready(pixel_ready),
    .x_data (pixel),
    .y_valid(conv1_valid),
    .y_ready(conv1_ready),
    .y_data (conv1)
  );

  maxpool2x2 #(
    .HEIGHT(HEIGHT),
    .WIDTH (WIDTH),
    .GROUPS(CONV1_CHANNELS / CONV1_LANES),
    .LANES (CONV1_LANES)
  ) u_pool1 (
    .clk    (clk),
    .rst    (rst),
    .x_valid(conv1_valid),
    .x_ready(conv1_ready),
    .x_data (conv1),
    .y_valid(pool1_valid),
    .y_ready(pool1_ready),
    .y_data (pool1)
  );

  // The fourth byte of a pixel, and of a tap's weights, is padding.
  logic unused_padding;
  assign unused_padding = &{1'b0, half[31:24], taps[31:24]};

  // ---- A queue of pooled pixels, each with all its channels.
  logic                 whole_valid;
  logic                 whole_ready;
  logic [PixelBits-1:0] whole;
  logic                 queued_valid;
  logic                 queued_ready;
  logic [PixelBits-1:0] queued;

  gather #(
    .WIDTH (CONV1_LANES * 8),
    .GROUPS(CONV1_CHANNELS / CONV1_LANES)
  ) u_gather (
    .clk    (clk),
    .rst    (rst),
    .x_valid(pool1_valid),
    .x_ready(pool1_ready),
    .x_data (pool1),
    .y_valid(whole_valid),
    .y_ready(whole_ready),
    .y_data (whole)
  );

  stream_fifo #(
    .WIDTH(PixelBits),
    .DEPTH(ROW_QUEUE)
  ) u_row_queue (
    .clk      (clk),
    .rst      (rst),
    .in_valid (whole_valid),
    .in_ready (whole_ready),
    .in_data  (whole),
    .out_valid(queued_valid),
    .out_ready(queued_ready),
    .out_data (queued)
  );

  // ---- conv2 and pool2: 72 multipliers for each lane, for 8 input channels at a time.
  logic                     conv2_valid;
  logic                     conv2_ready;
  logic [CONV2_LANES*8-1:0] conv2;
  logic                     pool2_valid;
  logic                     pool2_ready;
  logic [CONV2_LANES*8-1:0] pool2;

  conv_layer #(
    .HEIGHT       (HEIGHT / 2),
    .WIDTH        (WIDTH / 2),
    .IN_CHANNELS  (CONV1_CHANNELS),
    .OUT_CHANNELS (CONV2_CHANNELS),
    .CHANNEL_LANES(8),
    .LANES        (CONV2_LANES)
  ) u_conv2 (
    .clk    (clk),
    .rst    (rst),
    .shift  (conv2_shift),
    .w_valid(conv2_w_valid),
    .w_ready(conv2_w_ready),
    .w_data (beat),
    .p_valid(conv2_p_valid),
    .p_ready(conv2_p_ready),
    .p_data (beat[47:0]),
    .x_valid(queued_valid),
    .x_ready(queued_ready),
    .x_data (queued),
    .y_valid(conv2_valid),
    .y_ready(conv2_ready),
    .y_data (conv2)
  );

  maxpool2x2 #(
    .HEIGHT(HEIGHT / 2),
    .WIDTH (WIDTH / 2),
    .GROUPS(CONV2_CHANNELS / CONV2_LANES),
    .LANES (CONV2_LANES)
  ) u_pool2 (
    .clk    (clk),
    .rst    (rst),
    .x_valid(conv2_valid),
    .x_ready(conv2_ready),
    .x_data (conv2),
    .y_valid(pool2_valid),
    .y_ready(pool2_ready),
    .y_data (pool2)
  );

  // ---- A queue of pooled values, for fc1 takes them one by one.
  logic                     burst_valid;
  logic                     burst_ready;
  logic [CONV2_LANES*8-1:0] burst;
  logic                     value_valid;
  logic                     value_ready;
  logic [7:0]               value;

  block_fifo #(
    .WIDTH  (CONV2_LANES * 8),
    .DEPTH  (VALUE_QUEUE / CONV2_LANES),
    .IN_LUTS(1'b1)
  ) u_value_queue (
    .clk      (clk),
    .rst      (rst),
    .in_valid (pool2_valid),
    .in_ready (pool2_ready),
    .in_data  (pool2),
    .out_valid(burst_valid),
    .out_ready(burst_ready),
    .out_data (burst)
  );

  narrow #(
    .WIDTH (8),
    .GROUPS(CONV2_LANES)
  ) u_values (
    .clk    (clk),
    .rst    (rst),
    .x_valid(burst_valid),
    .x_ready(burst_ready),
    .x_data (burst),
    .y_valid(value_valid),
    .y_ready(value_ready),
    .y_data (value)
  );

  // ---- The weights of fc1 and fc2: from the stream, or kept on the chip after the first image.
  logic                   fc1_w_wide_valid;
  logic                   fc1_w_wide_ready;
  logic [FC1_LANES*8-1:0] fc1_w_wide;
  logic                   fc1_weights_valid;
  logic                   fc1_weights_ready;
  logic [FC1_LANES*8-1:0] fc1_weights;
  logic                   fc2_weights_valid;
  logic                   fc2_weights_ready;
  logic [63:0]            fc2_weights;

  if (FC1_LANES == 8) begin : gen_beat
    assign fc1_w_wide_valid = fc1_w_valid;
    assign fc1_w_ready      = fc1_w_wide_ready;
    assign fc1_w_wide       = beat;
  end else begin : gen_wide
    gather #(
      .WIDTH (64),
      .GROUPS(FC1_LANES / 8)
    ) u_gather (
      .clk    (clk),
      .rst    (rst),
      .x_valid(fc1_w_valid),
      .x_ready(fc1_w_ready),
      .x_data (beat),
      .y_valid(fc1_w_wide_valid),
      .y_ready(fc1_w_wide_ready),
      .y_data (fc1_w_wide)
    );
  end

  if (RESIDENT) begin : gen_resident
    weight_store #(
      .WIDTH(FC1_LANES * 8),
      .DEPTH(Fc1Inputs * FC1_OUTPUTS / FC1_LANES)
    ) u_fc1_weights (
      .clk    (clk),
      .rst    (rst),
      .w_valid(fc1_w_wide_valid),
      .w_ready(fc1_w_wide_ready),
      .w_data (fc1_w_wide),
      .y_valid(fc1_weights_valid),
      .y_ready(fc1_weights_ready),
      .y_data (fc1_weights)
    );
    weight_store #(
      .WIDTH  (64),
      .DEPTH  (FC1_OUTPUTS * FC2_OUTPUTS / 8),
      .IN_LUTS(1'b1)
    ) u_fc2_weights (
      .clk    (clk),
      .rst    (rst),
      .w_valid(fc2_w_valid),
      .w_ready(fc2_w_ready),
      .w_data (beat),
      .y_valid(fc2_weights_valid),
      .y_ready(fc2_weights_ready),
      .y_data (fc2_weights)
    );
  end else begin : gen_streamed
    assign fc1_weights_valid = fc1_w_wide_valid;
    assign fc1_w_wide_ready  = fc1_weights_ready;
    assign fc1_weights       = fc1_w_wide;
    assign fc2_weights_valid = fc2_w_valid;
    assign fc2_w_ready       = fc2_weights_ready;
    assign fc2_weights       = beat;
  end

  // ---- fc1: a multiplier for each lane; its sums go on one by one.
  logic                    sums_valid;
  logic                    sums_ready;
  logic [FC1_LANES*32-1:0] sums;
  logic                    sum_valid;
  logic                    sum_ready;
  logic [31:0]             sum;
  logic                    held_sum_valid;
  logic                    held_sum_ready;
  logic [31:0]             held_sum;
  logic                    fc1_valid;
  logic                    fc1_ready;
  logic [7:0]              fc1;

  fully_connected #(
    .INPUTS  (Fc1Inputs),
    .OUTPUTS (FC1_OUTPUTS),
    .PRODUCTS(1),
    .LANES   (FC1_LANES)
  ) u_fc1 (
    .clk    (clk),
    .rst    (rst),
    .x_valid(value_valid),
    .x_ready(value_ready),
    .x_data (value),
    .w_valid(fc1_weights_valid),
    .w_ready(fc1_weights_ready),
    .w_data (fc1_weights),
    .y_valid(sums_valid),
    .y_ready(sums_ready),
    .y_data (sums)
  );

  narrow #(
    .WIDTH (32),
    .GROUPS(FC1_LANES)
  ) u_sums (
    .clk    (clk),
    .rst    (rst),
    .x_valid(sums_valid),
    .x_ready(sums_ready),
    .x_data (sums),
    .y_valid(sum_valid),
    .y_ready(sum_ready),
    .y_data (sum)
  );

  // It cuts the path of `ready` from here to the stream of weights.
  skid_buffer #(
    .WIDTH(32)
  ) u_held_sum (
    .clk      (clk),
    .rst      (rst),
    .in_valid (sum_valid),
    .in_ready (sum_ready),
    .in_data  (sum),
    .out_valid(held_sum_valid),
    .out_ready(held_sum_ready),
    .out_data (held_sum)
  );

  requantize #(
    .CHANNELS(FC1_OUTPUTS),
    .LANES   (1)
  ) u_requantize (
    .clk    (clk),
    .rst    (rst),
    .shift  (fc1_shift),
    .p_valid(fc1_p_valid),
    .p_ready(fc1_p_ready),
    .p_data (beat[47:0]),
    .x_valid(held_sum_valid),
    .x_ready(held_sum_ready),
    .x_data (held_sum),
    .y_valid(fc1_valid),
    .y_ready(fc1_ready),
    .y_data (fc1)
  );

  // ---- A queue for all of fc1's outputs: they come before the weights of fc2 do.
  logic                   four_valid;
  logic                   four_ready;
  logic [Fc2Inputs*8-1:0] four;
  logic                   inputs_valid;
  logic                   inputs_ready;
  logic [Fc2Inputs*8-1:0] inputs;

  gather #(
    .WIDTH (8),
    .GROUPS(Fc2Inputs)
  ) u_four (
    .clk    (clk),
    .rst    (rst),
    .x_valid(fc1_valid),
    .x_ready(fc1_ready),
    .x_data (fc1),
    .y_valid(four_valid),
    .y_ready(four_ready),
    .y_data (four)
  );

  stream_fifo #(
    .WIDTH(Fc2Inputs * 8),
    .DEPTH(1 << $clog2(FC1_OUTPUTS / Fc2Inputs))
  ) u_inputs (
    .clk      (clk),
    .rst      (rst),
    .in_valid (four_valid),
    .in_ready (four_ready),
    .in_data  (four),
    .out_valid(inputs_valid),
    .out_ready(inputs_ready),
    .out_data (inputs)
  );

  // ---- fc2: 8 multipliers, two outputs of four inputs each.
  logic                   logits_valid;
  logic                   logits_ready;
  logic [63:0]            logits;

  fully_connected #(
    .INPUTS  (FC1_OUTPUTS),
    .OUTPUTS (FC2_OUTPUTS),
    .PRODUCTS(Fc2Inputs),
    .LANES   (2)
  ) u_fc2 (
    .clk    (clk),
    .rst    (rst),
    .x_valid(inputs_valid),
    .x_ready(inputs_ready),
    .x_data (inputs),
    .w_valid(fc2_weights_valid),
    .w_ready(fc2_weights_ready),
    .w_data (fc2_weights),
    .y_valid(logits_valid),
    .y_ready(logits_ready),
    .y_data (logits)
  );

  add_bias #(
    .CHANNELS(FC2_OUTPUTS),
    .LANES   (2)
  ) u_biases (
    .clk    (clk),
    .rst    (rst),
    .b_valid(fc2_b_valid),
    .b_ready(fc2_b_ready),
    .b_data (beat[31:0]),
    .x_valid(logits_valid),
    .x_ready(logits_ready),
    .x_data (logits),
    .y_valid(y_valid),
    .y_ready(y_ready),
    .y_data (y_data)
  );

endmodule
