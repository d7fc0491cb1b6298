//! An image for one platform: a layer, its configuration and its manifest.
//!
//! Invariant: pure; formats are those of <https://github.com/opencontainers/image-spec> 1.1, and keys are sorted, so that
//! equal images have equal bytes.

use std::collections::HashMap;
use std::io::Write as _;

use anyhow::{Context, Result, ensure};
use flate2::{Compression, GzBuilder};
use oci_spec::image::{
    ConfigBuilder, Descriptor, HistoryBuilder, ImageConfigurationBuilder, ImageManifestBuilder, MediaType, Os,
    PlatformBuilder, RootFsBuilder, SCHEMA_VERSION, Sha256Digest,
};
use serde::Serialize;

use crate::platform::Platform;
use crate::sources::Stamp;

/// What it is.
const DESCRIPTION: &str = "Kubernetes cluster state as Prometheus metrics, sharded";

/// Nobody, as in the manifests of `deploy/`.
const USER: &str = "65534:65534";

/// The most bytes of an image, as registries keep it and a pull takes it.
const BUDGET: usize = 10 << 20;

/// What an image says of itself.
pub struct About<'a> {
    /// The binary, and the entry point.
    pub name: &'a str,
    /// The sources.
    pub stamp: &'a Stamp,
    /// What it runs on.
    pub platform: Platform,
}

/// Bytes of a kind.
#[derive(Clone)]
pub struct Blob {
    /// Kind, digest and size.
    pub descriptor: Descriptor,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Bytes of that kind.
    pub fn new(media_type: MediaType, bytes: Vec<u8>) -> Result<Self> {
        Ok(Self { descriptor: Descriptor::new(media_type, bytes.len() as u64, digest(&bytes)?), bytes })
    }

    /// The same of something that is written as JSON.
    pub fn json(media_type: MediaType, value: &impl Serialize) -> Result<Self> {
        // Labels are in hash maps, which have no order: two builds must not differ in it.
        let mut value = serde_json::to_value(value)?;
        value.sort_all_objects();
        Self::new(media_type, serde_json::to_vec(&value)?)
    }

    /// The empty configuration of what is no image.
    pub fn empty() -> Result<Self> {
        Self::new(MediaType::EmptyJSON, b"{}".to_vec())
    }

    /// Its digest, as `sha256:…`.
    pub fn digest(&self) -> &str {
        self.descriptor.digest().as_ref()
    }

    /// The digits of it alone.
    pub fn hexadecimal(&self) -> &str {
        self.descriptor.digest().digest()
    }
}

/// A finished image.
pub struct Image {
    /// What it runs on.
    pub platform: Platform,
    /// The layer, unpacked.
    pub layer: Blob,
    /// The layer, packed.
    pub packed: Blob,
    /// The configuration.
    pub config: Blob,
    /// The manifest, which names the others; its descriptor names the platform.
    pub manifest: Blob,
}

impl Image {
    /// Wraps a layer, given as a tar archive.
    ///
    /// # Errors
    /// It is larger than an image of ours may be.
    pub fn new(about: &About<'_>, layer: &[u8]) -> Result<Self> {
        let created = about.stamp.date.as_str();
        let labels: HashMap<String, String> = [
            ("title", about.name),
            ("description", DESCRIPTION),
            ("licenses", "Apache-2.0"),
            ("version", about.stamp.version),
            ("revision", &about.stamp.revision),
            ("created", created),
        ]
        .map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()))
        .into();
        let layer = Blob::new(MediaType::ImageLayer, layer.to_vec())?;
        let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        encoder.write_all(&layer.bytes).context("cannot compress the layer")?;
        let packed = Blob::new(MediaType::ImageLayerGzip, encoder.finish().context("cannot compress the layer")?)?;
        let run = ConfigBuilder::default()
            .user(USER)
            .entrypoint([format!("/{}", about.name)])
            .working_dir("/")
            .exposed_ports(["8080/tcp", "8081/tcp"].map(str::to_owned))
            .labels(labels.clone())
            .build()?;
        let history = HistoryBuilder::default().created(created).created_by("cargo xtask build-images").build()?;
        let config = ImageConfigurationBuilder::default()
            .created(created)
            .architecture(about.platform.arch())
            .os(Os::Linux)
            .config(run)
            .rootfs(RootFsBuilder::default().typ("layers").diff_ids([layer.digest().to_owned()]).build()?)
            .history([history])
            .build()?;
        let config = Blob::json(MediaType::ImageConfig, &config)?;
        let manifest = ImageManifestBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageManifest)
            .config(config.descriptor.clone())
            .layers([packed.descriptor.clone()])
            .annotations(labels)
            .build()?;
        let mut manifest = Blob::json(MediaType::ImageManifest, &manifest)?;
        let platform = PlatformBuilder::default().architecture(about.platform.arch()).os(Os::Linux).build()?;
        manifest.descriptor.set_platform(Some(platform));
        let image = Self { platform: about.platform, layer, packed, config, manifest };
        check_size(about.name, image.packed_bytes())?;
        Ok(image)
    }

    /// Bytes that a pull takes.
    pub fn packed_bytes(&self) -> usize {
        [&self.packed, &self.config, &self.manifest].iter().map(|blob| blob.bytes.len()).sum()
    }
}

/// A file size for people, in MiB.
pub fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn check_size(name: &str, bytes: usize) -> Result<()> {
    ensure!(
        bytes <= BUDGET,
        "the image of {name} has {:.1} MiB packed, and the most is {:.0} MiB: `cargo tree --package {name} --edges normal` shows what \
         it links",
        mebibytes(bytes),
        mebibytes(BUDGET)
    );
    Ok(())
}

fn digest(bytes: &[u8]) -> Result<Sha256Digest> {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let digits: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(digits.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_over_the_budget_is_refused() {
        check_size("ksm-x", BUDGET).unwrap();
        let error = check_size("ksm-x", BUDGET + (1 << 19)).unwrap_err().to_string();
        assert!(error.starts_with("the image of ksm-x has 10.5 MiB packed, and the most is 10 MiB"), "{error}");
    }

    #[test]
    fn digests_are_those_of_the_standard() {
        let empty = Blob::empty().unwrap();
        assert_eq!(empty.digest(), "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
        assert_eq!(empty.descriptor.size(), 2);
    }
}
