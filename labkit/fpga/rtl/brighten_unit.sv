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

  localparam bit [4:0] Amount     = 5'h10;
  localparam bit [1:0] Okay       = 2'b00;
  localparam bit [1:0] SlaveError = 2'b10;

  logic rst;
  assign rst = !aresetn;

  // ---- A write: address and data are taken together, and answered in the next cycle.
  logic       write;
  logic       write_fits;
  logic [7:0] amount;
  assign write         = s_axi_awvalid && s_axi_wvalid && !s_axi_bvalid;
  assign s_axi_awready = write;
  assign s_axi_wready  = write;
  assign write_fits    = (s_axi_awaddr == Amount) && (s_axi_wstrb == 4'b1111) &&
                         (s_axi_wdata[31:8] == '0);

  always_ff @(posedge aclk) begin
    if (rst) begin
      s_axi_bvalid <= 1'b0;
      amount       <= 8'd0;
    end else if (write) begin
      s_axi_bvalid <= 1'b1;
      s_axi_bresp  <= write_fits ? Okay : SlaveError;
      if (write_fits) begin
        amount <= s_axi_wdata[7:0];
      end
    end else if (s_axi_bready) begin
      s_axi_bvalid <= 1'b0;
    end
  end

  // ---- A read.
  logic read;
  assign s_axi_arready = !s_axi_rvalid;
  assign read          = s_axi_arvalid && s_axi_arready;

  always_ff @(posedge aclk) begin
    if (rst) begin
      s_axi_rvalid <= 1'b0;
    end else if (read) begin
      s_axi_rvalid <= 1'b1;
      s_axi_rdata  <= {24'd0, amount};
      s_axi_rresp  <= (s_axi_araddr == Amount) ? Okay : SlaveError;
    end else if (s_axi_rready) begin
      s_axi_rvalid <= 1'b0;
    end
  end

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
