use crate::layout_gen::{BatchPlan, Event, Group, Ranking, Row, SpecPlan, State, Verdict};
use crate::{Config, Reader, Writer};

/// A policy: what decides. It also implements one or more of [`Admit`], [`Prioritize`], [`BatchCap`], [`Speculate`] and
/// [`Events`], and [`Configure`] and [`SaveState`] where it has settings and something to remember.
pub trait Policy: Sized {
    /// A new policy, before it is configured.
    const NEW: Self;

    /// The groups of fields that the policy reads beside those that are always there, so that the host computes and copies no
    /// others; [`Group::BASIC`] for none. What is read without being declared is unspecified, and a module whose decisions
    /// depend on it is refused. Without this, the policy is given everything.
    const READS: Group = Group(0);
}

/// Takes the configuration: the KEY=VALUE of `sluice policy push --set KEY=VALUE`. It is called before everything else, also
/// when nothing was set, so that defaults stand in one place. What it does not ask for is refused as an unknown key, and so is
/// a value that a getter could not read: both without any code of the policy's. An error that it returns is shown to whoever
/// pushed the policy.
///
/// A policy without it takes no configuration.
pub trait Configure: Policy {
    /// Reads the settings.
    fn configure(&mut self, c: &mut Config) -> Result<(), &'static str>;
}

/// Judges requests: each once when it arrives ([`Phase::ARRIVAL`](crate::Phase::ARRIVAL)), and again and again while it waits
/// ([`Phase::QUEUED`](crate::Phase::QUEUED)).
///
/// - `out[i]` belongs to `rows[i]` and abstains until the policy writes it: the next policy or the host's default decides.
/// - A request that runs or has run is never judged. Rows in other phases are to be left alone.
/// - A rejection of a waiting request ends it; any other verdict lets it wait on.
pub trait Admit: Policy {
    /// Writes verdicts.
    fn admit(&mut self, st: &State, rows: &[Row], out: &mut [Verdict]);
}

/// Ranks waiting requests against each other, and running ones as victims.
///
/// - The lowest score enters the batch first; equal ones keep the host's order: the client's priority, then arrival.
/// - A row with [`RankFlag::MAY_PREEMPT`](crate::RankFlag::MAY_PREEMPT) may take the place of a running row whose score is
///   greater; of several, the one with the highest victim rank.
pub trait Prioritize: Policy {
    /// Writes rankings, all zero until it does. `false` leaves the order to the host.
    fn prioritize(&mut self, st: &State, rows: &[Row], out: &mut [Ranking]) -> bool;
}

/// Limits the batch before a step is built.
pub trait BatchCap: Policy {
    /// Returns the limits. Fields that are 0 mean the host's own limit, and `None` means it for all of them.
    fn batch_cap(&mut self, st: &State) -> Option<BatchPlan>;
}

/// Says how many tokens to draft. It is asked before each step in which something decodes, if the server has a drafter.
pub trait Speculate: Policy {
    /// Returns the plan; `None` means no speculation. `k[i]` is for `rows[i]` and is -1, the plan's k, until the policy writes
    /// it.
    fn speculate(&mut self, st: &State, rows: &[Row], k: &mut [i32]) -> Option<SpecPlan>;
}

/// Hears once per step what happened since the last one. It decides nothing.
pub trait Events: Policy {
    /// Takes note.
    fn events(&mut self, st: &State, events: &[Event]);
}

/// Carries what a policy has learned over to the next version of it at a hot swap.
pub trait SaveState: Policy {
    /// Writes it down, up to [`SAVE_ROOM`](crate::SAVE_ROOM) bytes. Nothing written means nothing to keep.
    fn save(&self, to: &mut Writer);

    /// Takes it over; this comes after the configuration. The bytes may be another version's, so begin them with a version of
    /// your own and check everything. An error is logged and costs the state and nothing else: the policy starts afresh.
    fn restore(&mut self, from: &mut Reader) -> Result<(), &'static str>;
}
