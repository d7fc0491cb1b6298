//! Pod families, topic by topic.

mod container;
mod identity;
mod init_container;
mod placement;
mod spec;
mod status;

use expect_test::expect;

use super::RESOURCE;
use crate::family::Kind;
use crate::resource::AnyResource;
use crate::resources::testing::{check, check_with, everything};

/// Name, type, stability and opt-in of every family, in exposition order: what users rely on.
#[test]
fn the_table_is_what_users_know() {
    let mut table = String::new();
    for family in RESOURCE.families() {
        let kind = if family.kind == Kind::Counter { "counter" } else { "gauge" };
        let opt_in = if family.opt_in { " opt-in" } else { "" };
        let labels = family.labels.join(",");
        table += &format!("{} {kind} {}{opt_in} {labels}", family.name, family.stability.word());
        table.truncate(table.trim_end().len());
        table.push('\n');
    }
    expect![[r#"
        kube_pod_completion_time gauge STABLE
        kube_pod_container_info gauge STABLE container,image_spec,image,image_id,container_id
        kube_pod_container_resource_limits gauge STABLE container,node,resource,unit
        kube_pod_container_resource_requests gauge STABLE container,node,resource,unit
        kube_pod_container_state_started gauge STABLE container
        kube_pod_container_status_last_terminated_reason gauge EXPERIMENTAL container,reason
        kube_pod_container_status_last_terminated_exitcode gauge EXPERIMENTAL container
        kube_pod_container_status_last_terminated_timestamp gauge EXPERIMENTAL container
        kube_pod_container_status_ready gauge STABLE container
        kube_pod_container_status_restarts_total counter STABLE container
        kube_pod_container_status_running gauge STABLE container
        kube_pod_container_status_terminated gauge STABLE container
        kube_pod_container_status_terminated_reason gauge EXPERIMENTAL container,reason
        kube_pod_container_status_waiting gauge STABLE container
        kube_pod_container_status_waiting_reason gauge STABLE container,reason
        kube_pod_created gauge STABLE
        kube_pod_deletion_timestamp gauge EXPERIMENTAL
        kube_pod_info gauge STABLE host_ip,pod_ip,node,created_by_kind,created_by_name,priority_class,host_network
        kube_pod_ips gauge EXPERIMENTAL ip,ip_family
        kube_pod_init_container_info gauge STABLE container,image_spec,image,image_id,container_id,restart_policy
        kube_pod_init_container_resource_limits gauge EXPERIMENTAL container,node,resource,unit
        kube_pod_init_container_resource_requests gauge EXPERIMENTAL container,node,resource,unit
        kube_pod_init_container_state_started gauge EXPERIMENTAL container
        kube_pod_init_container_status_last_terminated_reason gauge EXPERIMENTAL container,reason
        kube_pod_init_container_status_last_terminated_exitcode gauge EXPERIMENTAL container
        kube_pod_init_container_status_last_terminated_timestamp gauge EXPERIMENTAL container
        kube_pod_init_container_status_ready gauge STABLE container
        kube_pod_init_container_status_restarts_total counter STABLE container
        kube_pod_init_container_status_running gauge STABLE container
        kube_pod_init_container_status_terminated gauge STABLE container
        kube_pod_init_container_status_terminated_reason gauge EXPERIMENTAL container,reason
        kube_pod_init_container_status_waiting gauge STABLE container
        kube_pod_init_container_status_waiting_reason gauge EXPERIMENTAL container,reason
        kube_pod_annotations gauge EXPERIMENTAL
        kube_pod_labels gauge STABLE
        kube_pod_overhead_cpu_cores gauge EXPERIMENTAL
        kube_pod_overhead_memory_bytes gauge EXPERIMENTAL
        kube_pod_owner gauge STABLE owner_kind,owner_name,owner_is_controller
        kube_pod_resourceclaim_info gauge EXPERIMENTAL claim_name,resourceclaim_name,resourceclaim_template_name
        kube_pod_restart_policy gauge STABLE type
        kube_pod_runtimeclass_name_info gauge EXPERIMENTAL runtimeclass_name
        kube_pod_spec_volumes_persistentvolumeclaims_info gauge STABLE volume,persistentvolumeclaim,ephemeral
        kube_pod_spec_volumes_persistentvolumeclaims_readonly gauge STABLE volume,persistentvolumeclaim,ephemeral
        kube_pod_start_time gauge STABLE
        kube_pod_status_phase gauge STABLE phase
        kube_pod_status_qos_class gauge EXPERIMENTAL qos_class
        kube_pod_status_ready gauge STABLE condition
        kube_pod_status_ready_time gauge EXPERIMENTAL
        kube_pod_status_initialized_time gauge EXPERIMENTAL
        kube_pod_status_container_ready_time gauge EXPERIMENTAL
        kube_pod_status_reason gauge EXPERIMENTAL reason
        kube_pod_status_disruption_reason gauge EXPERIMENTAL reason
        kube_pod_status_scheduled gauge STABLE condition
        kube_pod_status_scheduled_time gauge STABLE
        kube_pod_status_unschedulable gauge STABLE
        kube_pod_status_unscheduled_time gauge EXPERIMENTAL
        kube_pod_tolerations gauge EXPERIMENTAL key,operator,value,effect,toleration_seconds
        kube_pod_nodeselectors gauge EXPERIMENTAL opt-in
        kube_pod_service_account gauge EXPERIMENTAL service_account
        kube_pod_scheduler gauge EXPERIMENTAL name
    "#]]
    .assert_eq(&table);
}

#[test]
fn an_empty_pod_has_only_what_holds_for_every_pod() {
    check(
        &RESOURCE,
        "{}",
        expect![[r#"
        kube_pod_info{namespace="",pod="",uid="",host_ip="",pod_ip="",node="",created_by_kind="",created_by_name="",priority_class="",host_network="false"} 1
        kube_pod_owner{namespace="",pod="",uid="",owner_kind="",owner_name="",owner_is_controller=""} 1
        kube_pod_restart_policy{namespace="",pod="",uid="",type=""} 1
        kube_pod_service_account{namespace="",pod="",uid="",service_account=""} 1
        kube_pod_scheduler{namespace="",pod="",uid="",name=""} 1
    "#]],
    );
}

#[test]
fn optional_families_of_an_empty_pod_have_the_base_labels_alone() {
    check_with(
        &RESOURCE,
        &everything(),
        "metadata: {namespace: ns, name: p, uid: u}",
        expect![[r#"
        kube_pod_info{namespace="ns",pod="p",uid="u",host_ip="",pod_ip="",node="",created_by_kind="",created_by_name="",priority_class="",host_network="false"} 1
        kube_pod_annotations{namespace="ns",pod="p",uid="u"} 1
        kube_pod_labels{namespace="ns",pod="p",uid="u"} 1
        kube_pod_owner{namespace="ns",pod="p",uid="u",owner_kind="",owner_name="",owner_is_controller=""} 1
        kube_pod_restart_policy{namespace="ns",pod="p",uid="u",type=""} 1
        kube_pod_nodeselectors{namespace="ns",pod="p",uid="u"} 1
        kube_pod_service_account{namespace="ns",pod="p",uid="u",service_account=""} 1
        kube_pod_scheduler{namespace="ns",pod="p",uid="u",name=""} 1
    "#]],
    );
}
