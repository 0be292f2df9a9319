//! Serves the more important class first, without ever starving the others.
//!
//! It decides what policies/class-priority decides, in the same words: that policy's source describes the rules and the
//! settings.
#![cfg_attr(target_arch = "wasm32", no_std)]

use sluice_policy::*;

struct ClassPriority {
    age_step: i64, // ns
    preempt: bool,
    limit: u32,
}

impl Policy for ClassPriority {
    const NEW: ClassPriority = ClassPriority {
        age_step: 1,
        preempt: false,
        limit: 0,
    };
    const READS: Group = Group::ROW_KV.and(Group::ROW_TIMES);
}

impl Configure for ClassPriority {
    fn configure(&mut self, c: &mut Config) -> Result<(), &'static str> {
        self.age_step = c.duration("age_step", 5 * SECOND, SECOND / 10..=24 * HOUR);
        self.preempt = c.bool("preempt", true);
        self.limit = c.int("preempt_limit", 4, 0..=100) as u32;
        Ok(())
    }
}

impl Prioritize for ClassPriority {
    fn prioritize(&mut self, _: &State, rows: &[Row], out: &mut [Ranking]) -> bool {
        let mut victims = Victims([MIN_LEVEL; CLASSES]);
        for (row, rank) in rows
            .iter()
            .zip(out.iter_mut())
            .filter(|(row, _)| row.is(Phase::RUNNING))
        {
            self.rank_running(row, rank);
            if self.preempt && row.preemptions < self.limit {
                victims.add(row.class_index(), rank.score >> LEVEL_SHIFT);
            }
        }
        victims.end();
        if let Some((head, claimant)) = self.rank_queue(rows, out, &victims) {
            let level = out[claimant].score >> LEVEL_SHIFT;
            if claimant != head {
                out[claimant].score = out[head].score - 1;
            }
            out[claimant].allow(RankFlag::MAY_PREEMPT);
            let score = out[claimant].score;
            shield(rows, out, rows[claimant].class_index(), level, score);
        }
        true
    }
}

impl ClassPriority {
    /// Ranks what does not run. If a row has a victim, it returns the row that goes first and the first one that has a victim.
    fn rank_queue(&self, rows: &[Row], out: &mut [Ranking], victims: &Victims) -> Option<(usize, usize)> {
        let mut head: Option<(i64, usize)> = None;
        let mut claimant: Option<(i64, usize)> = None;
        for (i, (row, rank)) in rows.iter().zip(out).enumerate() {
            if row.is(Phase::RUNNING) {
                continue;
            }
            self.rank_waiting(row, rank);
            if !row.is(Phase::QUEUED) {
                continue;
            }
            let place = (rank.score, i);
            if head.map_or(true, |first| place < first) {
                head = Some(place);
            }
            let has_victim = victims.of(row.class_index(), rank.score >> LEVEL_SHIFT);
            if has_victim && claimant.map_or(true, |first| place < first) {
                claimant = Some(place);
            }
        }
        Some((head?.1, claimant?.1))
    }

    fn rank_waiting(&self, row: &Row, rank: &mut Ranking) {
        let age = row.age_ns.max(0);
        rank.score = score(self.level(row, age), row.priority, age);
    }

    /// Scores what runs at the best of its level, so that no request of the same level is strictly better.
    fn rank_running(&self, row: &Row, rank: &mut Ranking) {
        let age = row.age_ns.max(0);
        let waited = match row.first_token_ns() {
            Some(at) => at.wrapping_sub(row.arrival_ns).max(0).min(age),
            None => age,
        };
        rank.score = self.level(row, waited) << LEVEL_SHIFT;
        rank.victim_rank = victim_rank(row.class_index(), age);
        if row.preemptions >= self.limit {
            rank.allow(RankFlag::PINNED);
        }
    }

    /// The class after ageing; lower is better, and it has no lower end that anyone would reach.
    fn level(&self, row: &Row, waited: i64) -> i64 {
        (row.class_index() as i64 - waited / self.age_step).max(MIN_LEVEL)
    }
}

/// Keeps what a claimant of that class and level may not displace from scoring worse than it.
fn shield(rows: &[Row], out: &mut [Ranking], class: usize, level: i64, score: i64) {
    for (row, rank) in rows.iter().zip(out).filter(|(row, _)| row.is(Phase::RUNNING)) {
        if row.class_index() <= class || rank.score >> LEVEL_SHIFT <= level {
            rank.score = rank.score.min(score);
        }
    }
}

// A score is, from its high bits to its low ones: the level, the client's priority, and the age in microseconds, reversed.
const AGE_BITS: u32 = 36; // 19 hours
const PRIORITY_BITS: u32 = 16;
const LEVEL_SHIFT: u32 = AGE_BITS + PRIORITY_BITS;

const MAX_AGE: i64 = (1 << AGE_BITS) - 1;
const MAX_PRIORITY: i32 = (1 << (PRIORITY_BITS - 1)) - 1;
const MIN_PRIORITY: i32 = -MAX_PRIORITY - 1;
const MIN_LEVEL: i64 = -1024;

/// Lower for who goes first. Priorities beyond 16 bits count as the outermost ones.
fn score(level: i64, priority: i32, age: i64) -> i64 {
    let priority = i64::from(priority.clamp(MIN_PRIORITY, MAX_PRIORITY)) - i64::from(MIN_PRIORITY);
    (level << LEVEL_SHIFT) + (priority << AGE_BITS) + (MAX_AGE - (age / 1000).min(MAX_AGE))
}

/// Higher for who is preempted first: by class, then the youngest. The age is in microseconds.
fn victim_rank(class: usize, age: i64) -> i64 {
    ((class as i64) << AGE_BITS) + (MAX_AGE - (age / 1000).min(MAX_AGE))
}

/// For each class, the worst level among the running requests of less important classes that may lose their places.
struct Victims([i64; CLASSES]);

impl Victims {
    /// Takes a running request; `end` must follow the last one.
    fn add(&mut self, class: usize, level: i64) {
        self.0[class] = self.0[class].max(level);
    }

    /// Turns the worst level of each class into that of the classes below it.
    fn end(&mut self) {
        let mut worst = MIN_LEVEL;
        for level in self.0.iter_mut().rev() {
            let own = *level;
            *level = worst;
            worst = worst.max(own);
        }
    }

    /// Reports whether a waiting request has a victim: one of a less important class and of a worse level.
    fn of(&self, class: usize, level: i64) -> bool {
        self.0[class] > level
    }
}

export!(ClassPriority);
