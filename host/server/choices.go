package server

import (
	"reflect"
	"time"

	"github.com/sluice-dev/sluice/host/engine"
)

// maxChoices bounds n: each choice is a request of its own in the queue and in the batch.
const maxChoices = 16

// choice is one of the n answers to a request.
type choice struct {
	index  int
	out    *engine.Stream
	begun  bool // some of it was written
	noted  bool // the engine knows that
	ended  bool // all of it was
	tokens int  // that the chunks so far stand for
	offset int  // characters of the tokens whose log probabilities were written
}

// wake is what call.next came back for.
type wake uint8

const (
	wakeEvent wake = iota // an event of a choice, or its end
	wakeGone              // the client left
	wakeTimer
)

// next waits for one choice's next event, which is not there (ok is false) when the choice has ended.
func (k *call) next(timer <-chan time.Time) (c *choice, ev engine.Event, ok bool, why wake) {
	if len(k.choices) > 1 {
		return k.nextOfMany(timer)
	}
	c = &k.choices[0]
	select {
	case ev, ok = <-c.out.Events():
		return c, ev, ok, wakeEvent
	case <-k.watch.gone:
		return nil, ev, false, wakeGone
	case <-timer:
		return nil, ev, false, wakeTimer
	}
}

func (k *call) nextOfMany(timer <-chan time.Time) (c *choice, ev engine.Event, ok bool, why wake) {
	if k.cases == nil {
		k.cases = make([]reflect.SelectCase, len(k.choices)+2)
		for i := range k.choices {
			k.cases[i] = received(k.choices[i].out.Events())
		}
	}
	n := len(k.choices)
	for i := range k.choices {
		if k.choices[i].ended {
			k.cases[i].Chan = reflect.Value{}
		}
	}
	k.cases[n], k.cases[n+1] = received(k.watch.gone), received(timer)
	i, v, ok := reflect.Select(k.cases)
	switch {
	case i == n:
		return nil, ev, false, wakeGone
	case i == n+1:
		return nil, ev, false, wakeTimer
	}
	if ok {
		ev = v.Interface().(engine.Event)
	} else {
		k.cases[i].Chan = reflect.Value{} // its end is told once
	}
	return &k.choices[i], ev, ok, wakeEvent
}

func received[T any](ch <-chan T) reflect.SelectCase {
	return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)}
}

// peek takes c's next event if it is there, or, when the end follows at once, waits for that.
func (c *choice) peek(atEnd bool) (ev engine.Event, ok, there bool) {
	if atEnd {
		ev, ok = <-c.out.Events()
		return ev, ok, true
	}
	select {
	case ev, ok = <-c.out.Events():
		return ev, ok, true
	default:
		return ev, false, false
	}
}

// failed is why the request has no answer, as far as that is known already: one choice without an answer ends all.
func (k *call) failed() *apiError {
	for i := range k.choices {
		select {
		case <-k.choices[i].out.Done():
			if r := k.choices[i].out.Result(); !complete(r) {
				return resultError(r)
			}
		default:
		}
	}
	return nil
}

// cancelAll makes the engine end what has not ended, and waits until all of it is free.
func (k *call) cancelAll() {
	for i := range k.choices {
		select {
		case <-k.choices[i].out.Done():
		default:
			k.choices[i].out.Cancel()
		}
	}
	for i := range k.choices {
		<-k.choices[i].out.Done()
	}
}

// done tells whether the engine has ended every choice.
func (k *call) done() bool {
	for i := range k.choices {
		select {
		case <-k.choices[i].out.Done():
		default:
			return false
		}
	}
	return true
}

// total is the usage of all choices; their prompt counts once. Outcome, Verdict and Err are those of the first choice that
// has no answer, else of the first. All must have ended.
func (k *call) total() engine.Result {
	sum := k.choices[0].out.Result()
	for i := range k.choices[1:] {
		r := k.choices[i+1].out.Result()
		if complete(sum) && !complete(r) {
			r.OutputTokens, r.CachedTokens = sum.OutputTokens+r.OutputTokens, max(sum.CachedTokens, r.CachedTokens)
			sum = r
			continue
		}
		sum.OutputTokens += r.OutputTokens
		sum.CachedTokens = max(sum.CachedTokens, r.CachedTokens)
	}
	return sum
}
