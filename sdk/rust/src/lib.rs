//! Policies for Sluice in Rust: the code that decides, inside the server's decode loop, who is let in, who goes first, how
//! large the batch may get, and when to speculate.
//!
//! It is not a client for a running server, and has nothing of the host in it: no dependencies, no allocator, no floating
//! point.
//!
//! A policy is a type that implements [`Policy`] and some of the hooks' traits. The host asks the module which ones it has and
//! uses its own default for the rest:
//!
//! ```
//! #![cfg_attr(target_arch = "wasm32", no_std)]
//!
//! use sluice_policy::*;
//!
//! struct Shed {
//!     max_wait: i64, // ns
//! }
//!
//! impl Policy for Shed {
//!     const NEW: Shed = Shed { max_wait: 0 };
//!     const READS: Group = Group::BASIC;
//! }
//!
//! impl Configure for Shed {
//!     fn configure(&mut self, c: &mut Config) -> Result<(), &'static str> {
//!         self.max_wait = c.duration("max_wait", 10 * SECOND, MILLISECOND..=HOUR);
//!         Ok(())
//!     }
//! }
//!
//! impl Admit for Shed {
//!     fn admit(&mut self, _: &State, rows: &[Row], out: &mut [Verdict]) {
//!         for (row, verdict) in rows.iter().zip(out) {
//!             if row.is(Phase::QUEUED) && row.wait_ns > self.max_wait {
//!                 *verdict = Verdict::reject(503, Reason::QUEUE_AGE);
//!             }
//!         }
//!     }
//! }
//!
//! sluice_policy::export!(Shed);
//! # fn main() {}
//! ```
//!
//! It is built with the ordinary toolchain, as a library of the crate type `cdylib`:
//!
//! ```text
//! cargo build --release --offline --target wasm32-unknown-unknown
//! ```
//!
//! and tested natively with [`testing`].
//!
//! # What a policy may do
//!
//! - One call at a time comes from the host. The state, the rows, the events and the outputs are the SDK's memory, lent for
//!   the call.
//! - Integers only, in the units of docs/abi.md: nanoseconds, parts per million, tokens, KV blocks. Floating point works, but
//!   a decision that rests on it is hard to explain.
//! - A field that may be absent is read by a method: `st.itl_p95_ns()` is `None` when the host has no figure. Absent is not 0.
//! - The same calls with the same bytes must give the same decisions, so that a replay repeats a live run. There is no clock
//!   but [`State::now_ns`], and [`State::rng_seed`] is the source of randomness.
//! - Arithmetic wraps in a release build and panics in a debug build where it overflows. Rows may hold any number: say
//!   `wrapping_sub` or `saturating_sub` where that matters.
//! - A panic costs one decision. The server logs it with its place, answers for the policy, and begins with a fresh instance.
//!
//! # Features
//!
//! - `panic-handler`, on by default: the handler that logs panics, for policies that are `no_std` in the sandbox.
//! - `std`: links std, for policies that use it, or its allocator: `Vec`, `String`, `format!`. Panics are logged as well, and
//!   the policy need not be `no_std`. Such a module is about 10 KB larger. Memory that is freed is used again.
#![no_std]
#![warn(missing_docs)]

#[cfg(any(feature = "std", not(target_arch = "wasm32")))]
extern crate std;

mod calls;
mod config;
mod config_get;
mod ewma;
#[doc(hidden)]
pub mod exports;
mod host;
mod hysteresis;
mod json;
mod layout_gen;
mod line;
mod memory;
mod number;
#[cfg(all(target_arch = "wasm32", any(feature = "panic-handler", feature = "std")))]
mod panic;
mod pid;
mod policy;
mod row;
mod save;
mod tenant_table;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod token_bucket;
mod units;
mod verdict;
mod window;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use config::Config;
pub use ewma::Ewma;
pub use host::{log, metric, Level};
pub use hysteresis::Hysteresis;
pub use layout_gen::*;
pub use line::Line;
pub use pid::Pid;
pub use policy::{Admit, BatchCap, Configure, Events, Policy, Prioritize, SaveState, Speculate};
pub use save::{Reader, Writer};
pub use tenant_table::{fair_share, Tenant, TenantTable, TENANT_SLOTS};
pub use token_bucket::{TokenBucket, FOREVER};
pub use units::{CLASSES, HOUR, MAX_DRAFT, MAX_ROWS, MILLISECOND, MINUTE, ONE, SAVE_ROOM, SECOND};
pub use window::Window;
