// Package sdk carries the sources of the SDKs, and what a new policy begins with in each language, so that the command alone
// is enough to start one. It builds nothing.
//
//	text, err := fs.ReadFile(sdk.Files, "go/template/main.go.tmpl")
package sdk

import "embed"

// Files is a folder a language. Its folder template is a policy: names that end in .tmpl do so only here, gitignore stands
// for .gitignore, and __NAME__ for the policy's name.
//
//go:embed go/*.go go/sluicetest/*.go go/template
//go:embed c/*.h c/template
//go:embed rust/Cargo.toml rust/rustfmt.toml rust/README.md rust/src rust/template
//go:embed assemblyscript/assembly assemblyscript/testing
//go:embed assemblyscript/index.ts assemblyscript/asconfig.json assemblyscript/package.json
//go:embed assemblyscript/template
var Files embed.FS
