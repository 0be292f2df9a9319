package server

import (
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// Settings are what may change while the server serves. The zero value of each is its default.
type Settings struct {
	EarlyHeaders time.Duration // how long a stream's status is held back at most; 0 = 15 s, negative = for ever
	KeepAlive    time.Duration // between two signs of life once the status is out; 0 = 7 s

	// QueueTTL is by class how long a request may wait in the queue; 0 = for ever. A client can only ask for less.
	QueueTTL [abi.Classes]time.Duration
}

func (o *Settings) fill() error {
	if o.EarlyHeaders == 0 {
		o.EarlyHeaders = 15 * time.Second
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 7 * time.Second
	}
	if o.KeepAlive < 0 {
		return fmt.Errorf("validate server: KeepAlive must be positive")
	}
	for i, d := range o.QueueTTL {
		if d < 0 {
			return fmt.Errorf("validate server: the queue TTL of class %d is negative", i)
		}
	}
	return nil
}

// Set puts other settings in force for requests from now on, and for the streams that run. It may be called from any
// goroutine.
func (s *Server) Set(o Settings) error {
	if err := o.fill(); err != nil {
		return err
	}
	s.settings.Store(&o)
	return nil
}
