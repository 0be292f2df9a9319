package wazero

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// errno are the WASI error codes that the host returns.
const (
	errnoOK    = 0
	errnoBadF  = 8
	errnoFault = 21
	errnoInval = 28
	errnoSpipe = 70
)

// wasiFuncs is WASI preview 1 as far as the runtimes of Go, TinyGo and Rust need it.
var wasiFuncs = []hostFunc{
	{"args_get", types(i32, i32), types(i32), answer(errnoOK)},
	{"args_sizes_get", types(i32, i32), types(i32), sizesGet},
	{"environ_get", types(i32, i32), types(i32), answer(errnoOK)},
	{"environ_sizes_get", types(i32, i32), types(i32), sizesGet},
	{"clock_res_get", types(i32, i32), types(i32), clockResGet},
	{"clock_time_get", types(i32, i64, i32), types(i32), clockTimeGet},
	{"random_get", types(i32, i32), types(i32), randomGet},
	{"sched_yield", nil, types(i32), answer(errnoOK)},
	{"poll_oneoff", types(i32, i32, i32, i32), types(i32), pollOneoff},
	{"proc_exit", types(i32), nil, procExit},
	{"fd_write", types(i32, i32, i32, i32), types(i32), fdWrite},
	{"fd_read", types(i32, i32, i32, i32), types(i32), fdRead},
	{"fd_close", types(i32), types(i32), onStdio(errnoOK)},
	{"fd_seek", types(i32, i64, i32, i32), types(i32), onStdio(errnoSpipe)},
	{"fd_fdstat_get", types(i32, i32), types(i32), fdstatGet},
	{"fd_fdstat_set_flags", types(i32, i32), types(i32), onStdio(errnoOK)},
	{"fd_prestat_get", types(i32, i32), types(i32), answer(errnoBadF)},
	{"fd_prestat_dir_name", types(i32, i32, i32), types(i32), answer(errnoBadF)},
}

// view is guest memory, or nil and a counted bad call. Arithmetic is in 64 bits: a guest's length may wrap 32.
func (i *instance) view(mod api.Module, ptr uint32, size uint64) []byte {
	mem := mod.Memory()
	if uint64(ptr)+size > uint64(mem.Size()) {
		i.sink.BadCall()
		return nil
	}
	b, _ := mem.Read(ptr, uint32(size))
	return b
}

// answer always says the same.
func answer(errno uint64) func(*instance, api.Module, []uint64) {
	return func(i *instance, mod api.Module, stack []uint64) {
		i.charge(mod)
		stack[0] = errno
	}
}

// onStdio says the same about the three standard descriptors, and that there are no others.
func onStdio(errno uint64) func(*instance, api.Module, []uint64) {
	return func(i *instance, mod api.Module, stack []uint64) {
		i.charge(mod)
		if uint32(stack[0]) > 2 {
			stack[0] = errnoBadF
			return
		}
		stack[0] = errno
	}
}

// put32 and put64 write a result, or report the fault.
func (i *instance) put32(mod api.Module, ptr uint32, v uint32) uint64 {
	b := i.view(mod, ptr, 4)
	if b == nil {
		return errnoFault
	}
	binary.LittleEndian.PutUint32(b, v)
	return errnoOK
}

func (i *instance) put64(mod api.Module, ptr uint32, v uint64) uint64 {
	b := i.view(mod, ptr, 8)
	if b == nil {
		return errnoFault
	}
	binary.LittleEndian.PutUint64(b, v)
	return errnoOK
}

// sizesGet says that there are no arguments and no environment.
func sizesGet(i *instance, mod api.Module, stack []uint64) {
	i.charge(mod)
	count, size := uint32(stack[0]), uint32(stack[1])
	stack[0] = i.put32(mod, count, 0)
	if stack[0] == errnoOK {
		stack[0] = i.put32(mod, size, 0)
	}
}

func clockResGet(i *instance, mod api.Module, stack []uint64) {
	i.charge(mod)
	stack[0] = i.put64(mod, uint32(stack[1]), 1)
}

