package runtimetest

import (
	"errors"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// FuzzHostCalls: no pointer, length or count that a guest passes reads or writes outside its memory, or stops the host.
func FuzzHostCalls(f *testing.F, with Maker) {
	f.Add(uint8(0), int32(guesttest.Free), int32(8), int32(1), int32(out))
	f.Add(uint8(1), int32(-1), int32(-1), int32(-1), int32(-1))
	f.Add(uint8(1), int32(guesttest.Free), int32(out), int32(89478486), int32(out)) // 48 bytes each wrap to 32
	f.Add(uint8(2), int32(131071), int32(2), int32(0x7fffffff), int32(131072))
	f.Add(uint8(3), int32(2), int32(131064), int32(1024), int32(0))
	f.Add(uint8(4), int32(131068), int32(8), int32(16), int32(131040))
	funcs := []guesttest.Func{
		{Export: "wasi_snapshot_preview1.random_get", Params: "ii", Results: "i"},
		{Export: "wasi_snapshot_preview1.poll_oneoff", Params: "iiii", Results: "i"},
		{Export: "wasi_snapshot_preview1.fd_write", Params: "iiii", Results: "i"},
		{Export: "wasi_snapshot_preview1.fd_read", Params: "iiii", Results: "i"},
		{Export: "wasi_snapshot_preview1.fd_fdstat_get", Params: "ii", Results: "i"},
		{Export: "wasi_snapshot_preview1.args_sizes_get", Params: "ii", Results: "i"},
		{Export: "sluice.log", Params: "iii"},
	}
	rt := open(f, with, "")
	f.Fuzz(func(t *testing.T, which uint8, a, b, c, d int32) {
		fn := funcs[int(which)%len(funcs)]
		code := guesttest.Put64(guesttest.Free, int64(a)<<32|int64(uint32(b))) // as an iovec it is hostile too
		for _, v := range []int32{a, b, c, d}[:len(fn.Params)] {
			code = append(code, guesttest.I32(v)...)
		}
		code = append(code, guesttest.Call(0)...)
		if fn.Results == "" {
			code = append(code, guesttest.I32(0)...)
		}
		i, _ := start(t, rt, one([]guesttest.Func{fn}, code))
		ret, err := call(i)
		var trap *plugins.Trap
		if err != nil && (!errors.As(err, &trap) || !trap.OutOfFuel) {
			t.Fatalf("%s(%d, %d, %d, %d): %v", fn.Export, a, b, c, d, err)
		}
		if err == nil && ret != success && ret != badFile && ret != fault && ret != invalid {
			t.Fatalf("%s(%d, %d, %d, %d) = %d", fn.Export, a, b, c, d, ret)
		}
	})
}
