# SPDX-License-Identifier: BSD-3-Clause
"""What `make test` runs of the end-to-end tests (`pytest --gate`): the packet path on each dataplane and in each way of forwarding,
and what a daemon that reloads, ends or is killed does to it. `make test-all` runs everything.

A test is named here when no other one here would notice the same fault. Names are those of modules, or MODULE::TEST."""

from pathlib import Path

PACKET_PATH = ("test_ipv4_forwarding", "test_ipv6_forwarding", "test_icmpv4", "test_icmpv6", "test_martians", "test_malformed", "test_local", "test_vlan",
               "test_paths")
FORWARDING = ("test_ipv4_forwarding", "test_ipv6_forwarding", "test_vlan")
LIFE = ("test_zero_loss", "test_reload", "test_lifecycle::test_kill_9_and_restart_lose_nothing", "test_lifecycle::test_clean_stop_leaves_nothing")

GATE = {
    "inline": (
        *PACKET_PATH, *LIFE, "test_limits",
        "test_lifecycle::test_detach_leaves_the_data_path_running", "test_lifecycle::test_restart_reconciles_with_a_changed_configuration",
        "test_outlives::test_start_refused_after_the_swap_gives_programs_back", "test_outlives::test_daemon_that_ends_by_a_bug_leaves_the_data_path",
        "test_outlives::test_detach_takes_down_what_is_left", "test_map_versions",
        "test_interfaces::test_port_down_and_up", "test_interfaces::test_port_vanishes_under_load_and_comes_back",
        "test_neighbours::test_first_packets_to_an_unknown_ipv4_neighbour_are_not_lost", "test_neighbours::test_changed_mac_address_is_followed",
        "test_failing_next_hops::test_every_next_packet_goes_the_other_way", "test_failing_next_hops::test_dead_member_stays_dead_until_it_answers",
        "test_recursive_routes::test_routes_follow_their_gateway", "test_neighbours::test_scan_keeps_no_new_host_out",
        "test_routes::test_longest_prefix_wins", "test_routes::test_route_add_replace_del", "test_routes::test_replace_under_a_stream_loses_nothing",
        "test_kernel_routes::test_ip_route_is_followed", "test_kernel_routes::test_multipath", "test_fpm::test_routes_come_and_go",
        "test_vrf::test_vrfs_do_not_mix", "test_vrf::test_reload_adds_moves_and_removes",
        "test_filters::test_a_rule_drops", "test_filters::test_first_match", "test_protection::test_strict", "test_protection::test_classes",
        "test_nat::test_masquerade", "test_egress::test_goes_on_without_the_daemon", "test_drift::test_detached_port_stage",
        "test_commit::test_goes_back_by_itself", "test_privileges::test_the_daemon_becomes_the_user", "test_api_access::test_the_socket_is_the_groups",
        "test_cli::test_show", "test_cli::test_check", "test_trace::test_trace_forwarded", "test_trace::test_capture_points",
        "test_metrics::test_the_numbers_are_the_daemons", "test_sflow::test_flow_samples", "test_web::test_its_port_gives_nothing_away",
        "test_aggregation::test_forwarding_beside_it", "test_partial_checksums",
        "test_addresses::test_renumbered_within_its_net", "test_addresses::test_prefix_lengths", "test_listeners::test_at_addresses_of_ports",
        "test_which_route::test_longer_than_the_connected_net", "test_which_route::test_interface_route", "test_dhcp_client",
        "test_kernels_own_routes::test_net_of_another_device", "test_connected_nets", "test_churn", "test_who_gets_a_frame",
        "test_redirects", "test_floating_routes::test_frr",
        "test_silent_changes",
        # Their ports are split or auto whatever the others are.
        "test_stopped::test_hung_workers", "test_stopped::test_kernel_takes_over_after_a_kill", "test_workers::test_more_workers_than_queues",
        "test_auto::test_zipf", "test_auto::test_stream", "test_auto::test_whole_table", "test_auto::test_stopped_daemon"),
    "split": (*FORWARDING, *LIFE, "test_split::test_split_beside_inline", "test_split::test_reload_changes_who_decides",
              "test_split::test_reload_under_load", "test_split::test_long_frames"),
    "auto": (*FORWARDING, "test_zero_loss"),
    "dpdk": (*FORWARDING, "test_zero_loss", "test_dpdk::test_kill_and_restart", "test_dpdk::test_clean_stop_leaves_nothing", "test_dpdk::test_af_xdp"),
    "model": (*FORWARDING, "test_model", "test_zero_loss"),
}


def way(dataplane, forwarding):
    return forwarding if dataplane == "xdp" else dataplane


def is_named(item, names):
    module, test = item.path.stem, item.originalname
    return any(name in (module, f"{module}::{test}") for name in names)


def unknown(items, names):
    """Names that no test has: they would be left out in silence. Of the files that were collected."""
    known = {name for item in items for name in (item.path.stem, f"{item.path.stem}::{item.originalname}")}
    files = {item.path.stem for item in items}

    def is_missing(name):
        module = name.split("::")[0]
        return module in files or not (Path(__file__).parent / f"{module}.py").exists()

    return sorted(filter(is_missing, set(names) - known))


def left_out(items, names):
    """Names all of whose tests are skipped: they would be as good as not there."""
    named = {name: [item for item in items if is_named(item, (name,))] for name in names}
    return sorted(name for name, of_it in named.items() if of_it and all(item.get_closest_marker("skip") for item in of_it))
