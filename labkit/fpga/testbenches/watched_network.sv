// The accelerator without its registers: it starts by itself, and shows which layers work.
//
// Its convnet has one more port, `moves`: labkit/fpga/convnet/pipeline_runs.py adds it.
//
// Ports   images: how many the job has, held. s: stream of its beats. y: stream of its results.
//         moves: bit 0 and 1 if conv1 and conv2 hand over a word, bit 2 if fc1 takes weights.
//         values: 1 if pool2 hands over a word. cycles: as the register CYCLES.
// Lesson  the_network_as_a_pipeline.

module watched_network #(
  parameter int HEIGHT         = 32,
  parameter int WIDTH          = 32,
  parameter int CONV1_CHANNELS = 32,
  parameter int CONV2_CHANNELS = 64,
  parameter int FC1_OUTPUTS    = 128,
  parameter int VALUE_QUEUE    = 512
) (
  input  logic        clk,
  input  logic        rst,
  input  logic [15:0] images,
  input  logic        s_valid,
  output logic        s_ready,
  input  logic [63:0] s_data,
  input  logic        s_last,
  output logic        y_valid,
  input  logic        y_ready,
  output logic [63:0] y_data,
  output logic        y_last,
  output logic [2:0]  moves,
  output logic        values,
  output logic [31:0] cycles
);

  localparam bit [63:0] Network = {
    8'(FC1_OUTPUTS), 8'(CONV2_CHANNELS), 8'(CONV1_CHANNELS), 8'(HEIGHT), 8'd0, 8'd8, 8'd1, 8'd1
  };

  logic        started;
  logic [15:0] job_images;
  logic        core_rst;
  logic        at_first;
  logic        at_end;
  logic        beat_valid;
  logic        beat_ready;
  logic        result_valid;
  logic        result_ready;
  logic [63:0] result;
  logic [9:0]  section_valid;
  logic [9:0]  section_ready;
  logic [63:0] beat;
  logic [4:0]  conv1_shift;
  logic [4:0]  conv2_shift;
  logic [4:0]  fc1_shift;

  always_ff @(posedge clk) begin
    started <= !rst;
  end

  job_control #(
    .NETWORK(Network)
  ) u_job (
    .clk         (clk),
    .rst         (rst),
    .start       (!started),
    .stop        (1'b0),
    .images      (images),
    .status      (),
    .cycles      (cycles),
    .beats_in    (),
    .beats_out   (),
    .job_images  (job_images),
    .core_rst    (core_rst),
    .in_valid    (s_valid),
    .in_ready    (s_ready),
    .in_data     (s_data),
    .in_last     (s_last),
    .at_first    (at_first),
    .at_end      (at_end),
    .beat_valid  (beat_valid),
    .beat_ready  (beat_ready),
    .result_valid(result_valid),
    .result_ready(result_ready),
    .result_data (result),
    .out_valid   (y_valid),
    .out_ready   (y_ready),
    .out_data    (y_data),
    .out_last    (y_last)
  );

  section_router #(
    .HEIGHT        (HEIGHT),
    .WIDTH         (WIDTH),
    .CONV1_CHANNELS(CONV1_CHANNELS),
    .CONV2_CHANNELS(CONV2_CHANNELS),
    .FC1_OUTPUTS   (FC1_OUTPUTS)
  ) u_router (
    .clk      (clk),
    .rst      (core_rst),
    .images   (job_images),
    .in_valid (beat_valid),
    .in_ready (beat_ready),
    .in_data  (s_data),
    .out_valid(section_valid),
    .out_ready(section_ready),
    .out_data (beat),
    .at_first (at_first),
    .at_end   (at_end)
  );

  stream_header u_header (
    .clk        (clk),
    .rst        (core_rst),
    .in_valid   (section_valid[0]),
    .in_ready   (section_ready[0]),
    .in_data    (beat),
    .conv1_shift(conv1_shift),
    .conv2_shift(conv2_shift),
    .fc1_shift  (fc1_shift)
  );

  convnet #(
    .HEIGHT        (HEIGHT),
    .WIDTH         (WIDTH),
    .CONV1_CHANNELS(CONV1_CHANNELS),
    .CONV2_CHANNELS(CONV2_CHANNELS),
    .FC1_OUTPUTS   (FC1_OUTPUTS),
    .VALUE_QUEUE   (VALUE_QUEUE)
  ) u_network (
    .clk          (clk),
    .rst          (core_rst),
    .conv1_shift  (conv1_shift),
    .conv2_shift  (conv2_shift),
    .fc1_shift    (fc1_shift),
    .beat         (beat),
    .conv1_p_valid(section_valid[1]),
    .conv1_p_ready(section_ready[1]),
    .conv1_w_valid(section_valid[2]),
    .conv1_w_ready(section_ready[2]),
    .image_valid  (section_valid[3]),
    .image_ready  (section_ready[3]),
    .conv2_p_valid(section_valid[4]),
    .conv2_p_ready(section_ready[4]),
    .conv2_w_valid(section_valid[5]),
    .conv2_w_ready(section_ready[5]),
    .fc1_p_valid  (section_valid[6]),
    .fc1_p_ready  (section_ready[6]),
    .fc2_b_valid  (section_valid[7]),
    .fc2_b_ready  (section_ready[7]),
    .fc1_w_valid  (section_valid[8]),
    .fc1_w_ready  (section_ready[8]),
    .fc2_w_valid  (section_valid[9]),
    .fc2_w_ready  (section_ready[9]),
    .y_valid      (result_valid),
    .y_ready      (result_ready),
    .y_data       (result),
    .moves        (moves),
    .values       (values)
  );

endmodule
