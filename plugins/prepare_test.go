package plugins_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// spying calls a function before each instance is made, counted from 1; its error is that of the instance.
type spying struct {
	*Runtime
	before func(n int64) error
	n      atomic.Int64
}

type spiedModule struct {
	plugins.Module
	s *spying
}

func (s *spying) Compile(ctx context.Context, code []byte) (plugins.Module, error) {
	m, err := s.Runtime.Compile(ctx, code)
	return spiedModule{m, s}, err
}

func (m spiedModule) Instantiate(ctx context.Context, env plugins.Env) (plugins.Instance, error) {
	if err := m.s.before(m.s.n.Add(1)); err != nil {
		return nil, err
	}
	return m.Module.Instantiate(ctx, env)
}

func spied(t *testing.T, opt plugins.Options, before func(n int64) error) *rig {
	t.Helper()
	rt := newRuntime(t)
	return newRigOn(t, rt, &spying{Runtime: rt, before: before}, opt)
}

// Whoever pushes may give up at any moment; the rig checks that nothing is left open.
func TestGivingUpWhileAnInstanceIsMadeLeavesNothingBehind(t *testing.T) {
	for at := range int64(3) {
		ctx, cancel := context.WithCancel(context.Background())
		r := spied(t, plugins.Options{}, func(n int64) error {
			if n == at+1 {
				cancel()
			}
			return nil
		})
		if err := r.Push(ctx, "p", guesttest.Admitter(1), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("given up at instance %d: %v", at+1, err)
		}
		if modules, instances := r.rt.Live(); modules != 0 || instances != 0 {
			t.Errorf("given up at instance %d: %d modules and %d instances were left open", at+1, modules, instances)
		}
	}
}

func TestARefusalNamesTheStageOnceWhicheverInstanceFails(t *testing.T) {
	broken := errors.New("out of addresses")
	for at := range int64(3) {
		r := spied(t, plugins.Options{}, func(n int64) error {
			if n == at+1 {
				return broken
			}
			return nil
		})
		err := r.Push(context.Background(), "p", guesttest.Admitter(1), nil)
		wants(t, err, plugins.StageStart, broken.Error())
		if strings.Count(err.Error(), "refused at") != 1 {
			t.Errorf("instance %d: %v", at+1, err)
		}
	}
}

// The keeper may still be making a spare for a version that a push has parked and a rollback readies again.
func TestASpareThatComesLateIsNotLost(t *testing.T) {
	late, waits := make(chan struct{}), make(chan struct{})
	r := spied(t, plugins.Options{}, func(n int64) error {
		switch n { // 1 to 3 are the first version's: tested, in use, spare; 5 to 7 the second's
		case 4: // the keeper's, after the fault
			close(waits)
			<-late
		case 9: // the spare of the rollback, which found none
			close(late)
			time.Sleep(100 * time.Millisecond) // the keeper's comes first
		}
		return nil
	})
	r.push("p", guesttest.Breaker(1, armed, guesttest.Unreachable))
	r.admit(armed, 1)
	<-waits // or the push would make the fourth
	r.push("p", guesttest.Admitter(2))
	if err := r.during(func() error { return r.Rollback(context.Background(), "p") }); err != nil {
		t.Fatal(err)
	}
	if got := r.mark(); got != 1 {
		t.Errorf("decided by %d, want the first version", got)
	}
}
