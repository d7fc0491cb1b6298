//! Learns when scrapes come, so that the work for one is done shortly before it.
//!
//! A Prometheus server scrapes a target on a fixed beat, so the time between two scrapes of the same thing from the
//! same address says when the next is due. A wrong guess costs one pass too many or a scrape that waits for its pass.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::exposition::Coding;
use crate::catalogue::Live;

/// How long before a scrape its work starts. Less than what a scrape may be behind, so that the scrape adds no work.
const LEAD: Duration = Duration::from_millis(600);

/// Beats outside of this are not learned.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// Scrapers remembered at most.
const SCRAPERS: usize = 32;

/// Who scrapes what: an address, and path with query.
type Scraper = (IpAddr, String);

/// When scrapes came and are due.
#[derive(Default)]
pub(super) struct Beat {
    scrapers: Mutex<HashMap<Scraper, Rhythm>>,
    changed: Notify,
}

#[derive(Clone, Copy)]
struct Rhythm {
    last: Instant,
    due: Option<Instant>,
    coding: Coding,
}

impl Beat {
    /// Notes a scrape.
    pub(super) fn note(&self, scraper: Scraper, coding: Coding, now: Instant) {
        let mut scrapers = self.lock();
        let before = scrapers.get(&scraper).map(|rhythm| now.duration_since(rhythm.last));
        let due = before.filter(|beat| (SHORTEST..=LONGEST).contains(beat)).map(|beat| now + beat);
        if scrapers.len() >= SCRAPERS && before.is_none() {
            scrapers.retain(|_, rhythm| now.duration_since(rhythm.last) <= LONGEST);
            if scrapers.len() >= SCRAPERS {
                return;
            }
        }
        scrapers.insert(scraper, Rhythm { last: now, due, coding });
        drop(scrapers);
        self.changed.notify_one();
    }

    /// Waits until a scrape is about to come; says how its body will be encoded.
    async fn due(&self) -> Coding {
        loop {
            let next = self.next();
            let changed = self.changed.notified();
            let Some((scraper, at, coding)) = next else {
                changed.await;
                continue;
            };
            tokio::select! {
                () = changed => {}
                () = sleep_until(at - LEAD) => {
                    if let Some(rhythm) = self.lock().get_mut(&scraper) {
                        rhythm.due = None;
                    }
                    return coding;
                }
            }
        }
    }

    fn next(&self) -> Option<(Scraper, Instant, Coding)> {
        let scrapers = self.lock();
        let due = scrapers.iter().filter_map(|(scraper, rhythm)| Some((scraper.clone(), rhythm.due?, rhythm.coding)));
        due.min_by_key(|(_, at, _)| *at)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Scraper, Rhythm>> {
        self.scrapers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work for each scrape shortly before it is due; ends only by being dropped.
    pub(super) async fn keep(self: Arc<Self>, live: Arc<Live>) {
        loop {
            let coding = self.due().await;
            let catalogue = Arc::clone(&live.load().catalogue);
            catalogue.refresh(Duration::ZERO).await;
            if coding == Coding::Gzip {
                catalogue.pack().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMETHEUS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn scraper(query: &str) -> Scraper {
        (PROMETHEUS, query.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn work_starts_shortly_before_the_third_scrape_of_a_beat() {
        let beat = Beat::default();
        let start = Instant::now();
        beat.note(scraper(""), Coding::Gzip, start);
        assert!(beat.next().is_none(), "one scrape is no beat");
        tokio::time::advance(Duration::from_secs(15)).await;
        beat.note(scraper(""), Coding::Gzip, Instant::now());
        assert_eq!(beat.due().await, Coding::Gzip);
        assert_eq!(start.elapsed(), Duration::from_secs(30) - LEAD);
        assert!(beat.next().is_none(), "a scrape that does not come is not waited for again");
    }

    #[tokio::test(start_paused = true)]
    async fn each_scraper_has_its_own_beat() {
        let beat = Beat::default();
        let start = Instant::now();
        beat.note(scraper("part=1/2"), Coding::Identity, start);
        tokio::time::advance(Duration::from_secs(5)).await;
        beat.note(scraper("part=2/2"), Coding::Gzip, Instant::now());
        tokio::time::advance(Duration::from_secs(10)).await;
        beat.note(scraper("part=1/2"), Coding::Identity, Instant::now());
        tokio::time::advance(Duration::from_secs(5)).await;
        beat.note(scraper("part=2/2"), Coding::Gzip, Instant::now());
        assert_eq!(beat.due().await, Coding::Identity);
        assert_eq!(start.elapsed(), Duration::from_secs(30) - LEAD);
        assert_eq!(beat.due().await, Coding::Gzip);
        assert_eq!(start.elapsed(), Duration::from_secs(35) - LEAD);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_fast_or_too_many_is_not_learned() {
        let beat = Beat::default();
        for _ in 0..3 {
            beat.note(scraper(""), Coding::Identity, Instant::now());
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert!(beat.next().is_none());
        for i in 0..10 * SCRAPERS {
            beat.note(scraper(&format!("x={i}")), Coding::Identity, Instant::now());
        }
        assert!(beat.lock().len() <= SCRAPERS);
    }
}
