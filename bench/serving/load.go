package main

import (
	"context"
	"sync"
	"time"
)

// closed keeps workers requests in flight until all of asks are answered, and returns the answers in the order of asks.
func closed(ctx context.Context, c *client, workers int, asks []ask) []answer {
	answers := make([]answer, len(asks))
	next := make(chan int, len(asks))
	for i := range asks {
		next <- i
	}
	close(next)
	begin := time.Now()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				answers[i] = c.send(ctx, begin, asks[i])
			}
		})
	}
	wg.Wait()
	return answers
}

// arrival is a request that is sent at its time, whatever became of those before it.
type arrival struct {
	at time.Duration // since the load began
	ask
}

// open sends each request at its time and returns the answers in the order of arrivals.
func open(ctx context.Context, c *client, begin time.Time, arrivals []arrival) []answer {
	answers := make([]answer, len(arrivals))
	var wg sync.WaitGroup
	for i, a := range arrivals {
		wg.Go(func() {
			select {
			case <-time.After(time.Until(begin.Add(a.at))):
				answers[i] = c.send(ctx, begin, a.ask)
			case <-ctx.Done():
				answers[i].err = ctx.Err()
			}
		})
	}
	wg.Wait()
	return answers
}

// until keeps workers requests in flight until the time, lets those end that run, and returns all answers.
func until(ctx context.Context, c *client, begin time.Time, length time.Duration, workers int, next func() ask) []answer {
	var mu sync.Mutex
	var answers []answer
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil && time.Since(begin) < length {
				mu.Lock()
				q := next()
				mu.Unlock()
				a := c.send(ctx, begin, q)
				mu.Lock()
				answers = append(answers, a)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return answers
}
