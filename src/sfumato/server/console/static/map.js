// The map: a true position, a report, its circles and the cloud of possible reports. Nothing is sent anywhere.
import { $, h, s } from "./dom.js";
import { frame, say } from "./frame.js";
import { brief } from "./numbers.js";
import { SystemBits } from "./noise/random.js";
import { LocationMechanism, toMetres } from "./noise/world.js";

const SIZE = 560, CLOUD = 250, bits = new SystemBits();
const { rings } = await (await fetch("/static/outlines.json")).json();

// P(epsilon times the horizontal part of the noise > t), as in sfumato.geo.retrieval.
function tail(t) {
  if (t <= 0) return 1;
  let total = 0.5 * Math.exp(-t);
  for (let i = 1; i < 4000; i++) {
    const u = i / 64, term = Math.exp(-t * Math.cosh(u)) * Math.cosh(2 * u);
    total += term;
    if (t * Math.cosh(u) > 745 || (u > 2 && term < total * 1e-18)) break;
  }
  return Math.min(1, (t * t * total) / 128);
}

// A radius around the report that holds the true position, as geo retrieve proves it: rounding to the grid included.
function noiseRadius(made, epsilon, confidence) {
  const half = (made.metres * Math.sqrt(3)) / 2, widened = Math.exp(Math.min(2 * epsilon * half, 700));
  let low = 0, high = 1;
  while (widened * tail(high) > 1 - confidence) high *= 2;
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (widened * tail(middle) > 1 - confidence) low = middle;
    else high = middle;
  }
  const flat = high / epsilon + 2 * half + 0.02;
  return flat / Math.cos(Math.min(flat / 6_356_000, 1.5));
}

// Metres to the east and to the north of a place.
function offset([lat, lon], [lat2, lon2]) {
  const [phi, lam] = [lat, lon].map((v) => (v * Math.PI) / 180), from = toMetres(lat, lon);
  const [x, y, z] = toMetres(lat2, lon2).map((v, i) => v - from[i]);
  const east = -Math.sin(lam) * x + Math.cos(lam) * y;
  const north = -Math.sin(phi) * Math.cos(lam) * x - Math.sin(phi) * Math.sin(lam) * y + Math.cos(phi) * z;
  return [east, north];
}

function report(made, [lat, lon]) {
  const noise = made.noise.sample(bits);
  return made.fromGrid(made.toGrid(lat, lon).map((c, i) => c + noise[i]));
}

function draw() {
  const number = (id) => Number($(id).value);
  const here = [number("lat"), number("lon")], interest = number("interest");
  const made = new LocationMechanism($("level").value, $("radius").value);
  const epsilon = made.noise.number / made.metres;
  const noise = noiseRadius(made, epsilon, number("confidence"));
  const seen = report(made, here), cloud = Array.from({ length: CLOUD }, () => report(made, here));
  near(here, seen, cloud, { protect: number("radius"), noise, interest });
  world(here);
  const facts = [
    ["Report", `${seen[0].toFixed(5)}, ${seen[1].toFixed(5)}`],
    ["Noise radius", `${brief(noise)} m`],
    ["Retrieval radius", `${brief(noise + interest)} m`],
    ["Grid", `${brief(made.metres)} m`],
    ["ε per metre", epsilon.toPrecision(4)],
  ];
  $("facts").replaceChildren(...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function near(here, seen, cloud, { protect, noise, interest }) {
  const span = 1.25 * Math.max(noise + interest, Math.hypot(...offset(here, seen)) + noise + interest);
  const scale = SIZE / (2 * span), at = (place) => {
    const [east, north] = offset(here, place);
    return [SIZE / 2 + east * scale, SIZE / 2 - north * scale];
  };
  const circle = (place, metres, kind, title) => {
    const [cx, cy] = at(place);
    return s("circle", { cx, cy, r: Math.max(metres * scale, 0.5), class: `ring ${kind}` }, s("title", {}, title));
  };
  const dot = (place, kind, r, title) => {
    const [cx, cy] = at(place);
    return s("circle", { cx, cy, r, class: kind }, s("title", {}, title));
  };
  const bar = 10 ** Math.floor(Math.log10(span / 2));
  const label = (place, text, up) => {
    const [x, y] = at(place);
    return s("text", { x: x + 8, y: up ? y - 8 : y + 18, class: "quiet" }, text);
  };
  const above = at(here)[1] <= at(seen)[1]; // one name above its dot, the other below: they never overlap
  $("near").replaceChildren(
    s("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", class: "sfumato-picture map", "aria-label": "True position, report and circles" },
      s("rect", { width: SIZE, height: SIZE, class: "paper" }),
      cloud.map((place) => dot(place, "cloud", 2, "a possible report")),
      circle(here, protect, "protect", `protected within ${brief(protect)} m`),
      circle(here, interest, "interest", `area of interest, ${brief(interest)} m`),
      circle(seen, noise, "noise", `the true position is within ${brief(noise)} m`),
      circle(seen, noise + interest, "retrieval", `retrieval radius, ${brief(noise + interest)} m`),
      dot(here, "true", 5, "true position"), dot(seen, "report", 5, "report"),
      label(here, "true position", above), label(seen, "report", !above),
      s("line", { x1: 16, x2: 16 + bar * scale, y1: SIZE - 16, y2: SIZE - 16, class: "axis scale" }),
      s("text", { x: 16, y: SIZE - 22, class: "quiet" }, bar >= 1000 ? `${bar / 1000} km` : `${bar} m`)),
  );
}

function world(here) {
  const path = rings.map((ring) => `M${ring.map((v, i) => (i % 2 ? 90 - v / 10 : v / 10 + 180)).join(" ")}Z`).join("");
  const made = s("svg", { viewBox: "0 0 360 180", role: "img", class: "sfumato-picture map", "aria-label": "The world" },
    s("rect", { width: 360, height: 180, class: "paper" }), s("path", { d: path, class: "land" }),
    s("circle", { cx: here[1] + 180, cy: 90 - here[0], r: 3, class: "true" }));
  made.addEventListener("click", (event) => {
    const box = made.getBoundingClientRect();
    $("lon").value = ((event.clientX - box.left) / box.width * 360 - 180).toFixed(4);
    $("lat").value = (90 - (event.clientY - box.top) / box.height * 180).toFixed(4);
    attempt();
  });
  $("world").replaceChildren(made);
}

function attempt() {
  try {
    draw();
    say("");
  } catch (error) {
    say(error.message, { kind: "bad" });
  }
}

await frame();
$("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt();
});
attempt();
