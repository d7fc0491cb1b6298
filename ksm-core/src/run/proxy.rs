//! The proxy on the way to the API server, as Go's clients choose it.
//!
//! `proxy-url` of a kubeconfig is taken as it is; otherwise `HTTPS_PROXY` or `HTTP_PROXY`, by the scheme of the API
//! server's URL, but for what `NO_PROXY` names and the loopback
//! (<https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config>). The HTTP client that `kube` brings compares `NO_PROXY`
//! with the proxy's own name, so it is not asked.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::{BoxError, Service};

/// Opens connections to the API server, through a proxy if there is to be one. All ways give a plain TCP stream, so
/// that the client on top of them is compiled once.
#[derive(Clone)]
pub(super) enum Connector {
    Direct(HttpConnector),
    Tunnel(Tunnel<HttpConnector>),
    Socks(SocksV5<HttpConnector>),
}

impl Connector {
    /// How to reach `url`, with the proxy that was named for it or the one of the environment.
    ///
    /// # Errors
    /// There is to be a proxy that cannot be used; one line, which does not quote its password.
    pub(super) fn to(
        url: &Uri,
        named: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        let proxy = match named.filter(|named| !named.is_empty()) {
            Some(named) => Some(named.to_owned()),
            None => from_environment(url, variable),
        };
        let Some(proxy) = proxy else { return Ok(Self::Direct(connector)) };
        let Proxy { socks, url, credentials } = Proxy::parse(&proxy)?;
        if socks {
            let socks = SocksV5::new(url, connector);
            return Ok(Self::Socks(match credentials {
                Some((user, password)) => socks.with_auth(user, password),
                None => socks,
            }));
        }
        let tunnel = Tunnel::new(url, connector);
        Ok(Self::Tunnel(match credentials {
            Some((user, password)) => {
                let value = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
                tunnel.with_auth(HeaderValue::from_str(&value).expect("base64 is plain ASCII"))
            }
            None => tunnel,
        }))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Self::Direct(connector) => connector.poll_ready(context).map_err(BoxError::from),
            Self::Tunnel(connector) => connector.poll_ready(context).map_err(BoxError::from),
            Self::Socks(connector) => connector.poll_ready(context).map_err(BoxError::from),
        }
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        match self {
            Self::Direct(connector) => boxed(connector.call(url)),
            Self::Tunnel(connector) => boxed(connector.call(with_port(url))),
            Self::Socks(connector) => boxed(connector.call(with_port(url))),
        }
    }
}

fn boxed<T, E: Into<BoxError>>(
    connecting: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>> {
    Box::pin(async move { connecting.await.map_err(Into::into) })
}

/// The URL with the port that its scheme implies: proxies are told a port, and guess 443.
fn with_port(url: Uri) -> Uri {
    let (Some(host), None) = (url.host(), url.port()) else { return url };
    let port = if url.scheme_str() == Some("http") { 80 } else { 443 };
    let scheme = url.scheme_str().unwrap_or("https");
    format!("{scheme}://{host}:{port}/").parse().unwrap_or(url)
}

/// A proxy that can be used.
#[derive(Debug, PartialEq, Eq)]
struct Proxy {
    socks: bool,
    /// Without user and password.
    url: Uri,
    credentials: Option<(String, String)>,
}

impl Proxy {
    /// # Errors
    /// It cannot be used.
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        let socks = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "socks5" | "socks5h" => true,
            scheme => return Err(format!("proxy {address}: {scheme} is not supported, expected http or socks5")),
        };
        let unusable = |_| format!("proxy {address}: no host and port");
        let mut url: Uri = format!("http://{address}/").parse().map_err(unusable)?;
        if url.host().is_none_or(str::is_empty) {
            return Err(format!("proxy {address}: no host and port"));
        }
        if socks && url.port().is_none() {
            url = format!("http://{address}:1080/").parse().map_err(unusable)?;
        }
        let credentials = user.map(|user| {
            let (user, password) = user.split_once(':').unwrap_or((user, ""));
            (unescape(user), unescape(password))
        });
        Ok(Self { socks, url, credentials })
    }
}

/// What `%xx` stands for in the user information of a URL.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digit = |at: usize| char::from(*tail.get(at)?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(high << 4 | low);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The proxy that the environment names for a URL.
fn from_environment(url: &Uri, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let either = |upper: &str, lower: &str| {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        given(upper).or_else(|| given(lower))
    };
    let proxy = match url.scheme_str() {
        Some("http") => either("HTTP_PROXY", "http_proxy"),
        _ => either("HTTPS_PROXY", "https_proxy"),
    }?;
    let exceptions = either("NO_PROXY", "no_proxy").unwrap_or_default();
    (!is_exempt(url, &exceptions)).then_some(proxy)
}

