//! The functions of the ABI. A policy's module exports all of them; the descriptor says which ones count.

use crate::host::log_line;
use crate::layout_gen::{Descriptor, Event, Group, Hook, Return, Row, State, MAJOR, MINOR};
use crate::memory::{Output, CONFIG, CONFIG_ROOM, DESCRIPTOR, EVENTS, OUT, ROWS, SAVED, STATE};
use crate::{calls, Admit, BatchCap, Config, Configure, Events, Level, Line, Prioritize, Reader, SaveState, Speculate};
use crate::{Policy, MAX_ROWS};
use core::marker::PhantomData;
use core::mem::size_of;

pub use crate::memory::Global;

/// A return value that the host takes for a failure: it called for something that the descriptor does not offer.
const FAULT: i32 = -1;

/// What a policy answers. Each item is the inherent one where the policy has the hook's trait, and else that of [`Lacks`]: the
/// compiler prefers inherent items whose bounds hold. So the hooks follow from the traits, and cannot be declared wrongly.
pub struct Has<P>(PhantomData<P>);

macro_rules! hooks {
    ($($hook:ident: $trait:ident { $($call:ident($($arg:ident)?) -> $ret:ty, or $none:expr;)+ })*) => {
        /// What a policy without a hook answers for it.
        pub trait Lacks<P> {
            $(
                const $hook: Hook = Hook(0);
                $(
                    fn $call(_: &Global<P> $(, $arg: u32)?) -> $ret {
                        $(let _ = $arg;)?
                        $none
                    }
                )+
            )*
        }

        impl<P> Lacks<P> for Has<P> {}

        $(
            impl<P: $trait> Has<P> {
                pub const $hook: Hook = Hook::$hook;
                $(
                    pub fn $call(p: &Global<P> $(, $arg: u32)?) -> $ret {
                        // SAFETY: the host calls one function at a time, and has finished writing.
                        unsafe { $call(p.write() $(, $arg as usize)?) }
                    }
                )+
            }
        )*
    };
}

hooks! {
    CONFIGURE: Configure { configure(n) -> i32, or FAULT; }
    ADMIT: Admit { admit(n) -> i32, or FAULT; }
    PRIORITIZE: Prioritize { prioritize(n) -> i32, or FAULT; }
    BATCH_CAP: BatchCap { batch_cap() -> i32, or FAULT; }
    SPECULATE: Speculate { speculate(n) -> i32, or FAULT; }
    EVENTS: Events { events(n) -> i32, or FAULT; }
    STATE: SaveState { save() -> u64, or 0; restore(n) -> i32, or FAULT; }
}

/// The union of all hooks' sets.
pub const fn union(hooks: [Hook; 7]) -> Hook {
    let (mut all, mut i) = (0, 0);
    while i < hooks.len() {
        all |= hooks[i].0;
        i += 1;
    }
    assert!(
        all & !(Hook::CONFIGURE.0 | Hook::STATE.0) != 0,
        "the policy implements none of Admit, Prioritize, BatchCap, Speculate and Events"
    );
    Hook(all)
}

pub fn describe<P: Policy>(hooks: Hook) -> *const Descriptor {
    #[cfg(all(target_arch = "wasm32", feature = "std"))]
    crate::panic::hook();
    let d = Descriptor {
        magic: u32::from_le_bytes(*b"SLCE"),
        major: MAJOR,
        minor: MINOR,
        hooks,
        flags: 0,
        state_ptr: pointer(STATE.address()),
        state_cap: size_of::<State>() as u32,
        rows_ptr: pointer(ROWS.address()),
        rows_cap: (MAX_ROWS * Row::SIZE) as u32,
        row_stride: Row::SIZE as u32,
        out_ptr: pointer(OUT.address()),
        out_cap: size_of::<Output>() as u32,
        config_ptr: pointer(CONFIG.address()),
        config_cap: CONFIG_ROOM as u32,
        events_ptr: pointer(EVENTS.address()),
        events_cap: (MAX_ROWS * Event::SIZE) as u32,
        reads: reads(P::READS),
    };
    // SAFETY: as in Has.
    unsafe { *DESCRIPTOR.write() = d };
    DESCRIPTOR.address()
}

/// An address as the host has it: in a module it is one of 32 bits.
fn pointer<T>(p: *mut T) -> u32 {
    p as usize as u32
}

/// A policy that declares something reads what is always there as well.
fn reads(declared: Group) -> Group {
    if declared == Group(0) {
        return declared;
    }
    declared | Group::BASIC
}

fn result(decided: bool) -> i32 {
    if decided {
        return Return::DECIDED.0;
    }
    Return::ABSTAIN.0
}

unsafe fn configure<P: Configure>(p: &mut P, n: usize) -> i32 {
    let json = match CONFIG.write().get_mut(..n) {
        Some(json) => json,
        None => return FAULT,
    };
    match Config::parse(json).apply(p) {
        Ok(()) => 0,
        Err(why) => {
            log_line(Level::Error, why);
            1
        }
    }
}

