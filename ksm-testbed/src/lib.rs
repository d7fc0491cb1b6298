//! A simulated Kubernetes API server.
