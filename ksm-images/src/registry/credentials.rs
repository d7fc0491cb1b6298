//! Who pushes: what `docker login` or `podman login` wrote.
//!
//! Invariant: nothing is asked of the user, and no password is in a message.

use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::secrets::RegistryAuth;

/// The user for a registry: from the file in `$REGISTRY_AUTH_FILE`, else from Docker's configuration and its helpers.
pub fn find(registry: &str) -> Result<RegistryAuth> {
    find_in(registry, std::env::var_os("REGISTRY_AUTH_FILE").map(PathBuf::from))
}

fn find_in(registry: &str, file: Option<PathBuf>) -> Result<RegistryAuth> {
    let found = match &file {
        None => docker_credential::get_credential(registry),
        Some(path) => {
            let file =
                File::open(path).with_context(|| format!("REGISTRY_AUTH_FILE: cannot read {}", path.display()))?;
            docker_credential::get_credential_from_reader(file, registry)
        }
    };
    match found {
        Ok(DockerCredential::UsernamePassword(user, password)) => Ok(RegistryAuth::Basic(user, password)),
        Ok(DockerCredential::IdentityToken(_)) => {
            bail!("the login for {registry} is an identity token: log in with a user and an access token instead")
        }
        Err(CredentialRetrievalError::NoCredentialConfigured | CredentialRetrievalError::ConfigNotFound) => {
            Ok(RegistryAuth::Anonymous)
        }
        // Helpers answer so for a registry that they do not know.
        Err(CredentialRetrievalError::HelperFailure { stdout, .. }) if stdout.contains("credentials not found") => {
            Ok(RegistryAuth::Anonymous)
        }
        Err(CredentialRetrievalError::HelperFailure { helper, stdout, stderr }) => {
            bail!("{helper} has no login for {registry}: {}", [stdout, stderr].join(" ").trim().replace('\n', " "))
        }
        Err(error) => bail!("cannot read the login for {registry}: {}", error.to_string().to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The user for a registry that such a file has.
    fn find_with(name: &str, text: &str, registry: &str) -> Result<RegistryAuth> {
        let path = std::env::temp_dir().join(format!("ksm-images-login-{name}-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let found = find_in(registry, Some(path.clone()));
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
    fn what_cannot_be_used_is_said_in_one_line() {
        let token = r#"{"auths": {"example.com": {"identitytoken": "secret"}}}"#;
        let helper = r#"{"credHelpers": {"example.com": "ksm-no-such-helper"}}"#;
        for (name, text) in [("token", token), ("helper", helper), ("broken", "{")] {
            let error = format!("{:#}", find_with(name, text, "example.com").unwrap_err());
            assert!(error.contains("example.com") && !error.contains('\n') && !error.contains("secret"), "{error}");
        }
        let error = find_in("example.com", Some("/nowhere/auth.json".into())).unwrap_err();
        assert!(format!("{error:#}").starts_with("REGISTRY_AUTH_FILE: cannot read /nowhere/auth.json"), "{error:#}");
    }
}
