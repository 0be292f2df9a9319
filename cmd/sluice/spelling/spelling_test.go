package spelling

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"waiting_requests", "wait_ns", "model", "class"}
	for word, want := range map[string]int{"modle": 2, "Model": 2, "waitns": 1, "waiting_request": 0, "colour": -1, "": -1, "clas": 3, "waiting_r": 0, "wa": -1} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: %d, want %d", word, got, want)
		}
	}
}
