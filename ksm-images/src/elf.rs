//! What a binary needs to run: its machine, and whether a loader.
//!
//! Invariant: pure; offsets are those of the 64-bit little-endian ELF header (see elf(5)), and none is trusted.

use anyhow::{Context, Result, bail, ensure};

/// The program header that names a loader.
const PT_INTERP: u32 = 3;

/// The architecture of a static binary, in the words of image indexes.
///
/// # Errors
/// The binary is none, is for a machine that we have no word for, or needs a loader and shared libraries.
pub fn static_architecture(binary: &[u8]) -> Result<&'static str> {
    ensure!(binary.starts_with(b"\x7fELF\x02\x01"), "is no 64-bit little-endian ELF binary");
    let architecture = match number(binary, 18, 2)? {
        62 => "amd64",
        183 => "arm64",
        other => bail!("is for the ELF machine {other}: want x86-64 or AArch64"),
    };
    let (start, size, count) = (number(binary, 32, 8)?, number(binary, 54, 2)?, number(binary, 56, 2)?);
    for index in 0..count {
        let at = size.checked_mul(index).and_then(|offset| offset.checked_add(start)).context("is broken")?;
        if number(binary, usize::try_from(at)?, 4)? == u64::from(PT_INTERP) {
            bail!("needs a loader and shared libraries, and an image from scratch has none: build it static");
        }
    }
    Ok(architecture)
}

fn number(bytes: &[u8], at: usize, length: usize) -> Result<u64> {
    let field = at.checked_add(length).and_then(|end| bytes.get(at..end)).context("ends too early")?;
    Ok(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with one program header of that type.
    fn binary(machine: u8, header_type: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[18], bytes[32], bytes[54], bytes[56], bytes[64]) = (machine, 64, 56, 1, header_type);
        bytes
    }

    #[test]
    fn static_binaries_are_known_by_their_machine() {
        assert_eq!(static_architecture(&binary(62, 1)).unwrap(), "amd64");
        assert_eq!(static_architecture(&binary(183, 1)).unwrap(), "arm64");
    }

    #[test]
    fn others_are_refused() {
        let refused = |bytes: &[u8]| static_architecture(bytes).unwrap_err().to_string();
        assert!(refused(&binary(62, 3)).contains("build it static"));
        assert!(refused(&binary(40, 1)).contains("ELF machine 40"));
        assert!(refused(b"#!/bin/sh\n").contains("no 64-bit"));
        assert!(refused(&binary(62, 1)[..66]).contains("ends too early"));
    }
}
