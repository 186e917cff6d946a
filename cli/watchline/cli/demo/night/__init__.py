"""One night in accelerated time: a script of events and pulses, played on the real stack, and what it must come to."""
