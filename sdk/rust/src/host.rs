use crate::Line;
use core::fmt::{self, Write};

/// How much a log line matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Level {
    /// For the policy's author.
    Debug = -1,
    /// Worth knowing.
    Info = 0,
    /// Something is not as it should be.
    Warn = 1,
    /// A failure.
    Error = 2,
}

#[cfg(target_arch = "wasm32")]
mod import {
    #[link(wasm_import_module = "sluice")]
    extern "C" {
        pub fn log(level: i32, ptr: *const u8, len: usize);
        pub fn metric(id: u32, value: i64);
    }
}

/// Publishes a number under an id from 0 to 31: `sluice policy ls --json` and the metrics page show the last one. Natively it
/// goes nowhere.
pub fn metric(id: u32, value: i64) {
    #[cfg(target_arch = "wasm32")]
    // SAFETY: the host checks the id.
    unsafe {
        import::metric(id, value)
    }
    #[cfg(not(target_arch = "wasm32"))]
    let _ = (id, value);
}

/// Writes a line to the server's log, cut off after 512 bytes; natively to standard error. The host lets a few lines a second
/// pass and counts the rest. [`info!`](crate::info), [`warn!`](crate::warn) and [`debug!`](crate::debug) are shorter.
pub fn log(level: Level, text: fmt::Arguments) {
    let mut line = Line::new();
    let _ = line.write_fmt(text); // what fails in it is a value's own formatting
    log_line(level, &line);
}

pub(crate) fn log_line(level: Level, line: &Line) {
    #[cfg(target_arch = "wasm32")]
    // SAFETY: the host reads the line before it returns.
    unsafe {
        import::log(level as i32, line.bytes().as_ptr(), line.bytes().len())
    }
    #[cfg(not(target_arch = "wasm32"))]
    std::eprintln!("{:?}: {}", level, line);
}

/// Writes a line to the server's log, at the level info, as `format!` would. It does not allocate.
///
/// ```
/// sluice_policy::info!("the cap is {} of {}", 3, 8);
/// ```
#[macro_export]
macro_rules! info {
    ($($arg:tt)*) => { $crate::log($crate::Level::Info, ::core::format_args!($($arg)*)) };
}

/// Like [`info!`](crate::info), at the level warn.
#[macro_export]
macro_rules! warn {
    ($($arg:tt)*) => { $crate::log($crate::Level::Warn, ::core::format_args!($($arg)*)) };
}

/// Like [`info!`](crate::info), at the level debug.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)*) => { $crate::log($crate::Level::Debug, ::core::format_args!($($arg)*)) };
}
