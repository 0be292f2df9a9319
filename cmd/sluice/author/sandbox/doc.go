// Package sandbox loads one policy into the server's own policy host and asks it one question at a time, as the decode loop
// would: with the same checks, fuel and clamping of answers. What it answers here it answers in a server.
//
// It is no scheduler: nothing becomes of a decision. It is for the commands of policy authors.
//
//	box := sandbox.Open(runtime)
//	defer box.Close()
//	p, err := box.Load(ctx, "mine", module, map[string]string{"max_age": "2s"}) // *plugins.RefusedError
//	defer p.Close()
//	answer := p.Ask(&sandbox.Question{Hook: abi.HookAdmit, State: st, Rows: rows})
package sandbox
