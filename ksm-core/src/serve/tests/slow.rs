//! Clients that read slowly, or not at all.

use super::*;

#[tokio::test]
async fn a_slow_reader_delays_nobody() {
    // R33, https://github.com/kubernetes/kube-state-metrics/issues/2413
    let running = Running::start(large(), LIMITS).await;
    let mut slow = Vec::new();
    for _ in 0..10 {
        let mut client = running.connect().await;
        client.send("GET", "/metrics", "").await;
        assert_eq!(client.head().await.status, 200);
        slow.push(client);
    }
    assert!(running.get("/metrics").await.body.len() > 8 << 20);
    assert_eq!(running.get("/healthz").await.status, 200);
}

/// Slow readers hold on to the view they started with each, so only so many may.
#[tokio::test]
async fn of_too_many_slow_readers_the_oldest_are_cut() {
    const SLOW: usize = 70;
    let running = Running::start(large(), LIMITS).await;
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        let mut client = running.connect().await;
        client.send("GET", "/metrics", "").await;
        let length = client.head().await.header("content-length").parse::<usize>().unwrap();
        slow.push((client, length));
    }
    for _ in 0..3 {
        assert!(running.get("/metrics").await.body.len() > 8 << 20, "who reads is served");
    }
    for (number, (client, length)) in slow.iter_mut().enumerate() {
        let read = client.bytes_up_to(*length).await;
        // 64 at a time: the six first ones went for the last six, and one more for the first of the three.
        assert_eq!(read == *length, number >= SLOW + 1 - 64, "{number}: {read} of {length}");
    }
}

#[tokio::test]
async fn a_scrape_keeps_the_view_it_started_with() {
    let mut store = store(&ALPHAS, (0..20_000).map(|i| format!("{i:0200}")));
    let catalogue = Catalogue::new(vec![served(&ALPHAS, std::slice::from_ref(&store))]);
    let running = Running::start(catalogue, LIMITS).await;
    let mut client = running.connect().await;
    client.send("GET", "/metrics", "").await;
    let announced = client.head().await.header("content-length").parse::<usize>().unwrap();
    store.replace(store.relist());
    assert_eq!(running.get("/metrics").await.body, "");
    let mut body = vec![0; announced];
    timeout(DEADLINE, client.stream.read_exact(&mut body)).await.expect("the body arrives").unwrap();
    assert_eq!(body.iter().filter(|&&byte| byte == b'\n').count(), 4 + 2 * 20_000);
}

#[tokio::test]
async fn a_response_that_is_not_read_is_given_up() {
    // Long enough for its head to be sent.
    let limits = Limits { response: Duration::from_millis(1000), ..LIMITS };
    let running = Running::start(large(), limits).await;
    let mut client = running.connect().await;
    client.send("GET", "/metrics", "").await;
    let announced = client.head().await.header("content-length").parse::<usize>().unwrap();
    running.scrape_ended().await;
    assert!(client.bytes_to_end().await < announced);
}
