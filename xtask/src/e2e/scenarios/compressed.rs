//! Compressed: bodies put together from pieces are gzip to programs that know nothing of us.
//!
//! Invariant: each body is read by GNU gzip and by Python's zlib, checksum and length included, and says what the plain
//! one says; Go reads them in the scenario `prometheus`.

use std::io::{BufWriter, Write};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use ksm_core::store::{FINAL, GZIP_HEADER, Packed, crc32_combine, gzip_trailer};

use crate::e2e::world::World;
use crate::exposition::Format;
use crate::flags::Flags;
use crate::table::count;

/// Reads all of a member and fails on whatever is wrong with it; prints the length modulo 2⁶⁴.
const PYTHON: &str = "
import gzip, sys
length = 0
with gzip.open(sys.stdin.buffer) as member:
    while chunk := member.read(1 << 20):
        length += len(chunk)
print(length)
";

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let flags = Flags::EVERYTHING;
    let mut figures = Vec::new();
    let exporter = {
        let mut arguments = flags.arguments(&crate::e2e::objects::RESOURCES);
        arguments.push("--enable-gzip-encoding".to_owned());
        world.start_ours("compressed", "ksm-shard", &arguments)?
    };
    for (what, path) in
        [("nothing", "/metrics?resources="), ("tiny", "/metrics?resources=namespaces"), ("all", "/metrics")]
    {
        for format in Format::ALL {
            let plain = exporter.metrics.get_bytes(path, &[("Accept", format.accept())])?;
            let packed =
                exporter.metrics.get_bytes(path, &[("Accept", format.accept()), ("Accept-Encoding", "gzip")])?;
            ensure!(
                packed.encoding == "gzip" && plain.encoding.is_empty(),
                "{what}, {format}: not compressed on request"
            );
            ensure!(gzip(&packed.body)? == plain.body, "{what}, {format}: GNU gzip reads another text");
            ensure!(
                python(&[&packed.body])? == plain.body.len() as u64,
                "{what}, {format}: Python reads another length"
            );
            if what == "all" {
                let (plain, packed) = (count(plain.body.len() as u64), count(packed.body.len() as u64));
                figures.push(format!("{format}: {plain} bytes in {packed}"));
            }
        }
    }
    drop(exporter);
    figures.push(past_four_gibibytes()?);
    Ok(figures.join("; "))
}

/// A member whose length does not fit in its trailer.
fn past_four_gibibytes() -> Result<String> {
    let text: Vec<u8> =
        (0..16_384_u32).flat_map(|line| format!("sample{{line=\"{line:08}\"}} 1\n").into_bytes()).collect();
    let packed = Packed::of([text.as_slice()]);
    let piece = packed.piece(0);
    let times = (1_u64 << 32) / piece.length + 1;
    let crc = (1..times).fold(piece.crc, |crc, _| crc32_combine(crc, piece.crc, piece.length));
    let length = times * piece.length;
    let mut parts: Vec<&[u8]> = vec![&GZIP_HEADER];
    parts.extend((0..times).map(|_| piece.data));
    let trailer = gzip_trailer(crc, length);
    parts.extend([FINAL.as_slice(), trailer.as_slice()]);
    let read = thread::scope(|scope| {
        let tested = scope.spawn(|| feed(Command::new("gzip").arg("-t"), &parts));
        let read = python(&parts)?;
        tested.join().expect("feeding does not panic").context("GNU gzip and a member of more than 4 GiB")?;
        anyhow::Ok(read)
    })?;
    ensure!(read == length, "Python reads {read} bytes of a member of {length}");
    Ok(format!("a member of {} bytes understood", count(length)))
}

fn gzip(body: &[u8]) -> Result<Vec<u8>> {
    feed(Command::new("gzip").arg("-dc"), &[body])
}

fn python(parts: &[&[u8]]) -> Result<u64> {
    let printed = feed(Command::new("python3").args(["-c", PYTHON]), parts)?;
    let printed = String::from_utf8_lossy(&printed).trim().to_owned();
    printed.parse().with_context(|| format!("python3 printed `{printed}`: want a number"))
}

/// What a program prints that reads `parts` in a row.
fn feed(command: &mut Command, parts: &[&[u8]]) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot run `{name}`: install the package of that name"))?;
    let mut input = BufWriter::new(child.stdin.take().context("its input is piped")?);
    let output = thread::scope(|scope| {
        let fed =
            scope.spawn(move || parts.iter().try_for_each(|part| input.write_all(part)).and_then(|()| input.flush()));
        let output = child.wait_with_output().with_context(|| format!("cannot read from `{name}`"))?;
        // A program that has seen enough closes its input; what it says then counts.
        let _ = fed.join();
        anyhow::Ok(output)
    })?;
    if !output.status.success() {
        bail!("{name} refuses the body: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}
