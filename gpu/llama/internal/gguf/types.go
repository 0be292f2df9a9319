package gguf

import "fmt"

// Type is the encoding of a tensor's weights, numbered as in the file.
type Type uint32

// The types that are found in published models.
const (
	F32    Type = 0
	F16    Type = 1
	Q4_0   Type = 2
	Q4_1   Type = 3
	Q5_0   Type = 6
	Q5_1   Type = 7
	Q8_0   Type = 8
	Q2_K   Type = 10
	Q3_K   Type = 11
	Q4_K   Type = 12
	Q5_K   Type = 13
	Q6_K   Type = 14
	IQ2XXS Type = 16
	IQ2XS  Type = 17
	IQ3XXS Type = 18
	IQ1S   Type = 19
	IQ4NL  Type = 20
	IQ3S   Type = 21
	IQ2S   Type = 22
	IQ4XS  Type = 23
	I64    Type = 27
	IQ1M   Type = 29
	BF16   Type = 30
	TQ1_0  Type = 34
	TQ2_0  Type = 35
	MXFP4  Type = 39
	NVFP4  Type = 40
	Q1_0   Type = 41
	Q2_0   Type = 42
)

var names = map[Type]string{
	F32: "f32", F16: "f16", I64: "i64", Q4_0: "q4_0", Q4_1: "q4_1", Q5_0: "q5_0", Q5_1: "q5_1", Q8_0: "q8_0", Q2_K: "q2_k", Q3_K: "q3_k",
	Q4_K: "q4_k", Q5_K: "q5_k", Q6_K: "q6_k", IQ2XXS: "iq2_xxs", IQ2XS: "iq2_xs", IQ3XXS: "iq3_xxs", IQ1S: "iq1_s",
	IQ4NL: "iq4_nl", IQ3S: "iq3_s", IQ2S: "iq2_s", IQ4XS: "iq4_xs", IQ1M: "iq1_m", BF16: "bf16", TQ1_0: "tq1_0",
	TQ2_0: "tq2_0", MXFP4: "mxfp4", NVFP4: "nvfp4", Q1_0: "q1_0", Q2_0: "q2_0",
}

func (t Type) String() string {
	if s, ok := names[t]; ok {
		return s
	}
	return fmt.Sprintf("type %d", uint32(t))
}
