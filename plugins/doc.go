// Package plugins is the Wasm policy host: it loads policies, asks them, and replaces them while they are being asked.
// What a policy may cost is bounded by fuel and pages, never by time, so the same inputs give the same decisions anywhere.
//
// It knows no HTTP, no model and no scheduler: whoever owns a decode loop asks a Set through abi.Decider and calls Swap
// between two steps. It runs no code itself either: a Runtime does (plugins/wazero, plugins/wasmtime).
//
//	rt, _ := wazero.New(wazero.Options{})
//	host := plugins.New(rt, plugins.Options{Log: slog.Default()})
//	err := host.SetAll(ctx, []plugins.Policy{{Name: "queue-age", Wasm: module}})
//	for step {                               // the loop's goroutine
//		set, epoch, _ := host.Swap(now)      // a change takes effect here and nowhere else
//		st.PolicyEpoch = epoch
//		set.Admit(&st, rows, verdicts, by)
//	}
//	err = host.Push(ctx, "queue-age", newer, map[string]string{"max_age": "2s"}) // any goroutine
package plugins
