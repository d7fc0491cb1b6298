//! Learns when scrapes come, so that the work for one is done shortly before it.
//!
//! A Prometheus server scrapes a target on a fixed beat, so the times of scrapes of the same thing from the same address
//! say when the next is due; several servers behind one address have a beat together, of as many scrapes. A wrong guess
//! costs one pass too many or a scrape that waits for its pass.

use std::collections::{HashMap, VecDeque};
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

/// Servers behind one address that are told apart, at most.
const SERVERS: usize = 4;

/// A beat may be off by this part of itself.
const UNSTEADINESS: u32 = 20;

/// Who scrapes what: an address, and path with query.
type Scraper = (IpAddr, String);

/// When scrapes came and are due.
#[derive(Default)]
pub(super) struct Beat {
    scrapers: Mutex<HashMap<Scraper, Rhythm>>,
    changed: Notify,
}

struct Rhythm {
    /// When scrapes came, the last one first.
    times: VecDeque<Instant>,
    due: Option<Instant>,
    coding: Coding,
}

impl Rhythm {
    /// Notes a scrape, and when it follows that the next is due.
    fn note(&mut self, coding: Coding, now: Instant) {
        self.coding = coding;
        self.times.truncate(2 * SERVERS);
        self.times.push_front(now);
        let servers = (1..=SERVERS).find(|&servers| self.is_beat_of(servers)).unwrap_or(1);
        self.due = self.times.get(servers).and_then(|&before| {
            let beat = now - before;
            (SHORTEST..=LONGEST).contains(&beat).then(|| self.times[servers - 1] + beat)
        });
    }

    /// Whether each of the last scrapes came as long after the one that many before it.
    fn is_beat_of(&self, servers: usize) -> bool {
        let Some(&first) = self.times.get(2 * servers) else { return false };
        let beat = (self.times[0] - first) / 2;
        (0..=servers).all(|i| {
            let time = self.times[i] - self.times[i + servers];
            time.abs_diff(beat) <= beat / UNSTEADINESS
        })
    }

    fn last(&self) -> Instant {
        self.times[0]
    }
}

impl Beat {
    /// Notes a scrape.
    pub(super) fn note(&self, scraper: Scraper, coding: Coding, now: Instant) {
        let mut scrapers = self.lock();
        if scrapers.len() >= SCRAPERS && !scrapers.contains_key(&scraper) {
            scrapers.retain(|_, rhythm| now.duration_since(rhythm.last()) <= LONGEST);
            if scrapers.len() >= SCRAPERS {
                return;
            }
        }
        let new = || Rhythm { times: VecDeque::with_capacity(2 * SERVERS + 1), due: None, coding };
        scrapers.entry(scraper).or_insert_with(new).note(coding, now);
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
    async fn servers_behind_one_address_are_told_apart() {
        let (beat, start) = (Beat::default(), Instant::now());
        let at = |milliseconds: u64| start + Duration::from_millis(milliseconds);
        // One each 15 s, another each 15 s five later, both a little unsteady.
        let scrapes = [0, 5000, 15_010, 20_000, 29_990, 35_005, 45_000];
        for (scrape, time) in scrapes.iter().enumerate() {
            beat.note(scraper(""), Coding::Gzip, at(*time));
            let due = beat.next().map(|(_, due, _)| due.duration_since(start).as_millis());
            match scrape {
                4 => assert_eq!(due, Some(34_980), "the second one's third"),
                5 => assert_eq!(due, Some(44_995), "the first one's fourth"),
                6 => assert_eq!(due, Some(50_015), "the second one's fourth"),
                _ => {}
            }
        }
        // One of the two stops: soon it is the beat of one.
        for time in [60_000, 75_000] {
            beat.note(scraper(""), Coding::Gzip, at(time));
        }
        assert_eq!(beat.next().map(|(_, due, _)| due), Some(at(90_000)));
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
