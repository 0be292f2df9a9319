//! A global allocator: one list of free blocks for each power of two, and pages from the host when a list is empty. It gives
//! nothing back to the host; a policy that needs more and more memory is replaced.

use crate::memory::Global;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;

const LEAST: usize = 4; // 2^4 bytes: a multiple of the largest alignment of a number
const PAGE: usize = 64 << 10;

struct Lists {
    free: [*mut u8; 32], // by the power of two; a free block begins with the address of the next
    fresh: usize,        // where memory that was never given out begins
    end: usize,          // of that memory
}

static LISTS: Global<Lists> = Global::new(Lists {
    free: [null_mut(); 32],
    fresh: 0,
    end: 0,
});

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// The power of two that has room for a layout. A block is aligned to its size.
fn power(l: Layout) -> usize {
    (l.size().max(l.align()).next_power_of_two().trailing_zeros() as usize).max(LEAST)
}

// SAFETY: a block has the layout's size and alignment, and is on a list or given out, never both. There is one thread.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        let (lists, p) = (LISTS.write(), power(l));
        match lists.free.get(p) {
            None => null_mut(),
            Some(head) if head.is_null() => lists.cut(1 << p),
            Some(&head) => {
                lists.free[p] = *(head as *mut *mut u8);
                head
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, l: Layout) {
        let (lists, p) = (LISTS.write(), power(l));
        *(block as *mut *mut u8) = lists.free[p];
        lists.free[p] = block;
    }
}

impl Lists {
    /// Cuts a block off the fresh memory. What alignment skips is lost.
    unsafe fn cut(&mut self, size: usize) -> *mut u8 {
        let mut at = (self.fresh + size - 1) & !(size - 1);
        if at + size > self.end || self.end == 0 {
            let pages = (size + PAGE - 1) / PAGE;
            let grown = core::arch::wasm32::memory_grow(0, pages);
            if grown == usize::MAX {
                return null_mut();
            }
            if grown * PAGE != self.end {
                self.fresh = grown * PAGE;
            }
            self.end = (grown + pages) * PAGE;
            at = (self.fresh + size - 1) & !(size - 1);
            if at + size > self.end {
                return self.cut(size);
            }
        }
        self.fresh = at + size;
        at as *mut u8
    }
}
