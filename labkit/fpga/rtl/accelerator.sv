// The accelerator for the course's network, as a processor sees it: registers and two streams.
//
//   s_axi  -> control_registers <-> job_control
//   s_axis -> job_control -> section_router -> convnet -> job_control -> m_axis
//
// The names of the ports are those of AMD's AXI4 standard, so that a Zynq's tools know them.
// Nothing of a network is in it, and nothing stays from one job to the next.
//
// Ports   s_axi: AXI4-Lite, the registers of control_registers.
//         s_axis: a job, one packet of 64-bit beats, in the order of section_router.
//         m_axis: five words for each image, two int32 logits in each; `last` with the very last.
// Timing  labkit/fpga/convnet/accelerator_cycles.py.
// Lesson  the_network_as_a_pipeline.

module accelerator #(
  parameter int HEIGHT         = 32,
  parameter int WIDTH          = 32,
  parameter int CONV1_CHANNELS = 32,
  parameter int CONV2_CHANNELS = 64,
  parameter int FC1_OUTPUTS    = 128,
  parameter int CONV1_LANES    = 1,
  parameter int CONV2_LANES    = 1,
  parameter int FC1_LANES      = 8,
  parameter bit RESIDENT       = 1'b0,
  parameter int ROW_QUEUE      = 16,
  parameter int VALUE_QUEUE    = 512
) (
  input  logic        aclk,
  input  logic        aresetn,
  input  logic        s_axi_awvalid,
  output logic        s_axi_awready,
  input  logic [5:0]  s_axi_awaddr,
  input  logic        s_axi_wvalid,
  output logic        s_axi_wready,
  input  logic [31:0] s_axi_wdata,
  input  logic [3:0]  s_axi_wstrb,
  output logic        s_axi_bvalid,
  input  logic        s_axi_bready,
  output logic [1:0]  s_axi_bresp,
  input  logic        s_axi_arvalid,
  output logic        s_axi_arready,
  input  logic [5:0]  s_axi_araddr,
  output logic        s_axi_rvalid,
  input  logic        s_axi_rready,
  output logic [31:0] s_axi_rdata,
  output logic [1:0]  s_axi_rresp,
  input  logic        s_axis_tvalid,
  output logic        s_axis_tready,
  input  logic [63:0] s_axis_tdata,
  input  logic        s_axis_tlast,
  output logic        m_axis_tvalid,
  input  logic        m_axis_tready,
  output logic [63:0] m_axis_tdata,
  output logic        m_axis_tlast
);

  localparam int Outputs = 10;

  localparam bit [31:0] Folding = {
    7'd0, RESIDENT, 8'(FC1_LANES), 8'(CONV2_LANES), 8'(CONV1_LANES)
  };
  localparam bit [31:0] Shapes = {
    8'(FC1_OUTPUTS), 8'(CONV2_CHANNELS), 8'(CONV1_CHANNELS), 8'(HEIGHT)
  };

  if (HEIGHT != WIDTH) begin : gen_sides_refused
    $error("HEIGHT and WIDTH must be equal");
  end

  logic rst;
  assign rst = !aresetn;

  // ---- The registers, and the job.
  logic        start;
  logic        stop;
  logic [15:0] images;
  logic [6:0]  status;
  logic [31:0] cycles;
  logic [31:0] beats_in;
  logic [31:0] beats_out;
  logic [15:0] job_images;
  logic        core_rst;
  logic        at_first;
  logic        at_end;
  logic        beat_valid;
  logic        beat_ready;
  logic        result_valid;
  logic        result_ready;
  logic [63:0] result;

  control_registers #(
    .FOLDING(Folding),
    .SHAPES (Shapes)
  ) u_registers (
    .clk          (aclk),
    .rst          (rst),
    .s_axi_awvalid(s_axi_awvalid),
    .s_axi_awready(s_axi_awready),
    .s_axi_awaddr (s_axi_awaddr),
    .s_axi_wvalid (s_axi_wvalid),
    .s_axi_wready (s_axi_wready),
    .s_axi_wdata  (s_axi_wdata),
    .s_axi_wstrb  (s_axi_wstrb),
    .s_axi_bvalid (s_axi_bvalid),
    .s_axi_bready (s_axi_bready),
    .s_axi_bresp  (s_axi_bresp),
    .s_axi_arvalid(s_axi_arvalid),
    .s_axi_arready(s_axi_arready),
    .s_axi_araddr (s_axi_araddr),
    .s_axi_rvalid (s_axi_rvalid),
    .s_axi_rready (s_axi_rready),
    .s_axi_rdata  (s_axi_rdata),
    .s_axi_rresp  (s_axi_rresp),
    .start        (start),
    .stop         (stop),
    .images       (images),
    .status       (status),
    .cycles       (cycles),
    .beats_in     (beats_in),
    .beats_out    (beats_out)
  );

  job_control #(
    .NETWORK         ({Shapes, Folding}),
    .WORDS_PER_RESULT(Outputs / 2)
  ) u_job (
    .clk         (aclk),
    .rst         (rst),
    .start       (start),
    .stop        (stop),
    .images      (images),
    .status      (status),
    .cycles      (cycles),
    .beats_in    (beats_in),
    .beats_out   (beats_out),
    .job_images  (job_images),
    .core_rst    (core_rst),
    .in_valid    (s_axis_tvalid),
    .in_ready    (s_axis_tready),
    .in_data     (s_axis_tdata),
    .in_last     (s_axis_tlast),
    .at_first    (at_first),
    .at_end      (at_end),
    .beat_valid  (beat_valid),
    .beat_ready  (beat_ready),
    .result_valid(result_valid),
    .result_ready(result_ready),
    .result_data (result),
    .out_valid   (m_axis_tvalid),
    .out_ready   (m_axis_tready),
    .out_data    (m_axis_tdata),
    .out_last    (m_axis_tlast)
  );

  // ---- The beats, and the network.
  logic [9:0]  section_valid;
  logic [9:0]  section_ready;
  logic [63:0] beat;
  logic [4:0]  conv1_shift;
  logic [4:0]  conv2_shift;
  logic [4:0]  fc1_shift;

  section_router #(
    .HEIGHT        (HEIGHT),
    .WIDTH         (WIDTH),
    .CONV1_CHANNELS(CONV1_CHANNELS),
    .CONV2_CHANNELS(CONV2_CHANNELS),
    .FC1_OUTPUTS   (FC1_OUTPUTS),
    .FC2_OUTPUTS   (Outputs),
    .RESIDENT      (RESIDENT)
  ) u_router (
    .clk      (aclk),
    .rst      (core_rst),
    .images   (job_images),
    .in_valid (beat_valid),
    .in_ready (beat_ready),
    .in_data  (s_axis_tdata),
    .out_valid(section_valid),
    .out_ready(section_ready),
    .out_data (beat),
    .at_first (at_first),
    .at_end   (at_end)
  );

  stream_header u_header (
    .clk        (aclk),
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
    .FC2_OUTPUTS   (Outputs),
    .CONV1_LANES   (CONV1_LANES),
    .CONV2_LANES   (CONV2_LANES),
    .FC1_LANES     (FC1_LANES),
    .RESIDENT      (RESIDENT),
    .ROW_QUEUE     (ROW_QUEUE),
    .VALUE_QUEUE   (VALUE_QUEUE)
  ) u_network (
    .clk          (aclk),
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
    .y_data       (result)
  );

endmodule
