//! The images of one binary as files: an OCI image layout, an archive for each platform that `docker load` reads, and what
//! is in each binary.
//!
//! Invariant: a layout is whole or not there: it is written beside the old one, which it then replaces.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use oci_spec::image::{ANNOTATION_REF_NAME, ImageIndexBuilder, MediaType, OciLayoutBuilder, SCHEMA_VERSION};
use serde_json::json;

use crate::image::{Blob, Image, mebibytes};
use crate::layer::archive;
use crate::platform::Platform;

/// How images are named that are in no registry: of this machine, so that no engine ever asks Docker's hub for them.
const LOCAL: &str = "localhost/kube-state-metrics-sharded";

/// The images of one binary.
pub struct Layout {
    /// The binary.
    pub name: &'static str,
    /// Their tag.
    pub tag: String,
    /// One for each platform, with its bill of materials as JSON.
    pub images: Vec<(Image, Vec<u8>)>,
    /// The index of images for several platforms.
    pub index: Option<Blob>,
}

impl Layout {
    /// Joins the images of one binary, one for each platform.
    pub fn new(name: &'static str, tag: &str, images: Vec<(Image, Vec<u8>)>) -> Result<Self> {
        let manifests: Vec<_> = images.iter().map(|(image, _)| image.manifest.descriptor.clone()).collect();
        let index = if manifests.len() > 1 {
            let index = ImageIndexBuilder::default().schema_version(SCHEMA_VERSION).media_type(MediaType::ImageIndex);
            Some(Blob::json(MediaType::ImageIndex, &index.manifests(manifests).build()?)?)
        } else {
            None
        };
        Ok(Self { name, tag: tag.to_owned(), images, index })
    }

    /// What the tag stands for: the image, or the index of several.
    pub fn root(&self) -> &Blob {
        self.index.as_ref().unwrap_or(&self.images[0].0.manifest)
    }

    /// Where [`Self::write`] puts the archive for a platform.
    pub fn archive(&self, out: &Path, platform: Platform) -> PathBuf {
        out.join(format!("{}-{}.docker.tar", self.name, platform.slug()))
    }

    /// The files of an OCI image layout, by path.
    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut root = self.root().descriptor.clone();
        root.set_annotations(Some(HashMap::from([(ANNOTATION_REF_NAME.to_owned(), self.tag.clone())])));
        let entry = ImageIndexBuilder::default().schema_version(SCHEMA_VERSION).media_type(MediaType::ImageIndex);
        let entry = Blob::json(MediaType::ImageIndex, &entry.manifests([root]).build()?)?;
        let header = OciLayoutBuilder::default().image_layout_version("1.0.0").build()?;
        let mut files = BTreeMap::from([
            ("oci-layout".to_owned(), serde_json::to_vec(&header)?),
            ("index.json".to_owned(), entry.bytes),
        ]);
        let blobs = self.images.iter().flat_map(|(image, _)| [&image.packed, &image.config, &image.manifest]);
        for blob in blobs.chain(&self.index) {
            files.insert(format!("blobs/sha256/{}", blob.hexadecimal()), blob.bytes.clone());
        }
        Ok(files)
    }

    /// The archive that `docker load` and `podman load` read.
    fn docker_archive(&self, image: &Image) -> Result<Vec<u8>> {
        let (config, layer) =
            (format!("{}.json", image.config.hexadecimal()), format!("{}.tar", image.layer.hexadecimal()));
        let reference = format!("{LOCAL}/{}:{}", self.name, self.tag);
        let manifest = json!([{"Config": config, "RepoTags": [reference], "Layers": [layer]}]).to_string();
        archive([
            (layer.as_str(), image.layer.bytes.as_slice()),
            (config.as_str(), image.config.bytes.as_slice()),
            ("manifest.json", manifest.as_bytes()),
        ])
    }

    /// Writes all files into `out`, and returns what to tell of them.
    pub fn write(&self, out: &Path) -> Result<String> {
        let folder = out.join(self.name);
        if folder.exists() {
            ensure!(folder.join("oci-layout").is_file(), "{} is there and is no OCI layout", folder.display());
        }
        let unfinished = out.join(format!(".{}.{}", self.name, std::process::id()));
        for (path, bytes) in self.files()? {
            write(&unfinished.join(path), &bytes)?;
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::rename(&unfinished, &folder).with_context(|| format!("cannot rename {}", unfinished.display()))?;
        let mut told =
            format!("{}:{} {}\n    OCI layout {}\n", self.name, self.tag, self.root().digest(), folder.display());
        for (image, bill) in &self.images {
            let archive = self.archive(out, image.platform);
            write(&archive, &self.docker_archive(image)?)?;
            let bill_path = out.join(format!("{}-{}.cdx.json", self.name, image.platform.slug()));
            write(&bill_path, bill)?;
            let _ = writeln!(
                told,
                "    linux/{}: {:.1} MiB packed, {:.1} MiB unpacked\n    docker-archive {}\n    CycloneDX {}",
                image.platform.architecture(),
                mebibytes(image.packed_bytes()),
                mebibytes(image.layer.bytes.len()),
                archive.display(),
                bill_path.display()
            );
        }
        Ok(told)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests;
