package conformance

import (
	"os"
	"testing"
)

// Missing skips a test whose language has no compiler here, and says how to get it. With SLUICE_REQUIRE_SDKS set, as `make
// test` does, the test fails instead.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("SLUICE_REQUIRE_SDKS") != "" {
		t.Fatalf("%s: run scripts/toolchains.sh", what)
	}
	t.Skipf("%s: run scripts/toolchains.sh", what)
}
