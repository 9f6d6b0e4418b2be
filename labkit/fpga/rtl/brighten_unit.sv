// `brighten` as a processor sees it: two streams, and its amount in a register.
//
//   0x10  AMOUNT    bits 0 to 7: what is added to each pixel; read and write, 0 after a reset
//
// Another address, and a part of a word, are answered with SLVERR, and change nothing.
//
// Ports   s_axi: AXI4-Lite, 32 bits of data, 5 of address. s_axis, m_axis: streams of a byte.
// Timing  A write and a read take 2 cycles each when nobody waits; the streams as in brighten.
// Lesson  the_overlay.

module brighten_unit (
  input  logic        aclk,
  input  logic        aresetn,
  input  logic        s_axi_awvalid,
  output logic        s_axi_awready,
  input  logic [4:0]  s_axi_awaddr,
  input  logic        s_axi_wvalid,
  output logic        s_axi_wready,
  input  logic [31:0] s_axi_wdata,
  input  logic [3:0]  s_axi_wstrb,
  output logic        s_axi_bvalid,
  input  logic        s_axi_bready,
  output logic [1:0]  s_axi_bresp,
  input  logic        s_axi_arvalid,
  output logic        s_axi_arready,
  input  logic [4:0]  s_axi_araddr,
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

  localparam bit [4:0] Amount = 5'h10;

  logic rst;
  assign rst = !aresetn;

  // ---- The register.
  logic        write;
  logic [4:0]  write_address;
  logic [31:0] write_data;
  logic        write_okay;
  logic [4:0]  read_address;
  logic        read_okay;
  logic [7:0]  amount;
  assign write_okay = (write_address == Amount) && (write_data[31:8] == '0);
  assign read_okay  = read_address == Amount;

  always_ff @(posedge aclk) begin
    if (rst) begin
      amount <= 8'd0;
    end else if (write) begin
      amount <= write_data[7:0];
    end
  end

  axi_lite_slave #(
    .ADDRESS_BITS(5)
  ) u_slave (
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
    .write        (write),
    .write_address(write_address),
    .write_data   (write_data),
    .write_okay   (write_okay),
    .read_address (read_address),
    .read_data    ({24'd0, amount}),
    .read_okay    (read_okay)
  );

  brighten u_brighten (
    .clk      (aclk),
    .rst      (rst),
    .in_valid (s_axis_tvalid),
    .in_ready (s_axis_tready),
    .in_data  (s_axis_tdata),
    .in_last  (s_axis_tlast),
    .out_valid(m_axis_tvalid),
    .out_ready(m_axis_tready),
    .out_data (m_axis_tdata),
    .out_last (m_axis_tlast),
    .amount   (amount)
  );

endmodule
