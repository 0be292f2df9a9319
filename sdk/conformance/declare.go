package conformance

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/policies/wasmtest"
)

// Declares fails the test where the module got declares other hooks or fields than the module want, or imports anything but
// the log. stride is how many bytes of a row it is to take for the fields that it reads: abi.RowBytes, or abi.RowSize always.
func Declares(t *testing.T, want, got []byte, stride func(abi.Group) uint32) {
	t.Helper()
	m := wasmtest.Compile(t, got)
	w, d := wasmtest.Compile(t, want).Start(t).Descriptor, m.Start(t).Descriptor
	if d.Hooks != w.Hooks || d.Reads != w.Reads || d.Major != w.Major || d.Minor != w.Minor {
		t.Errorf("it declares %+v, and should declare %+v", d, w)
	}
	if n := stride(abi.Group(d.Reads)); d.RowStride != n {
		t.Errorf("row_stride is %d, and should be %d", d.RowStride, n)
	}
	if imports := m.Imports(); !slices.Equal(imports, []string{abi.ImportModule + "." + abi.ImportLog}) {
		t.Errorf("it imports %q", imports)
	}
}
