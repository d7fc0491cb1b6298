//! Who pushes: what `docker login` or `podman login` wrote.
//!
//! Invariant: nothing is asked of the user, and no password is in a message.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::secrets::RegistryAuth;

/// The user for a registry, in the first file that is there: the one that `$REGISTRY_AUTH_FILE` names, Docker's and Podman's.
pub fn find(registry: &str) -> Result<RegistryAuth> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = variable("REGISTRY_AUTH_FILE") {
        return find_in(registry, &named).context("REGISTRY_AUTH_FILE");
    }
    match files(variable).into_iter().find(|path| path.is_file()) {
        Some(path) => find_in(registry, &path),
        None => Ok(RegistryAuth::Anonymous),
    }
}

/// Where logins are kept.
fn files(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let docker = variable("DOCKER_CONFIG").or_else(|| Some(variable("HOME")?.join(".docker")));
    let podman = variable("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json"));
    docker.map(|folder| folder.join("config.json")).into_iter().chain(podman).collect()
}

fn find_in(registry: &str, path: &Path) -> Result<RegistryAuth> {
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
        let of = |known: &[(&str, &str)]| {
            files(|name| known.iter().find(|(variable, _)| *variable == name).map(|(_, value)| PathBuf::from(value)))
        };
        let home = [("HOME", "h"), ("XDG_RUNTIME_DIR", "r")];
        assert_eq!(of(&home), [Path::new("h/.docker/config.json"), Path::new("r/containers/auth.json")]);
        assert_eq!(of(&[("HOME", "h"), ("DOCKER_CONFIG", "d")]), [Path::new("d/config.json")]);
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
