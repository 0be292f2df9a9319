use crate::host::log_line;
use crate::{Level, Line};
use core::fmt::{Display, Write};

/// Says why on one line, before the module traps: the host takes the instance for dead and answers in its place.
fn say(info: &dyn Display) {
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
}

#[cfg(not(feature = "std"))]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    say(info);
    core::arch::wasm32::unreachable()
}

/// Has std's own handler say it.
#[cfg(feature = "std")]
pub(crate) fn hook() {
    std::panic::set_hook(std::boxed::Box::new(|info| say(info)));
}
