// Memories and a shift register, each of the size of one kind of cell.
module storage (
    input logic clk, input logic write,
    input logic [9:0] address,
    input logic [35:0] in,
    output logic [35:0] wide,   // 1024 x 36 bits: a block RAM of 36 Kbit
    output logic [17:0] middle,  // 1024 x 18 bits: one of 18 Kbit
    output logic [5:0] narrow,    // 32 x 6 bits, read without a clock: LUTs
    output logic late            // 16 cycles later: a shift register of one LUT
);
    logic [35:0] wide_words [1024];
    logic [17:0] middle_words [1024];
    logic [5:0] small_words [32];
    logic [15:0] shifted;
    always_ff @(posedge clk) begin
        if (write) begin
            wide_words[address] <= in;
            middle_words[address] <= in[17:0];
            small_words[address[4:0]] <= in[5:0];
        end
        wide <= wide_words[address];
        middle <= middle_words[address];
        shifted <= {shifted[14:0], in[0]};
    end
    assign narrow = small_words[address[4:0]];
    assign late = shifted[15];
endmodule
