package hostcalls

import (
	"encoding/binary"

	"github.com/sluice-dev/sluice/plugins"
)

// errno are the WASI error codes that the host returns.
const (
	errnoOK    = 0
	errnoBadF  = 8
	errnoFault = 21
	errnoInval = 28
	errnoSpipe = 70
)

// wasi is WASI preview 1 as far as the runtimes of Go, TinyGo and Rust need it.
var wasi = []Func{
	{plugins.WASIModule, "args_get", types(i32, i32), types(i32), answer(errnoOK)},
	{plugins.WASIModule, "args_sizes_get", types(i32, i32), types(i32), sizesGet},
	{plugins.WASIModule, "environ_get", types(i32, i32), types(i32), answer(errnoOK)},
	{plugins.WASIModule, "environ_sizes_get", types(i32, i32), types(i32), sizesGet},
	{plugins.WASIModule, "clock_res_get", types(i32, i32), types(i32), clockResGet},
	{plugins.WASIModule, "clock_time_get", types(i32, i64, i32), types(i32), clockTimeGet},
	{plugins.WASIModule, "random_get", types(i32, i32), types(i32), randomGet},
	{plugins.WASIModule, "sched_yield", nil, types(i32), answer(errnoOK)},
	{plugins.WASIModule, "poll_oneoff", types(i32, i32, i32, i32), types(i32), pollOneoff},
	{plugins.WASIModule, "proc_exit", types(i32), nil, procExit},
	{plugins.WASIModule, "fd_write", types(i32, i32, i32, i32), types(i32), fdWrite},
	{plugins.WASIModule, "fd_read", types(i32, i32, i32, i32), types(i32), fdRead},
	{plugins.WASIModule, "fd_close", types(i32), types(i32), onStdio(errnoOK)},
	{plugins.WASIModule, "fd_seek", types(i32, i64, i32, i32), types(i32), onStdio(errnoSpipe)},
	{plugins.WASIModule, "fd_fdstat_get", types(i32, i32), types(i32), fdstatGet},
	{plugins.WASIModule, "fd_fdstat_set_flags", types(i32, i32), types(i32), onStdio(errnoOK)},
	{plugins.WASIModule, "fd_prestat_get", types(i32, i32), types(i32), answer(errnoBadF)},
	{plugins.WASIModule, "fd_prestat_dir_name", types(i32, i32, i32), types(i32), answer(errnoBadF)},
}

// view is guest memory; one that is not all inside it is a counted bad call. Arithmetic is in 64 bits: a guest's length may
// wrap 32.
func (g *Guest) view(ptr uint32, size uint64) (b []byte, ok bool) {
	end := uint64(ptr) + size
	if end > uint64(len(g.Memory)) {
		g.Sink.BadCall()
		return nil, false
	}
	return g.Memory[ptr:end], true
}

// answer always says the same.
func answer(errno uint64) func(*Guest, []uint64) {
	return func(g *Guest, stack []uint64) {
		g.charge()
		stack[0] = errno
	}
}

// onStdio says the same about the three standard descriptors, and that there are no others.
func onStdio(errno uint64) func(*Guest, []uint64) {
	return func(g *Guest, stack []uint64) {
		g.charge()
		if uint32(stack[0]) > 2 {
			stack[0] = errnoBadF
			return
		}
		stack[0] = errno
	}
}

// put32 and put64 write a result, or report the fault.
func (g *Guest) put32(ptr uint32, v uint32) uint64 {
	b, ok := g.view(ptr, 4)
	if !ok {
		return errnoFault
	}
	binary.LittleEndian.PutUint32(b, v)
	return errnoOK
}

func (g *Guest) put64(ptr uint32, v uint64) uint64 {
	b, ok := g.view(ptr, 8)
	if !ok {
		return errnoFault
	}
	binary.LittleEndian.PutUint64(b, v)
	return errnoOK
}

// sizesGet says that there are no arguments and no environment.
func sizesGet(g *Guest, stack []uint64) {
	g.charge()
	count, size := uint32(stack[0]), uint32(stack[1])
	stack[0] = g.put32(count, 0)
	if stack[0] == errnoOK {
		stack[0] = g.put32(size, 0)
	}
}