// clockTimeGet shows every clock the time that the call was given.
func clockTimeGet(i *instance, mod api.Module, stack []uint64) {
	i.charge(mod)
	stack[0] = i.put64(mod, uint32(stack[2]), uint64(i.now))
}

// randomGet is splitmix64 from the call's seed.
func randomGet(i *instance, mod api.Module, stack []uint64) {
	ptr, size := uint32(stack[0]), uint32(stack[1])
	i.charge(mod)
	b := i.view(mod, ptr, uint64(size))
	if b == nil {
		stack[0] = errnoFault
		return
	}
	i.chargeBytes(uint64(size))
	stack[0] = errnoOK
	for len(b) > 0 {
		i.random += 0x9e3779b97f4a7c15
		z := i.random
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], z^z>>31)
		b = b[copy(b, word[:]):]
	}
}

func procExit(i *instance, mod api.Module, stack []uint64) {
	i.charge(mod)
	panic(exitError(uint32(stack[0])))
}

// pollOneoff reports every subscription as ready: time does not pass while a guest runs.
func pollOneoff(i *instance, mod api.Module, stack []uint64) {
	const subscription, event = 48, 32
	in, out, n, count := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	i.charge(mod)
	subs, events := i.view(mod, in, uint64(n)*subscription), i.view(mod, out, uint64(n)*event)
	switch {
	case n == 0:
		stack[0] = errnoInval
		return
	case subs == nil || events == nil:
		stack[0] = errnoFault
		return
	}
	i.chargeBytes(uint64(n) * event)
	for k := range int(n) {
		s, e := subs[k*subscription:], events[k*event:(k+1)*event]
		user, kind := binary.LittleEndian.Uint64(s), s[8]
		clear(e)
		binary.LittleEndian.PutUint64(e, user)
		e[10] = kind
	}
	stack[0] = i.put32(mod, count, n)
}

// fdWrite makes log lines of standard output and error.
func fdWrite(i *instance, mod api.Module, stack []uint64) {
	fd, iovs, n, result := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	const maxIovs = 1024
	if i.charge(mod); fd != 1 && fd != 2 {
		stack[0] = errnoBadF
		return
	}
	if n > maxIovs {
		stack[0] = errnoInval
		return
	}
	written := uint32(0)
	for k := range n {
		iov := i.view(mod, iovs+8*k, 8)
		if iov == nil {
			stack[0] = errnoFault
			return
		}
		ptr, size := binary.LittleEndian.Uint32(iov), binary.LittleEndian.Uint32(iov[4:])
		text := i.view(mod, ptr, uint64(size))
		if text == nil {
			stack[0] = errnoFault
			return
		}
		i.chargeBytes(uint64(size) + 8)
		i.print(fd, text)
		written += size
	}
	stack[0] = i.put32(mod, result, written)
}

// print passes lines on: standard output as information, standard error as warnings.
func (i *instance) print(fd uint32, text []byte) {
	level := int32(fd - 1)
	i.talked = i.talked || fd == 2
	i.lines[fd-1].write(text, func(line []byte, truncated bool) {
		line = printable(line, i.clean[:0])
		if fd == 2 && i.said == "" {
			i.said = string(line)
		}
		i.sink.Log(level, line, truncated)
	})
}

// fdRead: standard input is at its end.
func fdRead(i *instance, mod api.Module, stack []uint64) {
	i.charge(mod)
	if uint32(stack[0]) != 0 {
		stack[0] = errnoBadF
		return
	}
	stack[0] = i.put32(mod, uint32(stack[3]), 0)
}

// fdstatGet says that the standard descriptors are character devices that can be read or written.
func fdstatGet(i *instance, mod api.Module, stack []uint64) {
	i.charge(mod)
	fd := uint32(stack[0])
	if fd > 2 {
		stack[0] = errnoBadF
		return
	}
	b := i.view(mod, uint32(stack[1]), 24)
	if b == nil {
		stack[0] = errnoFault
		return
	}
	const characterDevice, read, write = 2, 1 << 1, 1 << 6
	clear(b)
	b[0] = characterDevice
	rights := uint64(write)
	if fd == 0 {
		rights = read
	}
	binary.LittleEndian.PutUint64(b[8:], rights)
	stack[0] = errnoOK
}
