//! What clients of each format get, and how families and headers go together.

use super::*;

#[tokio::test]
async fn openmetrics_is_sent_to_who_asks_for_it() {
    let running = Running::start(small(), LIMITS).await;
    let accept = "accept: application/openmetrics-text;version=1.0.0\r\n";
    let reply = running.connect().await.ask("GET", "/metrics?resources=betas", accept).await;
    check(
        &reply,
        OPENMETRICS,
        expect![[r#"
        # HELP demo_beta_state [STABLE] Help.
        # TYPE demo_beta_state stateset
        demo_beta_state{o="b1"} 1
        # HELP demo_beta_size Help.
        # TYPE demo_beta_size gauge
        demo_beta_size{o="b1"} 1
        # EOF
    "#]],
    );
    let reply = running.connect().await.ask("GET", "/metrics?resources=", accept).await;
    check(&reply, OPENMETRICS, expect!["# EOF\n"]);
}

#[tokio::test]
async fn every_client_gets_the_types_and_the_end_of_its_format() {
    // R17, https://github.com/kubernetes/kube-state-metrics/issues/2248
    let running = Running::start(small(), LIMITS).await;
    let openmetrics = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
                    application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5";
    for (accept, content_type, types, ends) in [
        ("accept: text/plain;version=0.0.4\r\n", TEXT, ["gauge", "counter", "gauge", "gauge"], 0),
        (&format!("accept: {openmetrics}\r\n"), OPENMETRICS, ["info", "counter", "stateset", "gauge"], 1),
        (&format!("accept: {protobuf}\r\n"), TEXT, ["gauge", "counter", "gauge", "gauge"], 0),
        ("", TEXT, ["gauge", "counter", "gauge", "gauge"], 0),
    ] {
        let reply = running.connect().await.ask("GET", "/metrics", accept).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, content_type), "{accept}");
        let typed = reply.body.lines().filter(|line| line.starts_with("# TYPE "));
        assert_eq!(typed.filter_map(|line| line.rsplit(' ').next()).collect::<Vec<_>>(), types, "{accept}");
        assert_eq!(reply.body.matches("# EOF\n").count(), ends, "{accept}");
        assert_eq!(reply.body.ends_with("# EOF\n"), ends == 1, "{accept}");
    }
}

#[tokio::test]
async fn a_family_without_samples_in_one_source_takes_nothing_from_the_next() {
    // R18, https://github.com/kubernetes/kube-state-metrics/issues/2866
    let only_second = || {
        let mut store = Store::new(2);
        let mut rendered = Rendered::default();
        rendered.text.extend_from_slice(b"demo_alpha_count_total{o=\"a0\"} 1\n");
        rendered.ends.extend([0, u32::try_from(rendered.text.len()).unwrap()]);
        rendered.samples.extend([0, 1]);
        store.apply(ObjectKey::from_uid("a0"), &rendered);
        store.publish();
        store
    };
    for (stores, samples) in [
        ([only_second(), store(&ALPHAS, [])], ""),
        ([only_second(), store(&ALPHAS, names(&["a1"]))], "demo_alpha_info{o=\"a1\"} 1\n"),
        ([store(&ALPHAS, names(&["a1"])), only_second()], "demo_alpha_info{o=\"a1\"} 1\n"),
    ] {
        let catalogue = vec![served(&ALPHAS, &stores), served(&BETAS, &[store(&BETAS, names(&["b1"]))])];
        let body = Running::start(Catalogue::new(catalogue), LIMITS).await.get("/metrics").await.body;
        let info = format!(
            "# HELP demo_alpha_info [STABLE] Help.\n# TYPE demo_alpha_info gauge\n{samples}# HELP demo_alpha_count"
        );
        assert!(body.starts_with(&info), "{body}");
        assert!(body.contains("demo_alpha_count_total{o=\"a0\"} 1\n"), "{body}");
        assert!(body.contains("# TYPE demo_beta_state gauge\ndemo_beta_state{o=\"b1\"} 1\n"), "{body}");
        assert_eq!(body.matches("# TYPE ").count(), 4, "{body}");
        assert_eq!(body.matches("# HELP ").count(), 4, "{body}");
    }
}
