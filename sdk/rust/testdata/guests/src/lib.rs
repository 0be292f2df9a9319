//! Policies for the tests of the SDK, each an example of this crate.
