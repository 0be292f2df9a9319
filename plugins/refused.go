package plugins

import "fmt"

// Stage is where a policy's preparation ended.
type Stage string

// The stages, in their order.
const (
	StageSize       Stage = "size"
	StageFormat     Stage = "format"     // is it a WebAssembly module, and of a bearable shape
	StageValidate   Stage = "validation" // of the original
	StageMeter      Stage = "metering"
	StageInterface  Stage = "interface" // imports and exports
	StageCompile    Stage = "compilation"
	StageStart      Stage = "start"
	StageDescriptor Stage = "descriptor"
	StageConfigure  Stage = "configuration"
	StageSelfTest   Stage = "self-test"
)

// RefusedError says why a policy was not taken: what is wrong, where, and what to do. Nothing was changed.
type RefusedError struct {
	Name, Digest string
	Stage        Stage
	Err          error
	Report       Report // what the tests had found until then
}

func (v *version) refused(stage Stage, err error) *RefusedError {
	return &RefusedError{Name: v.name, Digest: v.digest, Stage: stage, Err: err, Report: v.report.clone()}
}

// Error is one line.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("policy %s@%s refused at %s: %v", e.Name, short(e.Digest), e.Stage, e.Err)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// short abbreviates a digest for people.
func short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	return digest
}
