// Package check judges a module as a push would, and says what an author should know beside: how much of its fuel and memory
// it uses, which fields it reads, and which of its functions may call themselves.
//
//	r, err := check.Module(ctx, box, "mine", wasm, config)
//	if !r.OK {
//		fmt.Println(r.Stage, r.Error)
//	}
package check
