//! A policy that dies as policies in Rust do: when so many requests wait, in different ways.
#![cfg_attr(target_arch = "wasm32", no_std)]

use sluice_policy::*;

struct Panics([u32; 4]);

impl Policy for Panics {
    const NEW: Panics = Panics([0; 4]);
}

impl Admit for Panics {
    fn admit(&mut self, st: &State, rows: &[Row], _: &mut [Verdict]) {
        let n = st.waiting_requests;
        match n {
            77 => panic!("seventy-seven is one too many\nfor a line"),
            78 => self.0[n as usize] += 1,
            79 => self.0[0] = rows.iter().find(|r| r.id == 0).map(|r| r.attempt).unwrap(),
            80 => self.0[1] = u32::try_from(-i64::from(n)).expect("a number that is not negative"),
            _ => {}
        }
    }
}

export!(Panics);
