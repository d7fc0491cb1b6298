//! Options of kube-state-metrics that have no effect here, and those that cannot be honoured.
//!
//! What is about Go or about log files is taken with a warning, so that arguments can be kept. What would change the
//! metrics is refused: serving less than was asked for would look like missing objects.

use clap::Args;

use super::UsageError;
use super::args::boolean;

/// Options without effect.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Accepted without effect")]
pub struct InertArgs {
    /// Go's memory limit; memory is not garbage-collected here
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = boolean)]
    pub auto_gomemlimit: Option<bool>,

    /// Part of the memory that Go may use
    #[arg(long, value_name = "RATIO")]
    pub auto_gomemlimit_ratio: Option<f64>,

    /// Log to stderr, which is where the log goes
    #[arg(long = "logtostderr", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = boolean)]
    pub log_to_stderr: Option<bool>,

    /// Log to stderr as well as to files
    #[arg(long = "alsologtostderr", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = boolean)]
    pub also_log_to_stderr: Option<bool>,

    /// Severity of what goes to stderr as well
    #[arg(long = "alsologtostderrthreshold", value_name = "SEVERITY")]
    pub also_log_to_stderr_threshold: Option<String>,

    /// Severity of what goes to stderr
    #[arg(long = "stderrthreshold", value_name = "SEVERITY")]
    pub stderr_threshold: Option<String>,

    /// How --stderrthreshold is read
    #[arg(long = "legacy_stderr_threshold_behavior", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = boolean)]
    pub legacy_stderr_threshold_behavior: Option<bool>,

    /// Folder for log files
    #[arg(long = "log_dir", value_name = "DIR")]
    pub log_dir: Option<String>,

    /// A log file
    #[arg(long = "log_file", value_name = "FILE")]
    pub log_file: Option<String>,

    /// Size of a log file
    #[arg(long = "log_file_max_size", value_name = "MEGABYTES")]
    pub log_file_max_size: Option<u64>,

    /// Where to log a stack trace
    #[arg(long = "log_backtrace_at", value_name = "PLACE")]
    pub log_backtrace_at: Option<String>,

    /// Files in which to log more
    #[arg(long = "vmodule", value_name = "LIST")]
    pub vmodule: Option<String>,

    /// Log each line once only
    #[arg(long = "one_output", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = boolean)]
    pub one_output: Option<bool>,

    /// Log without prefixes
    #[arg(long = "skip_headers", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = boolean)]
    pub skip_headers: Option<bool>,

    /// Begin log files without a header
    #[arg(long = "skip_log_headers", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = boolean)]
    pub skip_log_headers: Option<bool>,

    /// Log the folder of the source file too
    #[arg(long = "add_dir_header", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = boolean)]
    pub add_dir_header: Option<bool>,
}

impl InertArgs {
    /// A warning for each option that asks for something it will not get.
    pub(super) fn warnings(&self) -> Vec<String> {
        let log = "the log goes to stderr, one line an event (see -v)";
        let memory = "memory is not garbage-collected here";
        let asked = [
            (self.auto_gomemlimit == Some(true), "auto-gomemlimit", memory),
            (self.auto_gomemlimit_ratio.is_some(), "auto-gomemlimit-ratio", memory),
            (self.log_to_stderr == Some(false), "logtostderr", log),
            (self.also_log_to_stderr == Some(true), "alsologtostderr", log),
            (self.also_log_to_stderr_threshold.is_some(), "alsologtostderrthreshold", log),
            (self.stderr_threshold.is_some(), "stderrthreshold", log),
            (self.legacy_stderr_threshold_behavior.is_some(), "legacy_stderr_threshold_behavior", log),
            (self.log_dir.as_deref().is_some_and(|dir| !dir.is_empty()), "log_dir", log),
            (self.log_file.as_deref().is_some_and(|file| !file.is_empty()), "log_file", log),
            (self.log_file_max_size.is_some(), "log_file_max_size", log),
            (self.log_backtrace_at.is_some(), "log_backtrace_at", log),
            (self.vmodule.as_deref().is_some_and(|list| !list.is_empty()), "vmodule", log),
            (self.one_output == Some(true), "one_output", log),
            (self.skip_headers == Some(true), "skip_headers", log),
            (self.skip_log_headers == Some(true), "skip_log_headers", log),
            (self.add_dir_header == Some(true), "add_dir_header", log),
        ];
        let warn = |(_, name, why)| format!("--{name} has no effect: {why}");
        asked.into_iter().filter(|(asked, ..)| *asked).map(warn).collect()
    }
}

/// Options about custom resources, which are refused until they are served.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Custom resources (not served yet)")]
pub struct CustomResourceArgs {
    /// Families of custom resources, as YAML; refused
    #[arg(long, value_name = "YAML")]
    pub custom_resource_state_config: Option<String>,

    /// A file of families of custom resources; refused
    #[arg(long, value_name = "FILE")]
    pub custom_resource_state_config_file: Option<String>,

    /// Serve custom resources alone; refused
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = boolean)]
    pub custom_resource_state_only: Option<bool>,

    /// Start without that file; without effect
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = boolean)]
    pub continue_without_custom_resource_state_config_file: Option<bool>,
}

impl CustomResourceArgs {
    /// # Errors
    /// Custom resources are asked for.
    pub(super) fn check(&self) -> Result<(), UsageError> {
        let given = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        let asked = [
            (given(&self.custom_resource_state_config), "custom-resource-state-config"),
            (given(&self.custom_resource_state_config_file), "custom-resource-state-config-file"),
            (self.custom_resource_state_only == Some(true), "custom-resource-state-only"),
        ];
        match asked.into_iter().find(|(asked, _)| *asked) {
            None => Ok(()),
            Some((_, name)) => Err(UsageError::new(format!(
                "--{name}: custom resources are not served yet; run kube-state-metrics beside this program for them, \
                 with --custom-resource-state-only"
            ))),
        }
    }
}
