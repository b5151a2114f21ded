//! Reads every record of a partition's folder with `krabka-log`; prints how many there are, and the seconds and the
//! processor seconds that it took after opening.

use std::error::Error;
use std::fs;
use std::time::Instant;

use krabka_log::{Log, LogConfig};
use krabka_units::prelude::mebibytes;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: segment-walk FOLDER")?;
    let log = Log::open(folder, LogConfig::default())?;
    let (began, began_cpu_s) = (Instant::now(), cpu_s()?);
    let mut offset = log.log_start_offset();
    let mut records = 0;
    while offset < log.log_end_offset() {
        let read = log.read(offset, mebibytes(8))?;
        let last = read.batches.last().ok_or("the log ends early")?;
        offset.0 = last.base_offset + i64::from(last.last_offset_delta) + 1;
        records += read.batches.iter().map(|batch| batch.records.len()).sum::<usize>();
    }
    println!("{records} {} {}", began.elapsed().as_secs_f64(), cpu_s()? - began_cpu_s);
    Ok(())
}

/// Processor seconds of this thread, as Linux counts them.
fn cpu_s() -> Result<f64, Box<dyn Error>> {
    let counts = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = counts.split(' ').next().ok_or("no processor time")?;
    Ok(nanoseconds.parse::<f64>()? / 1e9)
}
