// The registers' side of AXI4-Lite: five channels become one write and one read of a word.
//
// A write's address and data are taken in the same cycle, whichever came first. `write_address` and
// `write_data` are shown to the registers, which say in that cycle whether they want them: then
// `write` is 1, and the word is theirs with the clock edge. Else the answer is SLVERR, and so it is
// to a part of a word. A read shows its address, and the registers' word is kept for the answer.
//
// Ports   s_axi: AXI4-Lite, 32 bits of data. write_okay, read_okay: whether the registers have that
//         address, and may hold that word. read_data: what is there.
// Timing  A write and a read take 2 cycles each when nobody waits; one of each at the same time.
// Lesson  the_network_as_a_pipeline.

module axi_lite_slave #(
  parameter int ADDRESS_BITS = 6
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    s_axi_awvalid,
  output logic                    s_axi_awready,
  input  logic [ADDRESS_BITS-1:0] s_axi_awaddr,
  input  logic                    s_axi_wvalid,
  output logic                    s_axi_wready,
  input  logic [31:0]             s_axi_wdata,
  input  logic [3:0]              s_axi_wstrb,
  output logic                    s_axi_bvalid,
  input  logic                    s_axi_bready,
  output logic [1:0]              s_axi_bresp,
  input  logic                    s_axi_arvalid,
  output logic                    s_axi_arready,
  input  logic [ADDRESS_BITS-1:0] s_axi_araddr,
  output logic                    s_axi_rvalid,
  input  logic                    s_axi_rready,
  output logic [31:0]             s_axi_rdata,
  output logic [1:0]              s_axi_rresp,
  output logic                    write,
  output logic [ADDRESS_BITS-1:0] write_address,
  output logic [31:0]             write_data,
  input  logic                    write_okay,
  output logic [ADDRESS_BITS-1:0] read_address,
  input  logic [31:0]             read_data,
  input  logic                    read_okay
);

  localparam bit [1:0] Okay       = 2'b00;
  localparam bit [1:0] SlaveError = 2'b10;

  // ---- Writes.
  logic taken;
  logic fits;
  assign taken         = s_axi_awvalid && s_axi_wvalid && !s_axi_bvalid;
  assign s_axi_awready = taken;
  assign s_axi_wready  = taken;
  assign write_address = s_axi_awaddr;
  assign write_data    = s_axi_wdata;
  assign fits          = write_okay && (s_axi_wstrb == 4'b1111);
  assign write         = taken && fits;

  always_ff @(posedge clk) begin
    if (rst) begin
      s_axi_bvalid <= 1'b0;
    end else if (taken) begin
      s_axi_bvalid <= 1'b1;
      s_axi_bresp  <= fits ? Okay : SlaveError;
    end else if (s_axi_bready) begin
      s_axi_bvalid <= 1'b0;
    end
  end

  // ---- Reads.
  assign s_axi_arready = !s_axi_rvalid;
  assign read_address  = s_axi_araddr;

  always_ff @(posedge clk) begin
    if (rst) begin
      s_axi_rvalid <= 1'b0;
    end else if (s_axi_arvalid && s_axi_arready) begin
      s_axi_rvalid <= 1'b1;
      s_axi_rdata  <= read_data;
      s_axi_rresp  <= read_okay ? Okay : SlaveError;
    end else if (s_axi_rready) begin
      s_axi_rvalid <= 1'b0;
    end
  end

endmodule
