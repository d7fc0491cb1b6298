//! A tar archive in the POSIX ustar format.
//!
//! Invariant: pure, and no clock, user or order of a file system gets in: every entry is of user 0 and of the year 1970.

use anyhow::{Result, ensure};

const BLOCK: usize = 512;

/// An archive being written.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Adds a folder; its path ends in a slash.
    pub fn folder(&mut self, path: &str) -> Result<()> {
        self.entry(path, 0o755, b'5', &[])
    }

    /// Adds a file with that mode.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<()> {
        self.entry(path, mode, b'0', content)
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 2 * BLOCK, 0);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, kind: u8, content: &[u8]) -> Result<()> {
        ensure!(path.len() < 100, "{path}: a path in an image has less than 100 bytes");
        ensure!(content.len() < 1 << 33, "{path} is too large for an archive");
        let mut header = [0; BLOCK];
        let mut field = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
        field(0, path);
        field(100, &format!("{mode:07o}"));
        field(108, "0000000");
        field(116, "0000000");
        field(124, &format!("{:011o}", content.len()));
        field(136, "00000000000");
        // The checksum counts itself as blanks.
        field(148, "        ");
        field(257, "ustar\x0000");
        header[156] = kind;
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK), 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn tar_reads_it() {
        let mut writer = Writer::default();
        writer.folder("etc/").unwrap();
        writer.file("etc/roots", 0o644, b"abc").unwrap();
        writer.file("program", 0o755, &[7; 513]).unwrap();
        let bytes = writer.finish();
        assert_eq!(bytes.len(), BLOCK * (1 + 2 + 3 + 2));
        let tar = Command::new("tar").args(["--utc", "-tv"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut tar = tar.unwrap();
        tar.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = tar.wait_with_output().unwrap();
        assert!(output.status.success());
        let listing: Vec<String> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            listing,
            [
                "drwxr-xr-x 0/0 0 1970-01-01 00:00 etc/",
                "-rw-r--r-- 0/0 3 1970-01-01 00:00 etc/roots",
                "-rwxr-xr-x 0/0 513 1970-01-01 00:00 program",
            ]
        );
    }
}
