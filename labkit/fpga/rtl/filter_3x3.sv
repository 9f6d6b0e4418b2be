// A filter for video, as a processor sees it: registers, a stream of pixels in, and one out.
//
//   s_axi  -> register_bank: what filter_window weighs with
//   s_axis -> frame_window -> filter_window -> m_axis
//
//   0x00 to 0x20  TAP0 to TAP8  the weights, -128 to 127, of the window's pixels from the top left
//   0x24          SHIFT         0 to 127: the sum is divided by 2^SHIFT
//
// After a reset all of them are 0, and so is each pixel that comes out. They may change between two
// frames.
//
// A packet is a frame: after `last` the next pixel is the first one of a frame, also where a packet
// was too short. What it lacks counts as black, like the border. One that is too long is a frame
// and the begin of the next, which its `last` ends.
//
// Ports   s_axi: AXI4-Lite. s_axis: grey pixels, a byte each, row by row, frame after frame.
//         m_axis: as many of them; `last` comes out with the pixel that it came in with.
// Timing  A pixel per cycle; a frame (HEIGHT + 1) * (WIDTH + 1) cycles, as in window_3x3; once 9.
// Lesson  video_in_video_out.

module filter_3x3 #(
  parameter int HEIGHT = 480,
  parameter int WIDTH  = 640
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
  input  logic [7:0]  s_axis_tdata,
  input  logic        s_axis_tlast,
  output logic        m_axis_tvalid,
  input  logic        m_axis_tready,
  output logic [7:0]  m_axis_tdata,
  output logic        m_axis_tlast
);

  logic rst;
  assign rst = !aresetn;

  // ---- The registers.
  logic [71:0] weights;
  logic [7:0]  shift;

  register_bank #(
    .REGISTERS(10),
    .BITS     (8)
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
    .values       ({shift, weights})
  );

  // ---- The windows.
  logic        window_valid;
  logic        window_ready;
  logic [71:0] window;
  logic        window_last;

  frame_window #(
    .HEIGHT    (HEIGHT),
    .WIDTH     (WIDTH),
    .PIXEL_BITS(8)
  ) u_window (
    .clk         (aclk),
    .rst         (rst),
    .x_valid     (s_axis_tvalid),
    .x_ready     (s_axis_tready),
    .x_data      (s_axis_tdata),
    .x_last      (s_axis_tlast),
    .window_valid(window_valid),
    .window_ready(window_ready),
    .window_data (window),
    .window_last (window_last)
  );

  // ---- The weighted sums.
  filter_window u_filter (
    .clk    (aclk),
    .rst    (rst),
    .weights(weights),
    .shift  (shift),
    .x_valid(window_valid),
    .x_ready(window_ready),
    .x_data (window),
    .x_last (window_last),
    .y_valid(m_axis_tvalid),
    .y_ready(m_axis_tready),
    .y_data (m_axis_tdata),
    .y_last (m_axis_tlast)
  );

endmodule
