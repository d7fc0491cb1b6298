//! Who pushes: what `docker login` or `podman login` wrote.
//!
//! Invariant: nothing is asked of the user, and no password is in a message.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::secrets::RegistryAuth;

/// How logins to Docker's hub are kept, and the name by which clients reach it.
const HUB: (&str, &str) = ("https://index.docker.io/v1/", "index.docker.io");

/// The user for a registry: in the file that `$REGISTRY_AUTH_FILE` names, or else in the first one of Docker's and Podman's
/// that knows one.
pub fn find(registry: &str) -> Result<RegistryAuth> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = variable("REGISTRY_AUTH_FILE") {
        return find_in(registry, &named).context("REGISTRY_AUTH_FILE");
    }
    find_first(registry, &files(variable, own_id()))
}

/// The first login in those of the files that are there; without any, what is wrong with the first that cannot be used.
fn find_first(registry: &str, files: &[PathBuf]) -> Result<RegistryAuth> {
    let mut wrong = None;
    for path in files.iter().filter(|path| path.is_file()) {
        match find_in(registry, path) {
            Ok(RegistryAuth::Anonymous) => {}
            Ok(found) => return Ok(found),
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    wrong.map_or(Ok(RegistryAuth::Anonymous), Err)
}

/// The number of this user, where the system says it.
fn own_id() -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    Some(std::fs::metadata("/proc/self").ok()?.uid())
}

/// Where logins are kept: Docker's, then Podman's in the order of containers-auth.json(5).
fn files(variable: impl Fn(&str) -> Option<PathBuf>, id: Option<u32>) -> Vec<PathBuf> {
    let home = |folder: &str| Some(variable("HOME")?.join(folder));
    let docker = variable("DOCKER_CONFIG").or_else(|| home(".docker")).map(|folder| folder.join("config.json"));
    // Root has no runtime folder of its session in many places.
    let run = variable("XDG_RUNTIME_DIR").map(|folder| folder.join("containers"));
    let run = run.or_else(|| Some(PathBuf::from(format!("/run/containers/{}", id?))));
    let lasting = variable("XDG_CONFIG_HOME").or_else(|| home(".config")).map(|folder| folder.join("containers"));
    docker.into_iter().chain([run, lasting].into_iter().flatten().map(|folder| folder.join("auth.json"))).collect()
}

fn find_in(registry: &str, path: &Path) -> Result<RegistryAuth> {
    // Helpers know the hub by the first name, some files by the second alone.
    let names = if registry == HUB.1 { vec![HUB.0, HUB.1] } else { vec![registry] };
    for name in names {
        let found = find_by(name, path)?;
        if found != RegistryAuth::Anonymous {
            return Ok(found);
        }
    }
    Ok(RegistryAuth::Anonymous)
}

fn find_by(registry: &str, path: &Path) -> Result<RegistryAuth> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let found = docker_credential::get_credential_from_reader(file, registry);
    match found {
        Ok(DockerCredential::UsernamePassword(user, password)) => Ok(RegistryAuth::Basic(user, password)),
        Ok(DockerCredential::IdentityToken(_)) => {
            bail!("the login for {registry} is an identity token: log in with a user and an access token instead")
        }
        Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(RegistryAuth::Anonymous),
        // Helpers answer so for a registry that they do not know.
        Err(CredentialRetrievalError::HelperFailure { stdout, .. }) if stdout.contains("credentials not found") => {
            Ok(RegistryAuth::Anonymous)
        }
        Err(CredentialRetrievalError::HelperFailure { helper, stdout, stderr }) => {
            bail!("{helper} has no login for {registry}: {}", [stdout, stderr].join(" ").trim().replace('\n', " "))
        }
        Err(error) => bail!("{}: no login for {registry}: {}", path.display(), error.to_string().to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The user for a registry that such a file has.
    fn find_with(name: &str, text: &str, registry: &str) -> Result<RegistryAuth> {
        let path = std::env::temp_dir().join(format!("ksm-images-login-{name}-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let found = find_in(registry, &path);
        std::fs::remove_file(path).unwrap();
        found
    }

    #[test]
    fn logins_are_those_that_docker_wrote() {
        // `user:pass` in base64.
        let file = r#"{"auths": {"registry.example.com": {"auth": "dXNlcjpwYXNz"}, "localhost:5000": {"auth": "dXNlcjpwYXNz"}}}"#;
        let user = RegistryAuth::Basic("user".to_owned(), "pass".to_owned());
        assert_eq!(find_with("known", file, "registry.example.com").unwrap(), user);
        assert_eq!(find_with("port", file, "localhost:5000").unwrap(), user);
        assert_eq!(find_with("other", file, "other.example.com").unwrap(), RegistryAuth::Anonymous);
    }

    #[test]
    fn logins_are_looked_for_where_docker_and_podman_keep_them() {
        let of = |known: &[(&str, &str)], id| {
            files(
                |name| known.iter().find(|(variable, _)| *variable == name).map(|(_, value)| PathBuf::from(value)),
                id,
            )
        };
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            of(&[("HOME", "h"), ("XDG_RUNTIME_DIR", "r")], Some(7)),
            paths(&["h/.docker/config.json", "r/containers/auth.json", "h/.config/containers/auth.json"])
        );
        assert_eq!(
            of(&[("HOME", "h"), ("DOCKER_CONFIG", "d"), ("XDG_CONFIG_HOME", "c")], Some(0)),
            paths(&["d/config.json", "/run/containers/0/auth.json", "c/containers/auth.json"])
        );
        assert!(of(&[], None).is_empty());
    }

    #[test]
    fn a_file_without_a_login_does_not_hide_one_with_it() {
        let folder = std::env::temp_dir().join(format!("ksm-images-logins-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (empty, broken) = (write("empty", "{}"), write("broken", "{"));
        let known = write("known", r#"{"auths": {"example.com": {"auth": "dXNlcjpwYXNz"}}}"#);
        let user = RegistryAuth::Basic("user".to_owned(), "pass".to_owned());
        let missing = folder.join("missing");
        let first = |files: &[&PathBuf]| {
            find_first("example.com", &files.iter().map(|path| (*path).clone()).collect::<Vec<_>>())
        };
        assert_eq!(first(&[&missing, &empty, &broken, &known]).unwrap(), user);
        assert_eq!(first(&[&missing, &empty]).unwrap(), RegistryAuth::Anonymous);
        assert!(first(&[&empty, &broken]).unwrap_err().to_string().contains("broken"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// <https://docs.docker.com/reference/cli/docker/login/>: a credential store is asked for the address that was logged in to.
    #[test]
    fn the_hub_is_asked_for_by_the_name_that_docker_logs_in_by() {
        for name in ["https://index.docker.io/v1/", "docker.io"] {
            let file = format!(r#"{{"auths": {{"{name}": {{"auth": "dXNlcjpwYXNz"}}}}}}"#);
            let found = find_with("hub", &file, "index.docker.io").unwrap();
            assert_eq!(found, RegistryAuth::Basic("user".to_owned(), "pass".to_owned()), "{name}");
        }
        let file = r#"{"credHelpers": {"https://index.docker.io/v1/": "ksm-no-such-helper"}}"#;
        let error = format!("{:#}", find_with("hub-helper", file, "index.docker.io").unwrap_err());
        assert!(error.contains("helper"), "{error}");
    }

    #[test]
    fn what_cannot_be_used_is_said_in_one_line() {
        let token = r#"{"auths": {"example.com": {"identitytoken": "secret"}}}"#;
        let helper = r#"{"credHelpers": {"example.com": "ksm-no-such-helper"}}"#;
        for (name, text) in [("token", token), ("helper", helper), ("broken", "{")] {
            let error = format!("{:#}", find_with(name, text, "example.com").unwrap_err());
            assert!(error.contains("example.com") && !error.contains('\n') && !error.contains("secret"), "{error}");
        }
        let error = find_in("example.com", "/nowhere/auth.json".as_ref()).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot read /nowhere/auth.json"), "{error:#}");
    }
}