/// Whether a URL is on the loopback or one of the exceptions: addresses, networks, and names, which stand for what is
/// below them too, each with or without a port.
fn is_exempt(url: &Uri, exceptions: &str) -> bool {
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches([']', '.']).to_lowercase();
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("http") { 80 } else { 443 });
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    exceptions.split(',').map(|exception| exception.trim().to_lowercase()).any(|exception| {
        if exception == "*" {
            return true;
        }
        if let (Some((network, bits)), Some(address)) = (exception.split_once('/'), address) {
            return network.parse().is_ok_and(|network| bits.parse().is_ok_and(|bits| holds(network, bits, address)));
        }
        let (name, wanted) = split_port(&exception);
        if wanted.is_some_and(|wanted| wanted != port) || name.is_empty() {
            return false;
        }
        if let Some(address) = address {
            return name.parse() == Ok(address);
        }
        let name = name.strip_prefix('*').unwrap_or(name);
        match name.strip_prefix('.') {
            Some(_) => host.ends_with(name),
            None => host == name || host.strip_suffix(name).is_some_and(|below| below.ends_with('.')),
        }
    })
}

/// A host and its port, if it has one; brackets around an IPv6 address are taken off.
fn split_port(text: &str) -> (&str, Option<u16>) {
    if text.parse::<IpAddr>().is_ok() {
        return (text, None);
    }
    let (host, port) = match text.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) => (host, Some(port)),
        _ => (text, None),
    };
    (host.trim_start_matches('[').trim_end_matches(']'), port)
}

/// Whether an address is in a network of that many leading bits.
fn holds(network: IpAddr, bits: u32, address: IpAddr) -> bool {
    let equal = |difference: u128, width: u32| bits <= width && difference.checked_shr(width - bits).unwrap_or(0) == 0;
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => equal(u128::from(network.to_bits() ^ address.to_bits()), 32),
        (IpAddr::V6(network), IpAddr::V6(address)) => equal(network.to_bits() ^ address.to_bits(), 128),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        from_environment(&url.parse().unwrap(), variable)
    }

    #[test]
    fn the_environment_names_a_proxy_by_scheme() {
        let both = [("HTTPS_PROXY", "s"), ("HTTP_PROXY", "p")];
        assert_eq!(chosen("https://api.example:6443", &both).as_deref(), Some("s"));
        assert_eq!(chosen("http://api.example:8080", &both).as_deref(), Some("p"));
        assert_eq!(chosen("https://api.example", &[("https_proxy", "l"), ("HTTPS_PROXY", "")]).as_deref(), Some("l"));
        assert_eq!(chosen("https://api.example", &[("HTTP_PROXY", "p")]), None);
        for url in ["https://localhost:6443", "https://127.0.0.1:6443", "https://[::1]:6443"] {
            assert_eq!(chosen(url, &both), None, "{url}");
        }
    }

    #[test]
    fn exceptions_are_addresses_networks_and_names() {
        let exempt = |url: &str, exceptions: &str| is_exempt(&url.parse().unwrap(), exceptions);
        for (url, exceptions) in [
            ("https://10.96.0.1", "10.96.0.1"),
            ("https://10.96.0.1:443", "x, 10.0.0.0/8,"),
            ("https://[fd00::1]", "fd00::/8"),
            ("https://[fd00::1]:6443", "[fd00::1]:6443"),
            ("https://10.96.0.1", "0.0.0.0/0"),
            ("https://api.example:6443", "example"),
            ("https://api.example:6443", ".example"),
            ("https://api.example:6443", "*.EXAMPLE"),
            ("https://api.example:6443", "api.example:6443"),
            ("https://api.example", "api.example:443"),
            ("https://kubernetes.default.svc", ".svc,,"),
            ("https://whatever", "*"),
        ] {
            assert!(exempt(url, exceptions), "{url} {exceptions}");
        }
        for (url, exceptions) in [
            ("https://api.example:6443", ""),
            ("https://api.example:6443", "api.example:443"),
            ("https://api.example", "pi.example"),
            ("https://example", ".example"),
            ("https://10.96.0.1", "10.96.0.10,10.97.0.0/16,fd00::/8,10.0.0.0/33"),
            ("https://10.96.0.1:6443", "10.96.0.1:443"),
            // The proxy's own name is no exception for what is behind it.
            ("https://api.example:6443", "proxy.example"),
        ] {
            assert!(!exempt(url, exceptions), "{url} {exceptions}");
        }
    }

    #[test]
    fn proxies_are_http_or_socks_and_passwords_are_not_quoted() {
        let parsed =
            |text: &str| Proxy::parse(text).map(|proxy| (proxy.socks, proxy.url.to_string(), proxy.credentials));
        let plain = |url: &str| Ok((false, url.to_owned(), None));
        assert_eq!(parsed("http://proxy:3128"), plain("http://proxy:3128/"));
        assert_eq!(parsed("proxy:3128"), plain("http://proxy:3128/"));
        assert_eq!(parsed("socks5://proxy"), Ok((true, "http://proxy:1080/".to_owned(), None)));
        let credentials = Some(("u".to_owned(), "p@:".to_owned()));
        assert_eq!(parsed("http://u:p%40%3a@proxy:1/x"), Ok((false, "http://proxy:1/".to_owned(), credentials)));
        for bad in ["https://u:secret@proxy", "http://u:secret@", "ftp://u:secret@proxy", "http://u:secret@a b"] {
            let error = Proxy::parse(bad).unwrap_err();
            assert!(error.starts_with("proxy ") && !error.contains("secret"), "{error}");
        }
        assert_eq!(with_port("http://h/x".parse().unwrap()), "http://h:80/");
        assert_eq!(with_port("https://h:1/x".parse().unwrap()), "https://h:1/x");
    }
}
