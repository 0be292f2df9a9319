package main

import (
	"bytes"
	"fmt"
)

const referenceIntro = `# Policy ABI v%d.%d: reference

Generated from ` + "`plugins/abi/abi.yaml`" + `; do not edit. How to write a policy is in [policies.md](policies.md).

Little-endian, naturally aligned. Times are nanoseconds on the host's monotonic clock, ratios parts per million
(1,000,000 = 1.0), lengths tokens, KV blocks. An optional field means something only while its bit of ` + "`valid`" + ` is set.
`

// reference writes the layouts as a page for people.
func reference(s *Schema) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, referenceIntro, s.Major, s.Minor)
	for _, e := range s.Enums {
		fmt.Fprintf(&b, "\n## %s (%s)\n\n%s\n\n| value | name | meaning |\n|---|---|---|\n", e.Name, e.Type, e.Doc)
		for _, v := range e.Values {
			fmt.Fprintf(&b, "| %d | %s | %s |\n", v.Value, snake(v.Name), v.Doc)
		}
	}
	for _, st := range s.Structs {
		fmt.Fprintf(&b, "\n## %s (%d bytes)\n\n%s\n\n| offset | type | field | valid bit | group | meaning |\n|---|---|---|---|---|---|\n", st.Name, st.Size, st.Doc)
		for _, f := range st.Fields {
			bit := ""
			if f.Bit >= 0 {
				bit = fmt.Sprint(f.Bit)
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s |\n", f.Offset, f.Type, f.Name, bit, f.Group, f.Doc)
		}
	}
	return b.Bytes()
}
