//! What the helpers of every SDK answer, to the integer: sdk/vectors/helpers.txt says how to read itself.

use sluice_policy::*;

/// The integers of a line, one after the other.
struct Numbers<'a>(std::str::Split<'a, char>);

impl Numbers<'_> {
    fn next(&mut self) -> i64 {
        self.0.next().expect("a number").parse().expect("an integer of 64 bits")
    }
}

/// Takes a step's input and returns the answer.
type Ask = Box<dyn FnMut(&mut Numbers) -> Vec<i64>>;

fn bit(b: bool) -> i64 {
    i64::from(b)
}

/// Makes the helper that a line names.
fn helper(name: &str, p: &mut Numbers) -> Ask {
    match name {
        "ewma" => ewma(Ewma::new(p.next() as u8)),
        "hysteresis" => hysteresis(Hysteresis::new(p.next(), p.next(), p.next())),
        "window" => window(Window::new(p.next(), p.next() as u8)),
        "token_bucket" => bucket(TokenBucket::new(p.next(), p.next())),
        "pid" => pid(Pid::new(
            p.next(),
            p.next(),
            p.next(),
            p.next() as u8,
            p.next(),
            p.next(),
        )),
        "tenant_table" => tenants(TenantTable::new(p.next() as u16)),
        "fair_share" => Box::new(|s| vec![fair_share(s.next(), s.next(), s.next())]),
        _ => panic!("no helper {}", name),
    }
}

fn ewma(mut e: Ewma) -> Ask {
    assert_eq!(e.value(), None);
    Box::new(move |s| {
        e.add(s.next());
        vec![e.value().expect("a value after the first one")]
    })
}

fn hysteresis(mut h: Hysteresis) -> Ask {
    Box::new(move |s| {
        let on = h.update(s.next(), s.next());
        assert_eq!(on, h.is_on());
        vec![bit(on)]
    })
}

fn window(mut w: Window) -> Ask {
    Box::new(move |s| {
        let (now, op, x) = (s.next(), s.next(), s.next());
        match op {
            1 => w.add(now, x),
            2 => w.reset(),
            _ => {}
        }
        vec![w.sum(now), w.rate(now)]
    })
}

fn bucket(mut b: TokenBucket) -> Ask {
    Box::new(move |s| {
        let (now, op, n) = (s.next(), s.next(), s.next());
        let mut taken = Ok(());
        match op {
            0 => taken = b.take(now, n),
            1 => b.give(now, n),
            _ => b.reset(),
        }
        vec![bit(taken.is_ok()), taken.err().unwrap_or(0), b.level(now)]
    })
}

fn pid(mut c: Pid) -> Ask {
    Box::new(move |s| {
        let (op, x) = (s.next(), s.next());
        if op == 0 {
            return vec![c.update(x)];
        }
        c.reset(x);
        vec![c.update(0)]
    })
}

fn tenants(mut table: TenantTable) -> Ask {
    Box::new(move |s| {
        let (op, id, x) = (s.next(), s.next() as u64, s.next());
        match op {
            1 => table.get(id).served += x,
            2 => table.get(id).inflight += x,
            3 => table.get(id).weight = x,
            _ => {}
        }
        let seen = table.find(id).map(|t| vec![1, t.served, t.inflight, t.weight]);
        let place = table.iter().position(|t| t.id == id).map_or(-1, |at| at as i64);
        let mut answer = seen.unwrap_or_else(|| vec![0; 4]);
        answer.extend([place, table.len() as i64, table.weights()]);
        answer
    })
}

#[test]
fn helpers_answer_as_those_of_every_sdk() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/helpers.txt")).unwrap();
    let mut steps = 0;
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.starts_with('#')) {
        let mut numbers = Numbers(line.split(' '));
        let name = numbers.0.next().unwrap();
        let mut ask = helper(name, &mut numbers);
        for step in 0..numbers.next() {
            let got = ask(&mut numbers);
            let want: Vec<i64> = got.iter().map(|_| numbers.next()).collect();
            assert_eq!(got, want, "line {}, {}, step {}", i + 1, name, step);
            steps += 1;
        }
        assert_eq!(numbers.0.next(), None, "line {}: something is left of it", i + 1);
    }
    assert!(steps > 5000, "only {} steps were read", steps);
}