unsafe fn admit<P: Admit>(p: &mut P, n: usize) -> i32 {
    if n > MAX_ROWS {
        return FAULT;
    }
    calls::admit(p, STATE.read(), &ROWS.read()[..n], &mut OUT.write().verdicts[..n]);
    Return::DECIDED.0
}

unsafe fn prioritize<P: Prioritize>(p: &mut P, n: usize) -> i32 {
    if n > MAX_ROWS {
        return FAULT;
    }
    result(calls::prioritize(
        p,
        STATE.read(),
        &ROWS.read()[..n],
        &mut OUT.write().rankings[..n],
    ))
}

unsafe fn batch_cap<P: BatchCap>(p: &mut P) -> i32 {
    result(calls::batch_cap(p, STATE.read(), &mut OUT.write().batch))
}

unsafe fn speculate<P: Speculate>(p: &mut P, n: usize) -> i32 {
    if n > MAX_ROWS {
        return FAULT;
    }
    let out = &mut OUT.write().spec;
    result(calls::speculate(
        p,
        STATE.read(),
        &ROWS.read()[..n],
        &mut out.plan,
        &mut out.k[..n],
    ))
}

unsafe fn events<P: Events>(p: &mut P, n: usize) -> i32 {
    if n > MAX_ROWS {
        return FAULT;
    }
    p.events(STATE.read(), &EVENTS.read()[..n]);
    Return::DECIDED.0
}

/// Returns where the saved bytes are and how many; the host reads them before it calls again.
unsafe fn save<P: SaveState>(p: &mut P) -> u64 {
    let to = SAVED.write();
    to.clear();
    p.save(to);
    if to.is_full() {
        say(Level::Warn, "the state has no room in SAVE_ROOM bytes and is not kept");
    }
    match to.bytes() {
        [] => 0,
        bytes => (bytes.as_ptr() as u64) << 32 | bytes.len() as u64,
    }
}

unsafe fn restore<P: SaveState>(p: &mut P, n: usize) -> i32 {
    let bytes = match CONFIG.read().get(..n) {
        Some(bytes) => bytes,
        None => return FAULT,
    };
    match p.restore(&mut Reader::new(bytes)) {
        Ok(()) => Return::DECIDED.0,
        Err(why) => {
            say(Level::Warn, why);
            Return::ABSTAIN.0
        }
    }
}

fn say(level: Level, text: &str) {
    let mut line = Line::new();
    line.text(text);
    log_line(level, &line);
}

/// Makes a type the module's policy: `export!(Shed);`, once in a crate. Which hooks the module answers follows from the traits
/// that the type implements; a type that decides nothing does not compile.
///
/// ```compile_fail
/// struct Idle;
/// impl sluice_policy::Policy for Idle {
///     const NEW: Idle = Idle;
/// }
/// sluice_policy::export!(Idle);
/// ```
#[macro_export]
macro_rules! export {
    ($policy:ty) => {
        const _: () = {
            #[allow(unused_imports)] // where the policy has every trait
            use $crate::exports::{describe, union, Global, Has, Lacks};

            #[allow(dead_code)] // natively, where it still proves that the policy decides something
            const HOOKS: $crate::Hook = union([
                Has::<$policy>::CONFIGURE,
                Has::<$policy>::ADMIT,
                Has::<$policy>::PRIORITIZE,
                Has::<$policy>::BATCH_CAP,
                Has::<$policy>::SPECULATE,
                Has::<$policy>::EVENTS,
                Has::<$policy>::STATE,
            ]);

            $crate::sluice_functions! { $policy;
                sluice_configure(n) -> i32: configure,
                sluice_admit(n) -> i32: admit,
                sluice_prioritize(n) -> i32: prioritize,
                sluice_batch_cap() -> i32: batch_cap,
                sluice_speculate(n) -> i32: speculate,
                sluice_events(n) -> i32: events,
                sluice_save() -> u64: save,
                sluice_restore(n) -> i32: restore,
            }
        };
    };
}

#[doc(hidden)]
#[macro_export]
#[cfg(target_arch = "wasm32")]
macro_rules! sluice_functions {
    ($policy:ty; $($export:ident($($n:ident)?) -> $ret:ty: $call:ident,)*) => {
        static POLICY: Global<$policy> = Global::new(<$policy as $crate::Policy>::NEW);

        #[no_mangle]
        extern "C" fn sluice_abi_v1() -> *const $crate::Descriptor {
            describe::<$policy>(HOOKS)
        }

        $(
            #[no_mangle]
            extern "C" fn $export($($n: u32)?) -> $ret {
                Has::<$policy>::$call(&POLICY $(, $n)?)
            }
        )*
    };
}

/// Natively a policy exports nothing: its tests call its traits.
#[doc(hidden)]
#[macro_export]
#[cfg(not(target_arch = "wasm32"))]
macro_rules! sluice_functions {
    ($($anything:tt)*) => {};
}
