package main

import (
	"strings"
	"testing"
	"time"
)

func TestServerThatEndsIsNoticed(t *testing.T) {
	p, err := spawn(t.TempDir(), "none", nil, nil, "false")
	if err != nil {
		t.Fatal(err)
	}
	err = p.awaitHealth(t.Context(), "http://127.0.0.1:1", time.Minute)
	if err == nil || !strings.Contains(err.Error(), "ended before it served") {
		t.Error(err)
	}
	p.stop()
}

func TestStopEndsTheWholeGroup(t *testing.T) {
	p, err := spawn(t.TempDir(), "group", nil, nil, "sh", "-c", "sleep 600 & wait")
	if err != nil {
		t.Fatal(err)
	}
	p.stop() // waits for the output's end, which the child holds open too
	select {
	case <-p.exited:
	default:
		t.Error("it still runs")
	}
}

func TestAddresses(t *testing.T) {
	s, a, err := addresses(strings.NewReader("serving http://127.0.0.1:1\nadmin http://127.0.0.1:2\n"))
	if s != "http://127.0.0.1:1" || a != "http://127.0.0.1:2" || err != nil {
		t.Error(s, a, err)
	}
	if _, _, err := addresses(strings.NewReader("serving x\n")); err == nil {
		t.Error("one address is enough")
	}
}
