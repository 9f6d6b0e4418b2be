// The accelerator's registers and job control around a tiny core: an image is BEATS beats, and its
// result their sum. With `sum` cut into two int32, word k of the result is
// {high, low} * (k + 1).
//
// Exercise fpga.run_job is judged with it: it compiles and runs fast, and hangs as the large one.

module accelerator #(
  parameter int BEATS = 1
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
  logic        at_end;
  logic        beat_valid;
  logic        beat_ready;
  logic        result_valid;
  logic        result_ready;
  logic [63:0] result;

  control_registers u_registers (
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
    .WORDS_PER_RESULT(5)
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
    .at_first    (1'b0),
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

  // ---- The core.
  logic [63:0] sum;
  logic [15:0] beat;         // of the image
  logic [15:0] images_done;
  logic [2:0]  word;         // of its result
  logic        giving;
  logic        last_beat;
  assign last_beat    = beat == 16'(BEATS - 1);
  assign at_end       = last_beat && (images_done == job_images - 1'b1);
  assign beat_ready   = !giving;
  assign result_valid = giving;
  assign result       = {sum[63:32] * (32'(word) + 32'd1), sum[31:0] * (32'(word) + 32'd1)};

  always_ff @(posedge aclk) begin
    if (core_rst) begin
      beat        <= '0;
      images_done <= '0;
      word        <= '0;
      giving      <= 1'b0;
    end else if (beat_valid && beat_ready) begin
      sum    <= s_axis_tdata + ((beat == '0) ? 64'd0 : sum);
      beat   <= last_beat ? '0 : beat + 1'b1;
      giving <= last_beat;
      if (last_beat) begin
        images_done <= images_done + 1'b1;
      end
    end else if (giving && result_ready) begin
      word   <= (word == 3'd4) ? '0 : word + 1'b1;
      giving <= word != 3'd4;
    end
  end

endmodule
