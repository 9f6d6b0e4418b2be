// Registers that a processor writes and reads back, behind an AXI4-Lite port.
//
// Register i is at address 4 * i, and holds a signed number of BITS bits: a value that does not fit
// is answered with SLVERR and changes nothing, and so is another address or a part of a word.
//
// Ports   s_axi: AXI4-Lite, 32 bits of data. values: all registers, the first one lowest; 0 after a
//         reset.
// Timing  A write and a read take 2 cycles each when nobody waits.
// Lesson  video_in_video_out.

module register_bank #(
  parameter  int REGISTERS    = 10,
  parameter  int BITS         = 8,
  localparam int INDEX_BITS   = (REGISTERS > 1) ? $clog2(REGISTERS) : 1,
  localparam int ADDRESS_BITS = INDEX_BITS + 2
) (
  input  logic                      clk,
  input  logic                      rst,
  input  logic                      s_axi_awvalid,
  output logic                      s_axi_awready,
  input  logic [ADDRESS_BITS-1:0]   s_axi_awaddr,
  input  logic                      s_axi_wvalid,
  output logic                      s_axi_wready,
  input  logic [31:0]               s_axi_wdata,
  input  logic [3:0]                s_axi_wstrb,
  output logic                      s_axi_bvalid,
  input  logic                      s_axi_bready,
  output logic [1:0]                s_axi_bresp,
  input  logic                      s_axi_arvalid,
  output logic                      s_axi_arready,
  input  logic [ADDRESS_BITS-1:0]   s_axi_araddr,
  output logic                      s_axi_rvalid,
  input  logic                      s_axi_rready,
  output logic [31:0]               s_axi_rdata,
  output logic [1:0]                s_axi_rresp,
  output logic [REGISTERS*BITS-1:0] values
);

  logic                    write;
  logic [ADDRESS_BITS-1:0] write_address;
  logic [31:0]             write_data;
  logic                    write_okay;
  logic [ADDRESS_BITS-1:0] read_address;
  logic [31:0]             read_data;
  logic                    read_okay;

  axi_lite_slave #(
    .ADDRESS_BITS(ADDRESS_BITS)
  ) u_slave (
    .clk          (clk),
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
    .read_data    (read_data),
    .read_okay    (read_okay)
  );

  // ---- The registers. A wire of each says whether an address is its own.
  logic [REGISTERS-1:0] is_written;
  logic [REGISTERS-1:0] is_read;
  logic                 in_range;
  assign in_range   = write_data == 32'(signed'(write_data[BITS-1:0]));
  assign write_okay = in_range && |is_written;
  assign read_okay  = |is_read;

  for (genvar i = 0; i < REGISTERS; i++) begin : gen_registers
    assign is_written[i] = write_address == ADDRESS_BITS'(4 * i);
    assign is_read[i]    = read_address == ADDRESS_BITS'(4 * i);
    always_ff @(posedge clk) begin
      if (rst) begin
        values[i*BITS+:BITS] <= '0;
      end else if (write && is_written[i]) begin
        values[i*BITS+:BITS] <= write_data[BITS-1:0];
      end
    end
  end

  always_comb begin
    read_data = '0;
    for (int i = 0; i < REGISTERS; i++) begin
      if (is_read[i]) begin
        read_data = 32'(signed'(values[i*BITS+:BITS]));
      end
    end
  end

endmodule
