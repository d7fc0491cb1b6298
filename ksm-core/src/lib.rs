//! Core of kube-state-metrics, sharded: generators, metric store, list/watch and server.
