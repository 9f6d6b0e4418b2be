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

  localparam bit [1:0] Okay       = 2'b00;
  localparam bit [1:0] SlaveError = 2'b10;

  // ---- Writes: address and data are taken together, and answered in the next cycle.
  logic        write;
  logic        fits;
  logic [31:0] written;
  assign write         = s_axi_awvalid && s_axi_wvalid && !s_axi_bvalid;
  assign s_axi_awready = write;
  assign s_axi_wready  = write;
  assign written       = 32'(signed'(s_axi_wdata[BITS-1:0]));
  assign fits          = (s_axi_wstrb == 4'b1111) && (s_axi_wdata == written);

  // ---- Reads: the register is taken with its address, and answered in the next cycle.
  logic        read;
  logic [31:0] value;
  assign s_axi_arready = !s_axi_rvalid;
  assign read          = s_axi_arvalid && s_axi_arready;

  // ---- The registers. A wire of each says whether an address is its own.
  logic [REGISTERS-1:0] is_written;
  logic [REGISTERS-1:0] is_read;

  for (genvar i = 0; i < REGISTERS; i++) begin : gen_registers
    assign is_written[i] = s_axi_awaddr == ADDRESS_BITS'(4 * i);
    assign is_read[i]    = s_axi_araddr == ADDRESS_BITS'(4 * i);
    always_ff @(posedge clk) begin
      if (rst) begin
        values[i*BITS+:BITS] <= '0;
      end else if (write && fits && is_written[i]) begin
        values[i*BITS+:BITS] <= s_axi_wdata[BITS-1:0];
      end
    end
  end

  always_comb begin
    value = '0;
    for (int i = 0; i < REGISTERS; i++) begin
      if (is_read[i]) begin
        value = 32'(signed'(values[i*BITS+:BITS]));
      end
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      s_axi_bvalid <= 1'b0;
      s_axi_rvalid <= 1'b0;
    end else begin
      if (write) begin
        s_axi_bvalid <= 1'b1;
        s_axi_bresp  <= (fits && |is_written) ? Okay : SlaveError;
      end else if (s_axi_bready) begin
        s_axi_bvalid <= 1'b0;
      end
      if (read) begin
        s_axi_rvalid <= 1'b1;
        s_axi_rdata  <= value;
        s_axi_rresp  <= (|is_read) ? Okay : SlaveError;
      end else if (s_axi_rready) begin
        s_axi_rvalid <= 1'b0;
      end
    end
  end

endmodule
