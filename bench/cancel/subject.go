package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/engine"
)

const text = "The harbour was quiet when the first boat came in. Two men tied it to the wall and carried the boxes up the stairs, one after the other, without a word."

// timed is a device that tells how long its longest step since the last look was.
type timed struct {
	gpu.Device
	longest, tokens atomic.Int64
}

// Forward implements gpu.Device.
func (t *timed) Forward(b *gpu.Batch) error {
	n := 0
	for i := range b.Items {
		n += len(b.Items[i].Tokens)
	}
	t.tokens.Store(int64(n))
	from := time.Now()
	err := t.Device.Forward(b)
	t.tokens.Store(0)
	t.longest.Store(max(t.longest.Load(), int64(time.Since(from))))
	return err
}

// subject is the engine that is measured.
type subject struct {
	*timed
	engine *engine.Engine
	words  []gpu.Token
	next   int
}

func (s *subject) prompt(tokens int) []gpu.Token {
	p := make([]gpu.Token, tokens)
	s.next++
	for i := range p {
		p[i] = s.words[(s.next+i)%len(s.words)]
	}
	return p
}

func (s *subject) submit(n, prompt int) ([]*engine.Stream, error) {
	reqs := make([]engine.Request, n)
	for i := range reqs {
		reqs[i] = engine.Request{ID: strconv.Itoa(i), Prompt: s.prompt(prompt), MaxTokens: 400, IgnoreEOS: true}
	}
	return s.engine.SubmitAll(reqs)
}

// leave cancels all at once and returns the time until the last one's place and KV are free, with the longest step meanwhile.
func (s *subject) leave(streams []*engine.Stream) (took, step time.Duration) {
	s.longest.Store(0)
	from := time.Now()
	var wg sync.WaitGroup
	for _, st := range streams {
		wg.Go(func() { st.Cancel(); <-st.Done() })
	}
	wg.Wait()
	took = time.Since(from)
	return took, time.Duration(s.longest.Load())
}

// clear cancels the rest and checks that nothing is held any more.
func (s *subject) clear(streams []*engine.Stream) error {
	s.leave(streams)
	snap, err := s.engine.Snapshot(context.Background())
	if err != nil {
		return err
	}
	if st := snap.State; st.Running != 0 || st.WaitingRequests != 0 || st.BlocksFree != st.BlocksTotal {
		return fmt.Errorf("%d run, %d wait, %d of %d KV blocks are free", st.Running, st.WaitingRequests, st.BlocksFree, st.BlocksTotal)
	}
	return nil
}

func started(streams []*engine.Stream) {
	for _, st := range streams {
		<-st.Events()
	}
}

func (s *subject) decoding() (took, step time.Duration, err error) {
	streams, err := s.submit(8, 16)
	if err != nil {
		return 0, 0, err
	}
	started(streams)
	time.Sleep(7 * time.Millisecond)
	took, step = s.leave(streams[:1])
	return took, step, s.clear(streams[1:])
}

// prefilling cancels a long prompt in the midst of a step, beside so many that decode.
func (s *subject) prefilling(others int) (took, step time.Duration, err error) {
	streams, err := s.submit(others, 16)
	if err != nil {
		return 0, 0, err
	}
	started(streams)
	long, err := s.submit(1, 1500)
	if err != nil {
		return 0, 0, err
	}
	for s.tokens.Load() <= int64(others) {
		time.Sleep(50 * time.Microsecond)
	}
	time.Sleep(20 * time.Millisecond)
	took, step = s.leave(long)
	return took, step, s.clear(streams)
}

func (s *subject) crowd(n int) (took, step time.Duration, err error) {
	streams, err := s.submit(n, 16)
	if err != nil {
		return 0, 0, err
	}
	started(streams[:8])
	took, step = s.leave(streams)
	return took, step, s.clear(nil)
}

func measure(name string, repeat int, once func() (took, step time.Duration, err error)) (row, error) {
	r := row{Case: name, N: repeat}
	var all []float64
	for range repeat {
		took, step, err := once()
		if err != nil {
			return r, err
		}
		if took > step+slack {
			r.Missed++
		}
		all = append(all, ms(took))
		r.Step = max(r.Step, ms(step))
	}
	slices.Sort(all)
	r.P50, r.P99 = all[len(all)/2], all[(len(all)*99-1)/100]
	r.Target = r.Step + ms(slack)
	return r, nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
