// Package runtimetest is what every plugins.Runtime must do, as tests that each of them runs: calls and their memory, fuel,
// traps, the functions of the host, and the lifecycle. It says nothing of speed.
//
//	func TestRuntime(t *testing.T) {
//		runtimetest.Run(t, func(t testing.TB, cacheDir string) runtimetest.Runtime {
//			rt, err := wazero.New(wazero.Options{CacheDir: cacheDir})
//			if err != nil {
//				t.Fatal(err)
//			}
//			return rt
//		})
//	}
package runtimetest

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins"
)

// Runtime is one that tells what of it is still open.
type Runtime interface {
	plugins.Runtime
	Live() (modules, instances int64)
}

// Maker makes the runtime under test. cacheDir is where it keeps compiled code; "" for nowhere.
type Maker func(t testing.TB, cacheDir string) Runtime

var cases = []struct {
	name string
	run  func(*testing.T, Maker)
}{
	{"a call copies in, calls, and shows the output", aCallCopiesInCallsAndShowsTheOutput},
	{"old output is cleared before a call", oldOutputIsClearedBeforeACall},
	{"rows are laid out in the guest's stride", rowsAreLaidOutInTheGuestsStride},
	{"a result has its whole width", aResultHasItsWholeWidth},
	{"what is not exported cannot be called", whatIsNotExportedCannotBeCalled},
	{"memory stays where it is while it grows", memoryStaysWhereItIsWhileItGrows},
	{"memory grows no further than its maximum", memoryGrowsNoFurtherThanItsMaximum},
	{"a reactor is initialised once", aReactorIsInitialisedOnce},
	{"fuel is set by each call and kept after the start", fuelIsSetByEachCallAndKeptAfterTheStart},
	{"a trap names the functions of the guest's stack", aTrapNamesTheFunctionsOfTheGuestsStack},
	{"an endless loop and endless recursion run out of fuel", anEndlessLoopAndEndlessRecursionRunOutOfFuel},
	{"large frames run out of fuel before they run out of stack", largeFramesRunOutOfFuelFirst},
	{"every kind of trap has its cause", everyKindOfTrapHasItsCause},
	{"a failed start says where", aFailedStartSaysWhere},
	{"guests that trap together do not meet", guestsThatTrapTogetherDoNotMeet},
	{"there are no arguments, environment or files", thereAreNoArgumentsEnvironmentOrFiles},
	{"clocks show the call's time and random bytes follow from its seed", clocksShowTheCallsTimeAndRandomBytesFollowFromItsSeed},
	{"sleeping takes no time", sleepingTakesNoTime},
	{"what is printed becomes log lines", whatIsPrintedBecomesLogLines},
	{"a line is cut, not its meaning", aLineIsCutNotItsMeaning},
	{"metrics are passed on", metricsArePassedOn},
	{"a call into the host has its price", aCallIntoTheHostHasItsPrice},
	{"a start function can call the host", aStartFunctionCanCallTheHost},
	{"a sink that panics ends the guest", aSinkThatPanicsEndsTheGuest},
	{"compiled code is kept on disk, and a broken cache is no obstacle", compiledCodeIsKeptOnDiskAndABrokenCacheIsNoObstacle},
	{"a dead context stops an instantiation, not a guest", aDeadContextStopsAnInstantiationNotAGuest},
	{"compile reports what it cannot link", compileReportsWhatItCannotLink},
}

// Run checks the runtime.
func Run(t *testing.T, with Maker) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, with) })
	}
}
