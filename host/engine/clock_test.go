package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
)

// jump is what a jump of the wall clock looks like from t: t's wall time moves, its monotonic reading stays. The layout of a
// time.Time with a monotonic reading is seconds since 1885 above 30 bits of nanoseconds, and the reading beside it.
func jump(t *time.Time, by time.Duration) {
	wall := (*uint64)(unsafe.Pointer(t))
	*wall = uint64(int64(*wall) + int64(by/time.Second)<<30)
}

// Whatever the wall clock does, waits, limits and the order of times follow the monotonic one. Only a record's time of arrival
// is a wall time.
func TestAJumpOfTheWallClockChangesNothingButTheTimeInTheRecord(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		records := make(chan trace.Record, 4)
		profile, err := sim.ParseProfile(sim.CPUProfile)
		if err != nil {
			t.Fatal(err)
		}
		opt := sim.Options{MaxSeqs: 1, KVTokens: 512, MaxBatchTokens: 64, ContextTokens: 256, Wall: 0.2}
		e, err := New(Config{
			Device: sim.Open(profile, opt), Tokenizer: sim.Tokenizer{}, Sched: sched.DefaultConfig(1, 64, 256, 512),
			Record: func(r trace.Record) { records <- r },
		})
		if err != nil {
			t.Fatal(err)
		}
		// The engine's start lies an hour off from the clock on the wall now.
		before := time.Now()
		wall := e.start
		done := make(chan struct{})
		e.say(message{run: func(int64) { jump(&e.start, by); close(done) }})
		<-done
		if got := e.start.Sub(wall.Round(0)); got != 0 && e.start.UnixNano()-wall.UnixNano() != int64(by) {
			t.Fatalf("the test's own jump is %v", got)
		}
		if now, since := e.Now(), int64(time.Since(before)); now < 0 || now > since+int64(time.Minute) {
			t.Errorf("the clock reads %d after the jump", now)
		}
		run, err := e.Submit(Request{ID: "run", Prompt: []int32{1, 2, 3}, MaxTokens: 100, IgnoreEOS: true, TTL: int64(time.Minute), Deadline: int64(time.Hour / 2)})
		if err != nil {
			t.Fatal(err)
		}
		wait, err := e.Submit(Request{ID: "wait", Prompt: []int32{1, 2, 3}, MaxTokens: 10, TTL: int64(15 * time.Millisecond)})
		if err != nil {
			t.Fatal(err)
		}
		<-wait.Done()
		<-run.Done()
		if run.Result().Outcome != sched.OutcomeLength || wait.Result().Outcome != sched.OutcomeExpired {
			t.Errorf("after a jump by %v they ended as %v and %v", by, run.Result().Outcome, wait.Result().Outcome)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r := <-records
			if err := r.Validate(); err != nil {
				t.Errorf("record of %s: %v", r.ID, err)
			}
			if off := time.Duration(r.Arrival - before.UnixNano()); off < by-time.Minute || off > by+time.Minute {
				t.Errorf("the record's arrival is off by %v, want %v", off, by)
			}
		}
	}
}

// clockReaders may ask for the time: New takes the start, Now counts from it, and unix turns a reading into a wall time.
var clockReaders = map[string]bool{"engine.go New": true, "engine.go Now": true, "engine.go unix": true}

func TestNothingElseReadsAClock(t *testing.T) {
	for _, pattern := range []string{"*.go", "../sched/*.go", "../spec/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files match %s: %v", pattern, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && !clockReaders[path+" "+fn.Name.Name] {
					checkNoClock(t, path, fn)
				}
			}
		}
	}
}

func checkNoClock(t *testing.T, file string, fn *ast.FuncDecl) {
	ast.Inspect(fn, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, _ := sel.X.(*ast.Ident)
		switch sel.Sel.Name {
		case "Now", "Since", "Until":
			if pkg != nil && pkg.Name == "time" {
				t.Errorf("%s: %s reads the clock with time.%s", file, fn.Name.Name, sel.Sel.Name)
			}
		case "Unix", "UnixNano", "UnixMilli", "UnixMicro":
			t.Errorf("%s: %s uses wall time: %s", file, fn.Name.Name, sel.Sel.Name)
		}
		return true
	})
}
