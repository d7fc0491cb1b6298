//! The one layer of an image: the binary and certificate authorities, from scratch.
//!
//! Invariant: pure, and no clock, user or order of a file system gets in: every entry is of user 0 and of the year 1970.

use anyhow::{Context, Result};
use tar::{Builder, EntryType, Header};

/// Where a binary finds certificate authorities, for API servers with certificates of public ones.
const ROOTS: &str = "etc/ssl/certs/ca-certificates.crt";

/// The files of an image, as a tar archive.
pub fn layer(name: &str, binary: &[u8], roots: &[u8]) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for folder in ["etc/", "etc/ssl/", "etc/ssl/certs/"] {
        append(&mut archive, folder, EntryType::Directory, 0o755, &[])?;
    }
    append(&mut archive, ROOTS, EntryType::Regular, 0o644, roots)?;
    append(&mut archive, name, EntryType::Regular, 0o755, binary)?;
    archive.into_inner().context("cannot finish an archive")
}

/// Files by path, as a tar archive.
pub fn archive<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for (path, content) in files {
        append(&mut archive, path, EntryType::Regular, 0o644, content)?;
    }
    archive.into_inner().context("cannot finish an archive")
}

fn append(archive: &mut Builder<Vec<u8>>, path: &str, kind: EntryType, mode: u32, content: &[u8]) -> Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, path, content).with_context(|| format!("cannot put {path} into an archive"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_reader_sees_the_files_and_nothing_of_this_machine() {
        let bytes = layer("ksm-x", b"binary", b"roots").unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 0));
            format!("{:o} {} {}", header.mode().unwrap(), header.size().unwrap(), entry.path().unwrap().display())
        });
        assert_eq!(
            entries.collect::<Vec<_>>(),
            [
                "755 0 etc/",
                "755 0 etc/ssl/",
                "755 0 etc/ssl/certs/",
                "644 5 etc/ssl/certs/ca-certificates.crt",
                "755 6 ksm-x"
            ]
        );
    }
}
