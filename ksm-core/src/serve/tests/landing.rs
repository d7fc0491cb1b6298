//! The landing page: what it counts, and where it ends.

use super::*;

#[tokio::test]
async fn the_landing_page_tells_what_is_served() {
    let running = Running::start(small(), LIMITS).await;
    let page = running.get("/").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    for expected in [
        "<title>ksm-test</title>",
        "1.2.3 (revision abc, date 2026-01-02T03:04:05Z)",
        "All &lt;resources&gt;",
        "<span class=busy>waiting for the first list of alphas, betas</span>",
        "<a href=\"metrics?resources=alphas\">alphas</a><td>2<td>4<td>",
        "<td class=\"l busy\">listing (2 of 2)<td>never<td",
        "<td>All<td>3<td>6<td>",
        "<th>Kept packed",
        "Families with most samples",
        "<tr><td>demo_alpha_count_total<td>2<td>33.3 %<td>",
        "<tr><td>demo_beta_size<td>1<td>16.7 %<td>",
    ] {
        assert!(page.body.contains(expected), "{expected} in {}", page.body);
    }
}

#[tokio::test]
async fn the_landing_page_counts_bytes_and_ends_at_ten_families() {
    static MANY: [Fake; 6] = {
        const fn fake(plural: &'static str, names: [&'static str; 2]) -> Fake {
            let [one, other] = names;
            let (kind, stability) = (Kind::Gauge, Stability::Experimental);
            Fake { plural, families: [(one, kind, stability), (other, kind, stability)] }
        }
        [
            fake("as", ["demo_a0", "demo_a1"]),
            fake("bs", ["demo_b0", "demo_b1"]),
            fake("cs", ["demo_c0", "demo_c1"]),
            fake("ds", ["demo_d0", "demo_d1"]),
            fake("es", ["demo_e0", "demo_e1"]),
            fake("fs", ["demo_f0", "demo_f1"]),
        ]
    };
    // The later the more objects: the first two families are the ones left out.
    let of = |(at, fake): (usize, &'static Fake)| served(fake, &[store(fake, (0..=at).map(|i| i.to_string()))]);
    let running = Running::start(Catalogue::new(MANY.iter().enumerate().map(of).collect()), LIMITS).await;
    let now_ms = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let last = u64::try_from(now_ms).unwrap() - 150_000;
    running.catalogue.resources()[0].progress()[0].last_event_ms.set(last);
    let page = running.get("/").await.body;
    // Two lines of `demo_a0{o="0"} 1`.
    let row = "\">as</a><td>1<td>2<td>34 B<td>plain<td class=\"l busy\">listing<td>2 min ago<td";
    assert!(page.contains(row), "{page}");
    assert!(page.contains("\">bs</a><td>2<td>4<td>68 B<td>plain<td class=\"l busy\">listing<td>never<td"), "{page}");
    // 1 + 2 + … + 6 objects.
    assert!(page.contains("<td>All<td>21<td>42<td>714 B<td>plain<td>"), "{page}");
    let (_, families) = page.split_once("Families with most samples").unwrap();
    assert_eq!(families.matches("<tr><td>demo_").count(), 10);
    assert!(families.contains("<tr><td>demo_f0<td>6<td>14.3 %<td>102 B<tr>"), "{families}");
    assert!(families.contains("demo_b1") && !families.contains("demo_a"), "{families}");
    // Whoever takes gzip has it packed.
    running.connect().await.ask("GET", "/metrics", "accept-encoding: gzip\r\n").await;
    let packed = running.catalogue.resources()[0].packed_bytes();
    assert!(packed > 0);
    let page = running.get("/").await.body;
    assert!(page.contains(&format!("\">as</a><td>1<td>2<td>34 B<td>{packed} B<td")), "{page}");
}
