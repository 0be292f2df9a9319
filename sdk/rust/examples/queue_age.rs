//! Sheds what has waited too long, so that a server in overload spends its time on requests whose clients are still there.
//!
//! It decides what policies/queue-age decides, in the same words: that policy's source describes the rules and the settings.
#![cfg_attr(target_arch = "wasm32", no_std)]

use sluice_policy::*;

#[derive(Clone, Copy)]
struct QueueAge {
    max_age: [i64; CLASSES],     // ns
    pressed_age: [i64; CLASSES], // ns; the same under pressure
    arrival_factor: i64,         // ppm
    status: u16,
    paused: bool,
    resumed_at: i64, // ns; waits count from here on
}

impl Policy for QueueAge {
    const NEW: QueueAge = QueueAge {
        max_age: [0; CLASSES],
        pressed_age: [0; CLASSES],
        arrival_factor: 0,
        status: 0,
        paused: false,
        resumed_at: 0,
    };
    const READS: Group = Group::SPEED.and(Group::CLASSES);
}

impl Configure for QueueAge {
    fn configure(&mut self, c: &mut Config) -> Result<(), &'static str> {
        self.max_age = c.class_durations("max_age", 10 * SECOND, MILLISECOND..=24 * HOUR);
        let pressure = c.ratio("pressure", ONE / 2, 0..=ONE);
        self.pressed_age = self.max_age.map(|age| share(age, pressure));
        self.arrival_factor = c.ratio("arrival_factor", 0, 0..=1000 * ONE);
        self.status = c.one_of("status", &[("503", 503), ("429", 429), ("529", 529)]);
        Ok(())
    }
}

impl Admit for QueueAge {
    fn admit(&mut self, st: &State, rows: &[Row], out: &mut [Verdict]) {
        self.follow(st);
        if !self.paused {
            self.judge_queued(st, rows, out);
        }
        if self.arrival_factor > 0 && st.waiting_requests > 0 {
            if let Some(wait) = st.estimated_wait_ns() {
                self.judge_arrivals(st, wait, rows, out);
            }
        }
    }
}

impl QueueAge {
    /// Notices pauses.
    fn follow(&mut self, st: &State) {
        let paused = st.host_state == HostState::PAUSED;
        if self.paused && !paused {
            self.resumed_at = st.now_ns;
        }
        self.paused = paused;
    }

    fn judge_queued(&self, st: &State, rows: &[Row], out: &mut [Verdict]) {
        let counted = st.now_ns.wrapping_sub(self.resumed_at);
        let limit = self.limits(st, counted);
        for (row, verdict) in rows.iter().zip(out) {
            if row.is(Phase::QUEUED) && row.wait_ns.min(counted) > limit[row.class_index()] {
                *verdict = self.late(row, counted);
            }
        }
    }

    /// The ages in force: below the first class under pressure they are shorter. Of a wait only `counted` ns count.
    fn limits(&self, st: &State, counted: i64) -> [i64; CLASSES] {
        let mut limit = self.max_age;
        let mut pressed = false;
        for ((limit, stats), &pressed_age) in limit.iter_mut().zip(&st.classes).zip(&self.pressed_age) {
            if pressed {
                *limit = pressed_age;
            }
            pressed = pressed || stats.waiting > 0 && stats.oldest_wait_ns.min(counted) > pressed_age;
        }
        limit
    }

    fn late(&self, row: &Row, counted: i64) -> Verdict {
        if row.wait_ns.min(counted) > self.max_age[row.class_index()] {
            return Verdict::reject(self.status, Reason::QUEUE_AGE);
        }
        Verdict::reject(self.status, Reason::PRIORITY)
    }

    fn judge_arrivals(&self, st: &State, estimated_wait: i64, rows: &[Row], out: &mut [Verdict]) {
        let each = (estimated_wait / i64::from(st.waiting_requests)).max(1);
        let mut room = self.places(st, each);
        for (row, verdict) in rows.iter().zip(out) {
            if row.is(Phase::ARRIVAL) && !take(&mut room[row.class_index()..]) {
                *verdict = Verdict::reject(self.status, Reason::QUEUE_AGE);
            }
        }
    }

    /// For each class, how many more may come to stand before its next request, at what a place in the queue takes now. What
    /// stands before a request is its own class and the more important ones.
    fn places(&self, st: &State, each: i64) -> [i64; CLASSES] {
        let mut ahead = 0;
        let mut room = self.max_age;
        for (room, stats) in room.iter_mut().zip(&st.classes) {
            ahead += i64::from(stats.waiting);
            *room = share(*room, self.arrival_factor) / each - ahead;
        }
        room
    }
}

/// Lets a request of the first of these classes in and reports true, unless it would wait too long.
fn take(room: &mut [i64]) -> bool {
    if room[0] < 0 {
        return false;
    }
    room.iter_mut().for_each(|left| *left -= 1);
    true
}

/// A time in ns times a ratio in ppm. It does not overflow for a day and a ratio of a thousand.
fn share(ns: i64, ppm: i64) -> i64 {
    ns / ONE * ppm + ns % ONE * ppm / ONE
}

export!(QueueAge);
