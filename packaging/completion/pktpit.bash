# SPDX-License-Identifier: BSD-3-Clause
# Completion of pktpit's words for bash. Interfaces come from the kernel; the daemon is not asked.
_pktpit() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} word words=""
    local -a path=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word == -* ]] || path+=("$word")
    done
    case $previous in
        --socket | --table | --tree | --record | -w | --write | check | reload) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
        --instance) words=$(cd /run/pktpit 2>/dev/null && ls -- *.sock 2>/dev/null | sed 's/\.sock$//') ;;
        --source) words="connected config cli fpm kernel" ;;
        --nic | --memory) words=$(ls /sys/bus/pci/devices 2>/dev/null) ;;
        dev | --port) words=$(ls /sys/class/net) ;;
        --point) words="ingress egress drop" ;;
        --verdict) words="drop host punt forwarded" ;;
        --vrf | --filter | --count | --seconds | --sample | --snaplen) return ;;
        --to) words="text json mrt" ;;
        --program) words="l3fwd p2pnic pktpit" ;;
        --transfer) words="write read bounce" ;;
        *)
            case "${path[0]} ${path[1]}" in
                " ") words="check reload detach show route lookup table counters trace capture doctor bench model demo" ;;
                "show ") words="version ports vrfs routes route neighbours drift fpm aggregation counters latency offload workers config events memory next-hop-groups" ;;
                "bench ") words="wire cpu fib rfc2544 routes compare" ;;
                "route ") words="add replace del" ;;
                "route add" | "route replace")
                    words="default via dev weight nexthop blackhole unreachable prohibit preference metric mtu counters vrf -4 -6" ;;
                "route del") words="default -4 -6" ;;
                "show routes") words="summary --ignored -4 -6 --source --within --limit --vrf" ;;
                "show route") words="--vrf" ;;
                "show events") words="--follow" ;;
                "counters ") words="--watch --interval --count" ;;
                "trace ") words="--count --filter --port --verdict --seconds --sample" ;;
                "capture ") words="-w --point --count --filter --port --seconds --sample --snaplen" ;;
                "lookup ") words="--table --peer --vrf" ;;
                "detach ") words="--instance --yes" ;;
                "doctor ")
                    words="--nic --memory --tree --record"
                    if [[ $current != -* ]]; then
                        mapfile -t COMPREPLY < <(compgen -f -- "$current")
                        return
                    fi ;;
                "model ") words="run explain sweep merge answer check plot import constants list" ;;
                "model run" | "model explain" | "model sweep")
                    words="--topology --profile --program --transfer --size --slice --ports --load --write-load
                           --read-load --duration --poisson --seed --set --parameter --values --traffic --matrix --burst
                           --pcap --pcap-speed --relaxed-ordering --payload-memory --csv --parameter2 --values2 --part --jobs" ;;
                "model check") words="--row --set --table --csv" ;;
                "model answer") words="--topology --tree --lspci --gbps --profile --cores" ;;
                "model import") words="--tree --lspci --gbps" ;;
                "model constants") words="--profile" ;;
                "model plot")
                    words="--out --format"
                    if [[ $current != -* ]]; then
                        mapfile -t COMPREPLY < <(compgen -f -- "$current")
                        return
                    fi ;;
                "table ") words="stats replay convert generate" ;;
                "table generate") words="-4 -6 --count --seed" ;;
                "table stats" | "table replay" | "table convert")
                    case ${path[1]} in
                        stats) words="--check --cpu --peer" ;;
                        replay) words="--table --check --peer" ;;
                        convert) words="--to --sorted --updates --peer" ;;
                    esac
                    if [[ $current != -* ]]; then
                        mapfile -t COMPREPLY < <(compgen -f -- "$current")
                        return
                    fi ;;
            esac
            [[ $current == -* ]] && words+=" --json --socket --instance --help"
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _pktpit pktpit
