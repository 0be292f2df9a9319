// Package notation is how states, requests and decisions are written for people: YAML or JSON documents whose keys are the
// names of the ABI's fields, with units and enum values spelled out. It knows the fields from abi.Layouts, so that a field
// that is appended to the schema can be written at once.
//
// It is no general decoder: aliases, tags and documents beyond MaxBytes are refused.
//
//	doc, err := notation.Parse("case.yaml", text)
//	var st abi.State
//	err = notation.Fill("State", abi.Bytes(&st), doc, nil) // {now_ns: 30s, host_state: paused}
//	json.Marshal(notation.Show("Verdict", abi.Bytes(&verdict)))  // {"action":"reject","status":503,...}
package notation
