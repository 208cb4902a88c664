// SPDX-License-Identifier: BSD-3-Clause
// The page: asks the API's readers again and again and draws what they say. Text from outside is only ever set as text.
"use strict";

const MINUTE = 60;
const $ = (id) => document.getElementById(id);

function make(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function drawing(tag, attributes = {}) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// As `pktpit` writes them: 1.20 Mpps, 614 Mbit/s, 1 168 945.
function scaled(value, unit) {
  const steps = ["", "k", "M", "G", "T"];
  let step = 0;
  while (value >= 999.5 && step < steps.length - 1) { value /= 1000; step++; }
  const digits = value === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(digits) + " " + steps[step] + unit;
}
const packets = (rate) => scaled(rate, "pps");
const bits = (rate) => scaled(rate, "bit/s");
const count = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

function bytes(number) {
  const steps = ["B", "KiB", "MiB", "GiB"];
  let step = 0;
  while (number >= 1024 && step < steps.length - 1) { number /= 1024; step++; }
  return (step === 0 || number >= 100 ? number.toFixed(0) : number.toFixed(1)) + " " + steps[step];
}

function duration(seconds) {
  const days = Math.floor(seconds / 86400), hours = Math.floor(seconds / 3600) % 24, minutes = Math.floor(seconds / 60) % 60;
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

class Refused extends Error {}

async function ask(path) {
  const reply = await fetch(path, {cache: "no-store", redirect: "error", signal: AbortSignal.timeout(8000)});
  const body = await reply.json();
  if (!reply.ok) {
    const found = (body.errors || [{}])[0];
    throw new Refused([found.where, found.message, found.expected && "expected: " + found.expected, found.hint].filter(Boolean).join(": "));
  }
  return body;
}

// ---- rates

let before = null;               // the counters that were read last
const history = new Map();       // of each port: [{time, rx, tx}], of the last minute
let meanings = new Map();        // verdict: {action, meaning}

const grown = (to, from) => (to >= (from || 0) ? to - (from || 0) : to);

function rates(now) {
  const seconds = before ? now.time - before.time : 0;
  const result = {ports: {}, verdicts: {}, counts: now.totals.verdicts, rx: 0, tx: 0, rxBits: 0, txBits: 0};
  for (const [name, port] of Object.entries(now.ports)) {
    const last = before && before.ports[name];
    const per = (member) => (last && seconds > 0 ? grown(port[member], last[member]) / seconds : 0);
    const one = {rx: per("rx_packets"), tx: per("tx_packets"), rxBits: per("rx_bytes") * 8, txBits: per("tx_bytes") * 8};
    result.ports[name] = one;
    result.rx += one.rx; result.tx += one.tx; result.rxBits += one.rxBits; result.txBits += one.txBits;
  }
  for (const [name, total] of Object.entries(now.totals.verdicts))
    result.verdicts[name] = before && seconds > 0 ? grown(total, before.totals.verdicts[name]) / seconds : 0;
  result.known = seconds > 0;
  before = now;
  return result;
}

function remember(now, time) {
  for (const name of history.keys()) if (!(name in now.ports)) history.delete(name);
  for (const [name, port] of Object.entries(now.ports)) {
    if (!history.has(name)) history.set(name, []);
    const line = history.get(name);
    if (line.length && time <= line[line.length - 1].time) line.length = 0;  // another daemon's clock
    line.push({time, rx: port.rxBits, tx: port.txBits});
    while (line.length && line[0].time < time - MINUTE) line.shift();
  }
}

// ---- ports

const cards = new Map();

function portCard(name) {
  const chart = drawing("svg", {class: "chart", viewBox: "0 0 600 100", preserveAspectRatio: "none", role: "img"});
  const parts = {
    card: make("article", {class: "card port"}), up: make("span", {class: "tag"}), forwarding: make("span", {class: "tag"}),
    chart, rx: drawing("path", {class: "rx"}), tx: drawing("path", {class: "tx"}), top: make("span"),
    rates: {}, addresses: make("p", {class: "port-note mono"}), note: make("p", {class: "port-note"}),
  };
  chart.append(parts.rx, parts.tx);
  const list = make("dl", {class: "rates"});
  for (const [key, words] of [["rx", "received"], ["tx", "sent"]]) {
    parts.rates[key] = make("dd");
    list.append(make("div", {}, make("dt", {}, make("span", {class: "key " + key}), words), parts.rates[key]));
  }
  parts.card.append(make("div", {class: "port-head"}, make("h3", {text: name}), parts.forwarding, parts.up), chart,
                    make("div", {class: "chart-foot"}, make("span", {text: "60 s ago"}), parts.top, make("span", {text: "now"})),
                    list, parts.addresses, parts.note);
  return parts;
}

function path(line, member, top, latest, close) {
  const point = (one) => `${(600 * (1 - (latest - one.time) / MINUTE)).toFixed(1)},${(97 - 92 * one[member] / top).toFixed(1)}`;
  if (line.length < 2) return "";
  const inner = line.map(point).join("L");
  if (!close) return "M" + inner;
  const x = (one) => (600 * (1 - (latest - one.time) / MINUTE)).toFixed(1);
  return `M${x(line[0])},100L${inner}L${x(line[line.length - 1])},100`;
}

function drawChart(parts, name, rate) {
  const line = history.get(name) || [];
  const most = Math.max(0, ...line.map((one) => Math.max(one.rx, one.tx)));
  const top = Math.max(most, 1);
  const latest = line.length ? line[line.length - 1].time : 0;
  parts.rx.setAttribute("d", path(line, "rx", top, latest, true));
  parts.tx.setAttribute("d", path(line, "tx", top, latest, false));
  parts.top.textContent = most > 0 ? "up to " + bits(most) : "idle";
  parts.chart.setAttribute("aria-label", `The last minute of ${name}: up to ${bits(most)}; now ${bits(rate.rxBits)} received, ${bits(rate.txBits)} sent`);
  for (const [key, p, b] of [["rx", rate.rx, rate.rxBits], ["tx", rate.tx, rate.txBits]])
    parts.rates[key].replaceChildren(packets(p), make("span", {text: bits(b)}));
}

function showPorts(list, now) {
  const place = $("ports");
  for (const [name, parts] of cards)
    if (!list.some((port) => port.name === name)) { parts.card.remove(); cards.delete(name); }
  for (const port of list) {
    if (!cards.has(port.name)) { cards.set(port.name, portCard(port.name)); place.append(cards.get(port.name).card); }
    const parts = cards.get(port.name);
    parts.up.textContent = port.up ? "up" : port.ifindex ? "down" : "absent";
    parts.up.className = "tag " + (port.up ? "up" : "down");
    const standsIn = port.stand_in && port.stand_in.now;
    parts.forwarding.textContent = port.forwarding + (port.mode && port.mode !== "native" ? ", " + port.mode : "") + (standsIn ? ", stage stands in" : "");
    parts.forwarding.className = "tag" + (standsIn ? " warn" : "");
    const addresses = port.addresses.concat(...port.vlans.map((vlan) => vlan.addresses.map((one) => `${one} (${vlan.name})`)));
    parts.addresses.textContent = addresses.join("  ") || "no addresses";
    const notes = [port.description, port.drops ? `${count(port.drops)} dropped` : null, port.not_redirected, port.warning].filter(Boolean);
    parts.note.textContent = notes.join(" · ");
    parts.note.hidden = notes.length === 0;
    drawChart(parts, port.name, now.ports[port.name] || {rx: 0, tx: 0, rxBits: 0, txBits: 0});
  }
}

// ---- verdicts

function showVerdicts(now) {
  const body = $("verdicts").tBodies[0];
  const names = Object.keys(now.counts);
  names.sort((a, b) => now.verdicts[b] - now.verdicts[a] || now.counts[b] - now.counts[a] || (a < b ? -1 : 1));
  const sums = {forward: 0, drop: 0, all: 0};
  for (const name of names) {
    const action = (meanings.get(name) || {}).action;
    if (action in sums) sums[action] += now.verdicts[name];
    sums.all += now.verdicts[name];
  }
  body.replaceChildren(...names.map((name) => {
    const known = meanings.get(name) || {action: "", meaning: ""};
    return make("tr", {}, make("td", {}, make("span", {class: "verdict mono " + known.action, title: known.action, text: name})),
                make("td", {class: "number", text: now.verdicts[name] > 0 ? packets(now.verdicts[name]) : "–"}),
                make("td", {class: "number", text: count(now.counts[name])}),
                make("td", {class: "means", text: known.meaning}));
  }));
  if (names.length === 0) body.append(make("tr", {}, make("td", {colspan: "4", class: "quiet", text: "No packet has come yet."})));
  const share = (part) => (sums.all > 0 ? (100 * part / sums.all).toFixed(part > 0 && part < sums.all / 1000 ? 3 : 1) + " % of all" : "");
  $("total-rx").textContent = packets(now.rx); $("total-rx-bits").textContent = bits(now.rxBits);
  $("total-tx").textContent = packets(now.tx); $("total-tx-bits").textContent = bits(now.txBits);
  $("total-forward").textContent = packets(sums.forward); $("total-forward-of").textContent = share(sums.forward);
  $("total-drop").textContent = packets(sums.drop); $("total-drop-of").textContent = share(sums.drop);
}

// ---- FIB and shares

function meter(words, figures, parts, label, level) {
  const bar = make("div", {class: "meter" + (level ? " " + level : ""), role: "img", "aria-label": label});
  for (const [share, kind] of parts) {
    const piece = make("span", {class: kind});
    piece.style.width = `${Math.min(100, Math.max(0, share * 100)).toFixed(2)}%`;
    bar.append(piece);
  }
  return [make("dt", {}, make("span", {text: words}), make("span", {text: figures})), make("dd", {}, bar)];
}

const fibWords = {table_memory: "table memory", next_hop_groups: "next-hop groups", buckets: "buckets", adjacencies: "adjacencies", vlans: "VLANs", tables: "tables"};

function showMemory(memory) {
  const fib = memory.fib;
  if (!fib) return;
  $("fib-prefixes").textContent = `${count(fib.prefixes.ipv4)} IPv4 and ${count(fib.prefixes.ipv6)} IPv6 prefixes`;
  $("fib").replaceChildren(...fib.parts.flatMap((part) => {
    const share = part.capacity ? part.used / part.capacity : 0;
    const figure = part.unit === "bytes" ? `${bytes(part.used)} of ${bytes(part.capacity)}` : `${count(part.used)} of ${count(part.capacity)}`;
    const words = fibWords[part.part] || part.part;
    return meter(words, figure, [[share, ""]], `${words}: ${(share * 100).toFixed(1)} % in use`, share > 0.95 ? "bad" : share > 0.8 ? "warn" : "");
  }));
}

function showShares(offload) {
  $("shares").replaceChildren(...offload.ports.flatMap((port) => {
    const all = port.inline_rate + port.split_rate;
    const text = all > 0 ? `${(100 * port.inline_rate / all).toFixed(1)} % port stage` : "no traffic";
    return meter(`${port.name} (${port.forwarding})`, text,
                 all > 0 ? [[port.inline_rate / all, "stage"], [port.split_rate / all, "loop"]] : [], `${port.name}: ${text}`);
  }));
  const auto = offload.ports.some((port) => port.forwarding === "auto");
  $("offload").textContent = auto ? (offload.whole_table
    ? `Port stages hold the whole table: ${count(offload.entries)} prefixes.`
    : `Port stages hold ${count(offload.entries)} of ${count(offload.budget)} blocks` +
      (offload.hit_rate === null ? "." : ` and decide about ${(offload.hit_rate * 100).toFixed(1)} % of packets.`)) : "";
}

// ---- next hops and paths, in the words of `pktpit show route`

function hopWords(hop, weighted) {
  const words = [];
  if (hop.backup) words.push("backup");
  if (hop.via) words.push("via " + hop.via);
  if (hop.interface) words.push("dev " + hop.interface);
  if (weighted) words.push("weight " + hop.weight);
  if (["failed", "down"].includes(hop.state)) words.push(`(${hop.state})`);
  else if (hop.state === "inactive") words.push(`(inactive: ${hop.reason})`);
  else if (["unresolved", "recursive"].includes(hop.state)) words.push(`(${hop.state})`);
  return words.join(" ");
}

function routeHops(route) {
  if (!route.next_hops.length) return [route.type];
  return route.next_hops.flatMap((hop) => {
    const below = hop.recursive ? hop.recursive.next_hops : [];
    return [hopWords(hop, route.next_hops.length > 1), ...below.map((one) => "\u2003" + hopWords(one, below.length > 1))];
  });
}

function routeTable(routes, caption) {
  const rows = routes.map((route) => make("tr", {},
    make("td", {class: "mono", text: (route.best ? "" : "(not used) ") + route.prefix}),
    make("td", {}, ...routeHops(route).map((text) => make("div", {class: "mono", text}))),
    make("td", {text: route.protocol || route.source}),
    make("td", {class: "number", text: route.preference}), make("td", {class: "number", text: route.metric}),
    make("td", {class: "number", text: route.counters ? count(route.counters.packets) : ""})));
  const head = ["Prefix", "Next hops", "Source", "Preference", "Metric", "Packets"];
  const table = make("table", {class: "routes-table"}, make("caption", {class: "hidden", text: caption}),
    make("thead", {}, make("tr", {}, ...head.map((text, i) => make("th", {scope: "col", class: i > 2 ? "number" : "", text})))),
    make("tbody", {}, ...rows));
  return make("div", {class: "scroll"}, table);
}

function showPath(found) {
  const place = $("path");
  const known = meanings.get(found.verdict) || {action: "", meaning: ""};
  const state = known.action === "forward" || known.action === "host" ? "good" : known.action === "punt" && found.prefix ? "wait" : "bad";
  const step = (name, text, kind = "") => make("li", {class: kind}, make("span", {class: "name", text: name}), make("span", {class: "mono", text}));
  const members = found.group ? found.group.members : [];
  const steps = [step("address", found.address), step("prefix", found.prefix || "none: no route", found.prefix ? "" : "bad")];
  if (members.length === 1) steps.push(step("next hop", hopWords(members[0], false) || members[0].kind));
  if (members.length > 1) steps.push(step("next hops", `${members.length}, by the flow`));
  if (members.length && members[0].port) steps.push(step("egress", members.map((one) => "port " + one.port).filter((one, i, all) => all.indexOf(one) === i).join(", ")));
  steps.push(step("verdict", found.verdict, state));
  const words = make("dl", {class: "words"});
  const say = (name, text, inner = false) => words.append(make("dt", {class: inner ? "inner" : "", text: name}), make("dd", {class: "mono", text}));
  say("address", found.address);
  say("prefix", found.prefix || "none: no route");
  say("verdict", found.verdict + (known.meaning ? ": " + known.meaning : ""));
  if (found.group) say("group", `${found.group.id}, ${members.length} next hop${members.length === 1 ? "" : "s"}`);
  for (const member of members) {
    say("next hop", hopWords(member, members.length > 1) || "–");
    say("kind", member.kind + (["incomplete", "glean"].includes(member.kind) ? " (the neighbour is asked for when a packet comes)" : ""), true);
    if (!member.port) continue;
    say("egress", `port ${member.port}, MTU ${member.mtu}` + (member.vlan.length ? ", VLAN " + member.vlan.join(".") : ""), true);
    say("Ethernet", `${member.src_mac} → ${member.dst_mac}`, true);
  }
  const shown = [make("ol", {class: "steps", "aria-label": "The path of the packet"}, ...steps), words];
  if (found.candidates.length) shown.push(routeTable(found.candidates, "Candidates for the address, best first"));
  place.replaceChildren(...shown);
}

const refuse = (place, error) =>
  place.replaceChildren(make("p", {class: "error", text: error instanceof Refused ? error.message : "The daemon does not answer."}));

const inVrf = (select) => ($(select).value && $(select).value !== "default" ? "&vrf=" + encodeURIComponent($(select).value) : "");

async function followPath() {
  const address = $("path-address").value.trim();
  if (!address) return;
  try {
    showPath(await ask(`/v1/route?to=${encodeURIComponent(address)}${inVrf("path-vrf")}`));
    history_to(address);
  } catch (error) {
    refuse($("path"), error);
  }
}

function history_to(address) {
  window.history.replaceState(null, "", "#to=" + encodeURIComponent(address));
}

const PAGE = 50;

async function searchRoutes(after) {
  const place = $("routes"), within = $("routes-within").value.trim(), vrf = inVrf("routes-vrf");
  try {
    if (within && !within.includes("/")) {  // of an address: those that match it
      const found = await ask(`/v1/route?to=${encodeURIComponent(within)}${vrf}`);
      place.replaceChildren(found.candidates.length ? routeTable(found.candidates, "Routes of the address")
                                                    : make("p", {class: "quiet error", text: "No route matches this address."}));
      return;
    }
    const query = (within ? "&within=" + encodeURIComponent(within) : "") + (after ? "&after=" + encodeURIComponent(after) : "") + vrf;
    const found = await ask(`/v1/routes?limit=${PAGE}${query}`);
    const shown = [make("p", {class: "quiet", text: `${count(found.total)} route${found.total === 1 ? "" : "s"}` + (after ? `, behind ${after}` : "")}),
                   routeTable(found.routes, "Routes")];
    if (found.next) {
      const more = make("button", {class: "plain", type: "button", text: "The next ones"});
      more.addEventListener("click", () => searchRoutes(found.next));
      shown.push(more);
    }
    place.replaceChildren(...shown);
  } catch (error) {
    refuse(place, error);
  }
}

// ---- events

let lastEvent = 0, eventsOf = null;

function showEvents(answer) {
  const place = $("events");
  for (const event of answer.events) {
    const time = new Date(event.time * 1000);
    const text = time.toLocaleString(undefined, {month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false});
    place.prepend(make("li", {}, make("time", {datetime: time.toISOString(), text}),
                       make("span", {class: "tag", text: event.kind.replaceAll("_", " ")}), make("span", {class: "text", text: event.text})));
  }
  while (place.children.length > 200) place.lastElementChild.remove();
  lastEvent = answer.last;
  $("no-events").hidden = place.children.length > 0;
}

// ---- the daemon

function showVersion(version) {
  if (eventsOf !== version.pid) {  // another daemon has other events
    eventsOf = version.pid;
    lastEvent = 0;
    $("events").replaceChildren();
  }
  $("instance").textContent = version.instance;
  $("about").textContent = `${version.version}, ${version.dataplane}, up ${duration(version.uptime)}` +
    (version.kernel_routes.state === "reading" ? ", reading the kernel's routes" : "");
  $("modelled").hidden = !version.modelled;
  $("modelled").textContent = version.modelled ? `Modelled hardware, in virtual time: ${version.modelled}` : "";
  document.title = `${version.instance} · Pktpit`;
}

function showVrfs(answer) {
  for (const id of ["path-vrf", "routes-vrf"]) {
    const select = $(id), chosen = select.value;
    select.replaceChildren(...answer.vrfs.map((vrf) => make("option", {value: vrf.name, text: vrf.name})));
    if (chosen) select.value = chosen;
    select.parentElement.hidden = answer.vrfs.length < 2;
  }
}

function live(good, text) {
  $("live").className = "live " + (good ? "good" : "bad");
  if ($("live-text").textContent !== text) $("live-text").textContent = text;
}

// ---- the beat

let beats = 0, failedSince = null;

async function beat() {
  const [counters, ports] = await Promise.all([ask("/v1/counters"), ask("/v1/ports")]);
  const now = rates(counters);
  if (now.known) remember(now, counters.time);
  showPorts(ports.ports, now);
  showVerdicts(now);
  if (beats % 2 === 0) {
    showVersion(await ask("/v1/version"));
    showEvents(await ask(`/v1/events?after=${lastEvent}`));
    showShares(await ask("/v1/offload"));
  }
  if (beats % 5 === 0) showMemory(await ask("/v1/memory"));
  if (beats % 30 === 0) showVrfs(await ask("/v1/vrfs"));
  beats++;
}

async function go() {
  let wait = 1000;
  if (!document.hidden) {
    const began = performance.now();
    try {
      if (meanings.size === 0)
        meanings = new Map((await ask("/v1/verdicts")).verdicts.map((one) => [one.name, one]));
      await beat();
      failedSince = null;
      live(true, "live");
      wait = Math.max(200, 1000 - (performance.now() - began));
    } catch (error) {
      failedSince = failedSince || new Date();
      live(false, `no answer since ${failedSince.toLocaleTimeString(undefined, {hour12: false})}`);
      wait = 3000;
    }
  }
  setTimeout(go, wait);
}

$("path-form").addEventListener("submit", (event) => { event.preventDefault(); followPath(); });
$("routes-form").addEventListener("submit", (event) => { event.preventDefault(); searchRoutes(null); });

function fromAddressBar() {
  const wanted = new URLSearchParams(location.hash.slice(1)).get("to");
  if (wanted) { $("path-address").value = wanted; followPath(); }
}
window.addEventListener("hashchange", fromAddressBar);
go();
fromAddressBar();
