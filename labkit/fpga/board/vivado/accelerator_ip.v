// Never built here: no Vivado was at hand. Verilator and Yosys accept it together with rtl/.
//
// The accelerator in plain Verilog: Vivado's packager wants no SystemVerilog at the top of an IP.
// Its ports and parameters are those of rtl/accelerator.sv.

module accelerator_ip #(
  parameter HEIGHT         = 32,
  parameter WIDTH          = 32,
  parameter CONV1_CHANNELS = 32,
  parameter CONV2_CHANNELS = 64,
  parameter FC1_OUTPUTS    = 128,
  parameter CONV1_LANES    = 1,
  parameter CONV2_LANES    = 1,
  parameter FC1_LANES      = 8,
  parameter RESIDENT       = 0
) (
  (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 aclk CLK",
     X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF s_axi:s_axis:m_axis, ASSOCIATED_RESET aresetn" *)
  input  wire        aclk,
  (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 aresetn RST",
     X_INTERFACE_PARAMETER = "POLARITY ACTIVE_LOW" *)
  input  wire        aresetn,
  input  wire        s_axi_awvalid,
  output wire        s_axi_awready,
  input  wire [5:0]  s_axi_awaddr,
  input  wire        s_axi_wvalid,
  output wire        s_axi_wready,
  input  wire [31:0] s_axi_wdata,
  input  wire [3:0]  s_axi_wstrb,
  output wire        s_axi_bvalid,
  input  wire        s_axi_bready,
  output wire [1:0]  s_axi_bresp,
  input  wire        s_axi_arvalid,
  output wire        s_axi_arready,
  input  wire [5:0]  s_axi_araddr,
  output wire        s_axi_rvalid,
  input  wire        s_axi_rready,
  output wire [31:0] s_axi_rdata,
  output wire [1:0]  s_axi_rresp,
  input  wire        s_axis_tvalid,
  output wire        s_axis_tready,
  input  wire [63:0] s_axis_tdata,
  input  wire        s_axis_tlast,
  output wire        m_axis_tvalid,
  input  wire        m_axis_tready,
  output wire [63:0] m_axis_tdata,
  output wire        m_axis_tlast
);

  accelerator #(
    .HEIGHT        (HEIGHT),
    .WIDTH         (WIDTH),
    .CONV1_CHANNELS(CONV1_CHANNELS),
    .CONV2_CHANNELS(CONV2_CHANNELS),
    .FC1_OUTPUTS   (FC1_OUTPUTS),
    .CONV1_LANES   (CONV1_LANES),
    .CONV2_LANES   (CONV2_LANES),
    .FC1_LANES     (FC1_LANES),
    .RESIDENT      (RESIDENT != 0)
  ) u_accelerator (
    .aclk         (aclk),
    .aresetn      (aresetn),
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
    .s_axis_tvalid(s_axis_tvalid),
    .s_axis_tready(s_axis_tready),
    .s_axis_tdata (s_axis_tdata),
    .s_axis_tlast (s_axis_tlast),
    .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready),
    .m_axis_tdata (m_axis_tdata),
    .m_axis_tlast (m_axis_tlast)
  );

endmodule
