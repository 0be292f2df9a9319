//! The memory that the host writes to and reads from.

use crate::layout_gen::{BatchPlan, Descriptor, Event, Ranking, Row, SpecPlan, State, Verdict};
use crate::{Writer, MAX_ROWS};
use core::cell::UnsafeCell;

/// A global that calls from the host use one at a time: a module has one thread, and none of its imports calls back.
pub struct Global<T>(UnsafeCell<T>);

// SAFETY: see above.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    /// A global that begins as x.
    pub const fn new(x: T) -> Global<T> {
        Global(UnsafeCell::new(x))
    }

    /// What it holds.
    ///
    /// # Safety
    ///
    /// Nothing else may change it meanwhile.
    pub(crate) unsafe fn read(&self) -> &T {
        &*self.0.get()
    }

    /// What it holds, to be changed.
    ///
    /// # Safety
    ///
    /// Nothing else may use it meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn write(&self) -> &mut T {
        &mut *self.0.get()
    }

    pub(crate) fn address(&self) -> *mut T {
        self.0.get()
    }
}

pub(crate) const CONFIG_ROOM: usize = 16 << 10;

/// What a hook writes. Each answer is a view of the same bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union Output {
    pub verdicts: [Verdict; MAX_ROWS],
    pub rankings: [Ranking; MAX_ROWS],
    pub batch: BatchPlan,
    pub spec: Spec,
}

/// A plan with a k for each row behind it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Spec {
    pub plan: SpecPlan,
    pub k: [i32; MAX_ROWS],
}

const _: () = assert!(core::mem::size_of::<Spec>() == SpecPlan::SIZE + 4 * MAX_ROWS);

pub(crate) static STATE: Global<State> = Global::new(State::ZERO);
pub(crate) static ROWS: Global<[Row; MAX_ROWS]> = Global::new([Row::ZERO; MAX_ROWS]);
pub(crate) static EVENTS: Global<[Event; MAX_ROWS]> = Global::new([Event::ZERO; MAX_ROWS]);
pub(crate) static CONFIG: Global<[u8; CONFIG_ROOM]> = Global::new([0; CONFIG_ROOM]);
pub(crate) static OUT: Global<Output> = Global::new(Output {
    verdicts: [Verdict::ZERO; MAX_ROWS],
});
pub(crate) static SAVED: Global<Writer> = Global::new(Writer::new());
pub(crate) static DESCRIPTOR: Global<Descriptor> = Global::new(Descriptor::ZERO);
