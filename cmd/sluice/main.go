// Command sluice serves a language model, asks WebAssembly policies what to admit, order, batch and speculate, and
// replays recorded traffic against other policies. One file holds one sub-command; config holds what serve can be told.
//
// It is not a library: everything it does is in host, plugins and gpu.
//
//	sluice serve --model m.gguf --policy queue-age.wasm:max_age=2s
//	sluice policy push queue-age.wasm --set max_age=1s
//	sluice trace export > day.jsonl
//	sluice replay --trace day.jsonl --policy a.wasm --against b.wasm
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], terminal{os.Stdout, os.Stderr, os.LookupEnv}))
}
