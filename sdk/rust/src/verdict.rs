use crate::layout_gen::{Action, Reason, Verdict};
use crate::units::{CLASSES, MILLISECOND};

impl Verdict {
    /// Leaves a request to the next policy of the chain, or to the host.
    pub const fn abstain() -> Verdict {
        Verdict::of(Action::ABSTAIN)
    }

    /// Lets a request in.
    pub const fn admit() -> Verdict {
        Verdict::of(Action::ADMIT)
    }

    /// Lets a request in under the limits that are set on the verdict.
    pub const fn degrade() -> Verdict {
        Verdict::of(Action::DEGRADE)
    }

    /// Ends a request with an HTTP status (429, 503 or 529; 0 = 503) and a reason. Without [`Verdict::retry_after`] the host
    /// computes the Retry-After from the rate at which the queue drains.
    ///
    /// ```
    /// # use sluice_policy::{Reason, Verdict, SECOND};
    /// let v = Verdict::reject(429, Reason::CAPACITY).retry_after(5 * SECOND);
    /// assert_eq!((v.status, v.retry_after_ms), (429, 5000));
    /// ```
    pub const fn reject(status: u16, reason: Reason) -> Verdict {
        let mut v = Verdict::of(Action::REJECT);
        v.status = status;
        v.reason = reason;
        v
    }

    const fn of(action: Action) -> Verdict {
        Verdict {
            action,
            class_override: -1,
            speculation_cap: -1,
            ..Verdict::ZERO
        }
    }

    /// How long the client is to wait, in ns, rounded up to a millisecond.
    pub const fn retry_after(mut self, ns: i64) -> Verdict {
        self.retry_after_ms = milliseconds(ns);
        self
    }

    /// Limits the further time in the queue, in ns, rounded up to a millisecond.
    pub const fn queue_ttl(mut self, ns: i64) -> Verdict {
        self.queue_ttl_ms = milliseconds(ns);
        self
    }

    /// Has the request treated as one of another class, 0 to 15.
    pub const fn class(mut self, class: usize) -> Verdict {
        self.class_override = (class & (CLASSES - 1)) as i8;
        self
    }

    /// Has the request treated as one of another client priority; lower is earlier.
    pub const fn priority(mut self, priority: i32) -> Verdict {
        self.priority_override = priority;
        self.has_priority = 1;
        self
    }

    /// Limits the output tokens; 0 is no limit.
    pub const fn max_tokens(mut self, n: u32) -> Verdict {
        self.max_tokens_cap = n;
        self
    }

    /// Limits the draft tokens a step; 0 turns them off for this request.
    pub const fn speculation(mut self, k: i32) -> Verdict {
        self.speculation_cap = if k < 0 { 0 } else { k };
        self
    }

    /// Gives an admission a reason.
    pub const fn because(mut self, reason: Reason) -> Verdict {
        self.reason = reason;
        self
    }
}

/// Rounds up, so that a wish of 1 ns is not none at all.
const fn milliseconds(ns: i64) -> u32 {
    if ns <= 0 {
        return 0;
    }
    let ms = (ns - 1) / MILLISECOND + 1;
    if ms > u32::MAX as i64 {
        return u32::MAX;
    }
    ms as u32
}
