package llama

import (
	"sort"
	"strings"

	capi "github.com/hybridgroup/yzma/pkg/llama"
)

// weightType is a type that weights can be converted to: its number for a file, for a tensor, and its bits per weight.
type weightType struct {
	file   capi.Ftype
	tensor capi.GGMLType
	bits   float64
}

// weightTypes leaves out the types below four bits: without a record of the model's activations they give garbage.
var weightTypes = map[string]weightType{
	"f32":    {capi.FtypeAllF32, capi.GGMLTypeF32, 32},
	"f16":    {capi.FtypeMostlyF16, capi.GGMLTypeF16, 16},
	"bf16":   {capi.FtypeMostlyBF16, capi.GGMLTypeBF16, 16},
	"q8_0":   {capi.FtypeMostlyQ8_0, capi.GGMLTypeQ8_0, 8.5},
	"q6_k":   {capi.FtypeMostlyQ6_K, capi.GGMLTypeQ6_K, 6.6},
	"q5_k":   {capi.FtypeMostlyQ5_K_M, capi.GGMLTypeQ5_K, 5.5},
	"q5_0":   {capi.FtypeMostlyQ5_0, capi.GGMLTypeQ5_0, 5.5},
	"q5_1":   {capi.FtypeMostlyQ5_1, capi.GGMLTypeQ5_1, 6},
	"q4_k":   {capi.FtypeMostlyQ4_K_M, capi.GGMLTypeQ4_K, 4.5},
	"q4_0":   {capi.FtypeMostlyQ4_0, capi.GGMLTypeQ4_0, 4.5},
	"q4_1":   {capi.FtypeMostlyQ4_1, capi.GGMLTypeQ4_1, 5},
	"iq4_nl": {capi.FtypeMostlyIQ4_NL, capi.GGMLTypeIQ4_NL, 4.5},
	"iq4_xs": {capi.FtypeMostlyIQ4_XS, capi.GGMLTypeIQ4_XS, 4.25},
}

// ConvertTypes lists the names that ConvertOptions take, in alphabetical order.
func ConvertTypes() []string {
	out := make([]string, 0, len(weightTypes))
	for name := range weightTypes {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

func lookUpType(name string) (weightType, error) {
	t, ok := weightTypes[strings.ToLower(name)]
	if !ok {
		return t, usagef("weight type %q is unknown: use one of %s", name, strings.Join(ConvertTypes(), ", "))
	}
	return t, nil
}
