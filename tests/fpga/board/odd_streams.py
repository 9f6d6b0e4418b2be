"""A module that misbehaves on its streams as the first word of a packet asks it to.

PASS hands on the rest of the packet, ENDLESS without `last`, SWALLOW gives nothing, TWICE gives
each word twice, STOP takes no more words.
"""

PASS, ENDLESS, SWALLOW, TWICE, STOP = range(5)

ODD = """
module odd (
  input  logic        clk,
  input  logic        rst,
  input  logic        in_valid,
  output logic        in_ready,
  input  logic [31:0] in_data,
  input  logic        in_last,
  output logic        out_valid,
  input  logic        out_ready,
  output logic [31:0] out_data,
  output logic        out_last
);
  logic       started;
  logic       second;
  logic [2:0] mode;
  logic       gives;
  logic       moves;
  assign gives     = started && (mode == 3'd0 || mode == 3'd1 || mode == 3'd3);
  assign out_valid = in_valid && gives;
  assign out_data  = in_data;
  assign out_last  = in_last && mode != 3'd1 && (mode != 3'd3 || second);
  assign in_ready  = !started || mode == 3'd2
                     || (gives && out_ready && (mode != 3'd3 || second));
  assign moves     = in_valid && in_ready;
  always_ff @(posedge clk) begin
    if (rst) begin
      started <= 1'b0;
      second  <= 1'b0;
      mode    <= 3'd0;
    end else begin
      if (moves) started <= !in_last;
      if (moves && !started) mode <= in_data[2:0];
      if (out_valid && out_ready) second <= !second;
    end
  end
endmodule
"""

# One register; at address 4 a write is answered never.
MUTE = """
module mute (
  input  logic        aclk,
  input  logic        aresetn,
  input  logic        s_axi_awvalid,
  output logic        s_axi_awready,
  input  logic [3:0]  s_axi_awaddr,
  input  logic        s_axi_wvalid,
  output logic        s_axi_wready,
  input  logic [31:0] s_axi_wdata,
  input  logic [3:0]  s_axi_wstrb,
  output logic        s_axi_bvalid,
  input  logic        s_axi_bready,
  output logic [1:0]  s_axi_bresp,
  input  logic        s_axi_arvalid,
  output logic        s_axi_arready,
  input  logic [3:0]  s_axi_araddr,
  output logic        s_axi_rvalid,
  input  logic        s_axi_rready,
  output logic [31:0] s_axi_rdata,
  output logic [1:0]  s_axi_rresp
);
  logic [31:0] kept;
  logic        write;
  assign write         = s_axi_awvalid && s_axi_wvalid && !s_axi_bvalid && s_axi_awaddr != 4'd4;
  assign s_axi_awready = write;
  assign s_axi_wready  = write;
  assign s_axi_bresp   = 2'b00;
  assign s_axi_arready = !s_axi_rvalid;
  assign s_axi_rresp   = 2'b00;
  assign s_axi_rdata   = kept;
  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      s_axi_bvalid <= 1'b0;
      s_axi_rvalid <= 1'b0;
      kept         <= 32'd7;
    end else begin
      if (write) s_axi_bvalid <= 1'b1;
      else if (s_axi_bready) s_axi_bvalid <= 1'b0;
      if (write && s_axi_wstrb == 4'b1111) kept <= s_axi_wdata;
      if (s_axi_arvalid && s_axi_arready) s_axi_rvalid <= 1'b1;
      else if (s_axi_rready) s_axi_rvalid <= 1'b0;
    end
  end
endmodule
"""
