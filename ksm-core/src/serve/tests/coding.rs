//! Compressed bodies, scrape parts, and how fresh a scrape is.

use super::*;

const GZIP: &str = "accept-encoding: gzip\r\n";

#[tokio::test]
async fn gzip_and_plain_bodies_say_the_same() {
    // R20, https://github.com/kubernetes/kube-state-metrics/issues/2036
    for catalogue in [small(), large(), Catalogue::new(Vec::new())] {
        let running = Running::start(catalogue, LIMITS).await;
        for query in ["", "?resources=betas", "?resources=", "?part=2/3"] {
            for accept in ["", "accept: application/openmetrics-text\r\n"] {
                let path = format!("/metrics{query}");
                let plain = running.connect().await.ask("GET", &path, accept).await;
                let packed = running.connect().await.ask("GET", &path, &format!("{accept}{GZIP}")).await;
                assert_eq!(plain.header("content-encoding"), "");
                assert_eq!(packed.header("content-encoding"), "gzip");
                assert_eq!(packed.header("content-type"), plain.header("content-type"));
                assert_eq!(
                    (plain.header("vary"), packed.header("vary")),
                    ("Accept, Accept-Encoding", plain.header("vary"))
                );
                assert!(packed.body == plain.body, "{query} {accept}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_is_done_asking_is_sent_the_whole_answer() {
    let running = Running::start(large(), LIMITS).await;
    let whole = running.get("/metrics").await.body;
    let mut client = running.connect().await;
    client.send("GET", "/metrics", "connection: close\r\n").await;
    client.stream.shutdown().await.unwrap();
    client.head().await;
    let mut body = String::new();
    timeout(DEADLINE, client.stream.read_to_string(&mut body)).await.expect("the body ends").unwrap();
    assert!(body == whole, "{} of {} bytes", body.len(), whole.len());
}

#[tokio::test]
async fn gzip_is_sent_to_nobody_unless_switched_on() {
    let running = Running::start_with(small(), LIMITS, false, MetricsPages::new).await;
    let plain = running.get("/metrics").await.body;
    for accept in ["gzip", "gzip, gzip", "gzip;q=0", "br, gzip;q=0.5"] {
        for (path, body) in [("/metrics", plain.as_str()), ("/metrics?resources=", "")] {
            let reply = running.connect().await.ask("GET", path, &format!("accept-encoding: {accept}\r\n")).await;
            assert_eq!((reply.status, reply.header("content-encoding")), (200, ""), "{accept}");
            assert_eq!((reply.header("vary"), reply.body.as_str()), ("", body), "{accept}");
        }
    }
}

#[tokio::test]
async fn who_does_not_take_gzip_is_sent_plain_text() {
    // R20, https://github.com/kubernetes/kube-state-metrics/issues/1371
    let running = Running::start(small(), LIMITS).await;
    for (accept, coding) in
        [("gzip", "gzip"), ("gzip;q=0", ""), ("br, gzip;q=0.5", "gzip"), ("identity", ""), ("*;q=0", "")]
    {
        let reply = running.connect().await.ask("GET", "/metrics", &format!("accept-encoding: {accept}\r\n")).await;
        assert_eq!((reply.status, reply.header("content-encoding")), (200, coding), "{accept}");
        assert!(reply.body.starts_with("# HELP demo_alpha_info"), "{accept}");
    }
}

#[tokio::test]
async fn parts_together_are_the_whole_and_every_family_is_in_one() {
    for catalogue in [small(), large()] {
        let running = Running::start(catalogue, LIMITS).await;
        let whole = running.get("/metrics").await.body;
        for count in [1, 2, 3, 7] {
            let mut parts = Vec::new();
            for index in 1..=count {
                let path = format!("/metrics?part={index}/{count}");
                parts.push(running.connect().await.ask("GET", &path, if index == 1 { GZIP } else { "" }).await.body);
            }
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort_unstable();
                lines
            };
            assert!(sorted(&parts.concat()) == sorted(&whole), "{count} parts");
        }
    }
}

#[tokio::test]
async fn parts_stay_as_they_are_while_a_resource_empties_and_fills() {
    let object = || names(&["a1"]);
    let mut alphas = store(&ALPHAS, object());
    let betas = store(&BETAS, names(&["b1"]));
    let catalogue = [served(&ALPHAS, std::slice::from_ref(&alphas)), served(&BETAS, &[betas])];
    let running = Running::start(Catalogue::new(catalogue.into()), LIMITS).await;
    // The families of each part, of the second resource only.
    let parts = async || {
        let mut parts = Vec::new();
        for index in 1..=3 {
            let body = running.get(&format!("/metrics?part={index}/3")).await.body;
            let headers = body.lines().filter_map(|line| line.strip_prefix("# TYPE demo_beta_"));
            parts.push(headers.map(|rest| rest.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>());
        }
        parts
    };
    let before = parts().await;
    assert_eq!(before.concat().len(), 2);
    alphas.delete(ObjectKey::from_uid("a1"));
    alphas.publish();
    assert!(!running.get("/metrics").await.body.contains("demo_alpha_"));
    assert_eq!(parts().await, before);
    let mut rendered = Rendered::default();
    render(&ALPHAS, "a1", &mut rendered);
    alphas.apply(ObjectKey::from_uid("a1"), &rendered);
    alphas.publish();
    assert!(running.get("/metrics").await.body.contains("demo_alpha_"));
    assert_eq!(parts().await, before);
}

#[tokio::test]
async fn a_part_that_cannot_be_is_refused() {
    let running = Running::start(small(), LIMITS).await;
    let reply = running.get("/metrics?part=3/2").await;
    assert_eq!(reply.status, 400);
    assert_eq!(reply.body, "part=\"3/2\": expected i/n with 1 ≤ i ≤ n, as in part=1/4\n");
}

#[tokio::test]
async fn a_scrape_waits_for_what_was_read_a_while_ago() {
    let catalogue = small();
    let progress = Arc::clone(&catalogue.resources()[1].progress()[0]);
    let running = Running::start(catalogue, LIMITS).await;
    let writer = {
        let progress = Arc::clone(&progress);
        tokio::spawn(async move {
            loop {
                progress.freshness.wanted().await;
                progress.freshness.note_shown();
            }
        })
    };
    let mut tries = 0..5;
    let tolerated = loop {
        progress.freshness.note_change();
        running.get("/metrics").await;
        // Not if the machine halts in between: then the change is of a while ago, and shown.
        let tolerated = progress.freshness.behind().is_some();
        if tolerated || tries.next().is_none() {
            break tolerated;
        }
    };
    assert!(tolerated, "a change of this moment is not waited for");
    tokio::time::sleep(Duration::from_millis(1100)).await;
    running.get("/metrics").await;
    assert_eq!(progress.freshness.behind(), None);
    writer.abort();
}