func clockResGet(g *Guest, stack []uint64) {
	g.charge()
	stack[0] = g.put64(uint32(stack[1]), 1)
}

// clockTimeGet shows every clock the time that the call was given.
func clockTimeGet(g *Guest, stack []uint64) {
	g.charge()
	stack[0] = g.put64(uint32(stack[2]), uint64(g.now))
}

// randomGet is splitmix64 from the call's seed.
func randomGet(g *Guest, stack []uint64) {
	ptr, size := uint32(stack[0]), uint32(stack[1])
	g.charge()
	b, ok := g.view(ptr, uint64(size))
	if !ok {
		stack[0] = errnoFault
		return
	}
	g.chargeBytes(uint64(size))
	stack[0] = errnoOK
	for len(b) > 0 {
		g.random += 0x9e3779b97f4a7c15
		z := g.random
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], z^z>>31)
		b = b[copy(b, word[:]):]
	}
}

func procExit(g *Guest, stack []uint64) {
	g.charge()
	panic(Exit(uint32(stack[0])))
}

// pollOneoff reports every subscription as ready: time does not pass while a guest runs.
func pollOneoff(g *Guest, stack []uint64) {
	const subscription, event = 48, 32
	in, out, n, count := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	g.charge()
	subs, readable := g.view(in, uint64(n)*subscription)
	events, writable := g.view(out, uint64(n)*event)
	switch {
	case n == 0:
		stack[0] = errnoInval
		return
	case !readable || !writable:
		stack[0] = errnoFault
		return
	}
	g.chargeBytes(uint64(n) * event)
	for k := range int(n) {
		s, e := subs[k*subscription:], events[k*event:(k+1)*event]
		user, kind := binary.LittleEndian.Uint64(s), s[8]
		clear(e)
		binary.LittleEndian.PutUint64(e, user)
		e[10] = kind
	}
	stack[0] = g.put32(count, n)
}

// fdWrite makes log lines of standard output and error.
func fdWrite(g *Guest, stack []uint64) {
	fd, iovs, n, result := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	const maxIovs = 1024
	if g.charge(); fd != 1 && fd != 2 {
		stack[0] = errnoBadF
		return
	}
	if n > maxIovs {
		stack[0] = errnoInval
		return
	}
	written := uint32(0)
	for k := range n {
		iov, ok := g.view(iovs+8*k, 8)
		if !ok {
			stack[0] = errnoFault
			return
		}
		ptr, size := binary.LittleEndian.Uint32(iov), binary.LittleEndian.Uint32(iov[4:])
		text, ok := g.view(ptr, uint64(size))
		if !ok {
			stack[0] = errnoFault
			return
		}
		g.chargeBytes(uint64(size) + 8)
		g.print(fd, text)
		written += size
	}
	stack[0] = g.put32(result, written)
}

// print passes lines on: standard output as information, standard error as warnings.
func (g *Guest) print(fd uint32, text []byte) {
	level := int32(fd - 1)
	g.talked = g.talked || fd == 2
	g.lines[fd-1].write(text, func(line []byte, truncated bool) {
		line = printable(line, g.clean[:0])
		if fd == 2 && g.said == "" {
			g.said = string(line)
		}
		g.Sink.Log(level, line, truncated)
	})
}

// fdRead: standard input is at its end.
func fdRead(g *Guest, stack []uint64) {
	g.charge()
	if uint32(stack[0]) != 0 {
		stack[0] = errnoBadF
		return
	}
	stack[0] = g.put32(uint32(stack[3]), 0)
}

// fdstatGet says that the standard descriptors are character devices that can be read or written.
func fdstatGet(g *Guest, stack []uint64) {
	g.charge()
	fd := uint32(stack[0])
	if fd > 2 {
		stack[0] = errnoBadF
		return
	}
	b, ok := g.view(uint32(stack[1]), 24)
	if !ok {
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
