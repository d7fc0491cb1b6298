//! Compressed: bodies put together from pieces are gzip to programs that know nothing of us.
//!
//! Invariant: each body is read by GNU gzip, by Python's zlib and by Go, checksum and length included, and says what the
//! plain one says.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use ksm_core::store::{FINAL, GZIP_HEADER, Packed, crc32_combine, gzip_trailer};

use crate::e2e::world::World;
use crate::exposition::Format;
use crate::flags::Flags;
use crate::table::count;

/// Reads all of a member and fails on whatever is wrong with it; prints the text, or with `length` how long it is.
const PYTHON: &str = "
import gzip, sys
length = 0
with gzip.open(sys.stdin.buffer) as member:
    while chunk := member.read(1 << 20):
        length += len(chunk)
        if sys.argv[1] == 'text':
            sys.stdout.buffer.write(chunk)
if sys.argv[1] == 'length':
    print(length)
";

/// The same.
const GO: &str = r#"package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
)

func main() {
	member, err := gzip.NewReader(bufio.NewReader(os.Stdin))
	if err == nil && os.Args[1] == "text" {
		_, err = io.Copy(os.Stdout, member)
	} else if err == nil {
		var length int64
		length, err = io.Copy(io.Discard, member)
		fmt.Println(length)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
"#;

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let go = build_go(&world.scratch.folder("gzip-reader")?)?;
    let readers = || [Command::new("python3"), Command::new(&go)];
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
            for mut reader in readers() {
                let read = feed(asked(&mut reader, "text"), &[&packed.body])?;
                ensure!(read == plain.body, "{what}, {format}: {reader:?} reads another text");
            }
            if what == "all" {
                let (plain, packed) = (count(plain.body.len() as u64), count(packed.body.len() as u64));
                figures.push(format!("{format}: {plain} bytes in {packed}"));
            }
        }
    }
    drop(exporter);
    figures.push(past_four_gibibytes(readers())?);
    Ok(figures.join("; "))
}

/// A member whose length does not fit in its trailer.
fn past_four_gibibytes(readers: [Command; 2]) -> Result<String> {
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
    thread::scope(|scope| {
        let tested = scope.spawn(|| feed(Command::new("gzip").arg("-t"), &parts));
        for mut reader in readers {
            let printed = feed(asked(&mut reader, "length"), &parts)?;
            let printed = String::from_utf8_lossy(&printed).trim().to_owned();
            ensure!(printed == length.to_string(), "{reader:?} reads {printed} bytes of a member of {length}");
        }
        tested.join().expect("feeding does not panic").context("GNU gzip and a member of more than 4 GiB")
    })?;
    Ok(format!("a member of {} bytes understood", count(length)))
}

fn gzip(body: &[u8]) -> Result<Vec<u8>> {
    feed(Command::new("gzip").arg("-dc"), &[body])
}

/// A reader that is to print `what`: Python with its program, or the one in Go.
fn asked<'a>(reader: &'a mut Command, what: &str) -> &'a mut Command {
    if reader.get_program() == "python3" {
        reader.args(["-c", PYTHON]);
    }
    reader.arg(what)
}

/// Builds the reader in Go, which needs no module.
fn build_go(folder: &Path) -> Result<PathBuf> {
    let (source, program) = (folder.join("main.go"), folder.join("reader"));
    fs::write(&source, GO).with_context(|| format!("cannot write {}", source.display()))?;
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(&program).arg(&source).current_dir(folder);
    let built = command.output().context("cannot run `go`: install Go 1.26 or later from https://go.dev/dl/")?;
    ensure!(built.status.success(), "go build: {}", String::from_utf8_lossy(&built.stderr).trim());
    Ok(program)
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
