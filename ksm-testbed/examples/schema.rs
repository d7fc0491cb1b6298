//! Rebuilds `ksm-testbed/schema/kubernetes.binpb` from the published Kubernetes API modules:
//! `cargo run -p ksm-testbed --features schema --example schema` (Go must be installed, it fetches the modules).
//!
//! The result is a `FileDescriptorSet` without comments and services in which `json_name` is what Kubernetes writes in
//! JSON. An empty `json_name` marks a message whose fields are written in its parent (an embedded Go struct). Neither is
//! in the `.proto` files, so both are read from the struct tags of the Go sources beside them.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use prost::Message;
use protox::{
    Compiler,
    file::{File, FileResolver},
};

const VERSION: &str = "v0.37.2";
const MODULES: [&str; 3] = ["k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver"];
const PACKAGES: &[&str] = &[
    "k8s.io/api/admissionregistration/v1",
    "k8s.io/api/apps/v1",
    "k8s.io/api/authentication/v1",
    "k8s.io/api/authorization/v1",
    "k8s.io/api/autoscaling/v1",
    "k8s.io/api/autoscaling/v2",
    "k8s.io/api/batch/v1",
    "k8s.io/api/certificates/v1",
    "k8s.io/api/coordination/v1",
    "k8s.io/api/core/v1",
    "k8s.io/api/discovery/v1",
    "k8s.io/api/events/v1",
    "k8s.io/api/networking/v1",
    "k8s.io/api/node/v1",
    "k8s.io/api/policy/v1",
    "k8s.io/api/rbac/v1",
    "k8s.io/api/resource/v1",
    "k8s.io/api/scheduling/v1",
    "k8s.io/api/storage/v1",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "k8s.io/apimachinery/pkg/apis/meta/v1",
    "k8s.io/apimachinery/pkg/runtime",
];

fn main() -> Result<()> {
    let modules = Modules::fetch()?;
    let mut compiler = Compiler::with_file_resolver(modules.clone());
    compiler.include_source_info(false).include_imports(true);
    for package in PACKAGES {
        compiler.open_file(format!("{package}/generated.proto"))?;
    }
    let mut set = compiler.file_descriptor_set();
    let (mut fields, mut inlined) = (0, 0);
    for file in &mut set.file {
        let package = Path::new(file.name()).parent().context("a proto file without folder")?.to_path_buf();
        let tags = go_tags(&modules.directory(&package).with_context(|| format!("module of {}", package.display()))?)?;
        for message in &mut file.message_type {
            let name = message.name().to_owned();
            for field in &mut message.field {
                let json = tags.get(&(name.clone(), field.number())).cloned();
                inlined += usize::from(json.as_deref() == Some(""));
                field.json_name = Some(json.unwrap_or_else(|| field.name().to_owned()));
                fields += 1;
            }
        }
    }
    ensure!(inlined > 10, "only {inlined} embedded structs found: the form of the struct tags must have changed");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/kubernetes.binpb");
    let bytes = set.encode_to_vec();
    fs::write(&path, &bytes).with_context(|| format!("write {}", path.display()))?;
    println!("{} files, {fields} fields, {inlined} embedded, {} bytes", set.file.len(), bytes.len());
    Ok(())
}

/// Folders of the unpacked modules, by import path.
#[derive(Clone)]
struct Modules(BTreeMap<&'static str, PathBuf>);

impl Modules {
    fn fetch() -> Result<Self> {
        let mut folders = BTreeMap::new();
        for module in MODULES {
            let output = Command::new("go")
                .args(["mod", "download", "-json", &format!("{module}@{VERSION}")])
                .current_dir(std::env::temp_dir())
                .output()
                .context("run go")?;
            let answer: serde_json::Value =
                serde_json::from_slice(&output.stdout).context("answer of go mod download")?;
            let Some(folder) = answer["Dir"].as_str() else { bail!("go mod download {module}: {}", answer["Error"]) };
            folders.insert(module, PathBuf::from(folder));
        }
        Ok(Self(folders))
    }

    fn directory(&self, package: &Path) -> Option<PathBuf> {
        self.0.iter().find_map(|(module, folder)| Some(folder.join(package.strip_prefix(module).ok()?)))
    }
}

impl FileResolver for Modules {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let path = self.directory(Path::new(name)).ok_or_else(|| protox::Error::file_not_found(name))?;
        File::open(name, &path)
    }
}

/// JSON names of a Go package's struct fields, by struct and protobuf field number.
fn go_tags(folder: &Path) -> Result<HashMap<(String, i32), String>> {
    let mut tags = HashMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !file.ends_with(".go") || file.ends_with("_test.go") || file.contains("generated") {
            continue;
        }
        let mut structure = String::new();
        for line in fs::read_to_string(&path)?.lines() {
            if let Some(name) = line.strip_prefix("type ").and_then(|rest| rest.split_once(" struct")) {
                structure = name.0.to_owned();
            }
            let (Some(protobuf), Some(json)) = (tag(line, "protobuf"), tag(line, "json")) else { continue };
            let Some(number) = protobuf.split(',').find_map(|part| part.parse().ok()) else { continue };
            let name = json.split(',').next().unwrap_or_default();
            if name != "-" {
                tags.insert((structure.clone(), number), name.to_owned());
            }
        }
    }
    Ok(tags)
}

/// The value of one key in a Go struct tag.
fn tag<'line>(line: &'line str, key: &str) -> Option<&'line str> {
    let rest = line.split_once(&format!("{key}:\""))?.1;
    Some(rest.split_once('"')?.0)
}
