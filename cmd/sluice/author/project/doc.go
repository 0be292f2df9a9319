// Package project makes, builds and watches the folder that a policy is written in. It runs the ordinary toolchain of the
// policy's language and adds nothing to it.
//
// It loads no policy: what a module is worth, package sandbox tells.
//
//	files, err := project.New("go", "mine", "mine")       // the SDK included, no network needed
//	built, err := project.Build(ctx, "mine", "", os.Stderr) // mine/mine.wasm
package project
