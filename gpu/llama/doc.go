// Package llama is the device that computes with llama.cpp: every model that it reads, on every processor that its
// libraries were built for. The libraries are opened at run time, so the Go program is built without a C compiler.
//
// It is not a server and not a scheduler: it holds the model, the KV cache and one batch, and does what gpu.Device says.
// llama.cpp ends the process on many wrong arguments; every one that is known is checked here first and is an error.
//
//	libs, _, model, err := llama.DefaultPaths()
//	dev, err := llama.Open(llama.Options{LibDir: libs, ModelPath: model})
//	defer dev.Close()
//	prompt, err := dev.Tokenizer().Encode("The sea is", false)
//	err = dev.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 0, Tokens: prompt, Logits: 1}}})
//	row, err := dev.Logits(0, 0)
//
// The libraries stay open until the process ends, and a process opens one set of them. Any number of devices may be open.
// Only llama.cpp v0.5.0 is accepted: structures are laid out as that version has them. See docs/RATIONALE.md.
package llama
