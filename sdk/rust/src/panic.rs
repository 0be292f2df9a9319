use crate::host::log_line;
use crate::{Level, Line};
use core::fmt::Write;
use core::panic::PanicInfo;

/// Says why on one line and traps: the host takes the instance for dead and answers in its place.
#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let mut said = Line::new();
    let _ = write!(said, "{}", info);
    let text = said.bytes();
    let text = text.strip_prefix(b"panicked at ").unwrap_or(text);
    let mut line = Line::new();
    line.text("panic: ");
    for &c in text {
        line.byte(if c < b' ' { b' ' } else { c });
    }
    log_line(Level::Error, &line);
    core::arch::wasm32::unreachable()
}
