// The page: controls, the hand, and frames. The worker steps; each frame asks it for the next state and draws the last.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("robot").textContent);
const SPEEDS = [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4];
const ICONS = {
  play: '<svg viewBox="0 0 24 24"><path class="full" d="M7 4.5v15l12.5-7.5z"/></svg>',
  pause: '<svg viewBox="0 0 24 24"><path class="full" d="M7 5h3.6v14H7zM13.4 5H17v14h-3.6z"/></svg>',
  step: '<svg viewBox="0 0 24 24"><path class="full" d="M6 5v14l10-7z"/><path d="M19 5v14"/></svg>',
  reset: '<svg viewBox="0 0 24 24"><path d="M4 5v5h5M4.6 10a8 8 0 1 1-.4 4"/></svg>',
  home: '<svg viewBox="0 0 24 24"><path d="M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5"/></svg>',
  plots: '<svg viewBox="0 0 24 24"><path d="M4 4v16h16M7 14l4-5 3 3 5-6"/></svg>',
  share: '<svg viewBox="0 0 24 24"><path d="M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1"/></svg>',
  theme: '<svg viewBox="0 0 24 24"><circle cx="12" cy="12" r="8"/><path class="full" d="M12 4a8 8 0 0 1 0 16z"/></svg>',
  panel: '<svg viewBox="0 0 24 24"><path d="M4 7h9M19 7h1M4 17h3M13 17h7"/><circle cx="16" cy="7" r="2.4"/><circle cx="10" cy="17" r="2.4"/></svg>',
};
const THEMES = {
  light: { paper: [0.91, 0.925, 0.945], sky: 0.62, line: [0.56, 0.61, 0.67], shadow: 0.17, grid: "#00000014", faint: "#647182" },
  dark: { paper: [0.08, 0.1, 0.13], sky: 0.5, line: [0.36, 0.42, 0.5], shadow: 0.42, grid: "#ffffff17", faint: "#93a0b0" },
};
const RED = [0.78, 0.2, 0.12], GREEN = [0.18, 0.49, 0.31], GRAY = [0.44, 0.44, 0.44], HAND = [0.95, 0.55, 0.1];

const page = { playing: true, speed: 1, state: null, waiting: false, pull: null, last: 0, adapted: 0, plotted: 0, told: 0, frames: [], shown: { forces: true, contacts: true, bones: false }, fault: "" };
const motors = data.motors.map((motor) => ({ ...motor }));
const parameters = Object.fromEntries(Object.entries(data.parameters).map(([name, values]) => [name, Float64Array.from(values)]));

// Scene ------------------------------------------------------------------------------------------------------

const renderer = new (CARD ? CardPicture : PlainPicture)(byId("view"), data.framing);
const camera = renderer.camera;
const meshes = data.meshes.map(({ vertices, low, scale, indices, narrow }) => {
  const packed = new Uint16Array(bytesOf(vertices).buffer);
  const corners = Float32Array.from(packed, (x, k) => low[k % 3] + scale[k % 3] * x);
  return [corners, new (narrow ? Uint16Array : Uint32Array)(bytesOf(indices).buffer)];
});
let bodies = [];

function bytesOf(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** Points of bones in their bodies, where link lengths have put them. */
function points() {
  return data.points.map(({ at, from }) => {
    const now = from && page.state && page.state.parameters[from.array];
    return now ? Array.from(now.subarray(from.at, from.at + 3)) : at;
  });
}

function build() {
  const at = points();
  const radius = data.framing.radius;
  if (renderer.lost) return;
  for (const body of bodies) for (const item of [body.solid, body.faint]) if (item) item.free();
  bodies = data.bodies.map((body, k) => {
    const [solid, faint] = [new Mesh(), new Mesh()];
    const see = data.seeThrough || page.shown.bones;
    for (const shape of body.shapes) (see || shape.faint ? faint : solid).shape(shape, meshes);
    if (!body.shapes.length || see) {
      for (const rod of data.rods) {
        const [i, j] = rod.ends;
        if (data.points[i].body === k) solid.rod(at[i], at[j], radius, rod.color);
      }
      for (const pin of data.pins) {
        if (pin.body !== k) continue;
        const move = placed(pin.position, pin.rotation);
        if (pin.kind === "pin") solid.cylinder(1.5 * radius, 4 * radius, pin.color, move, 18);
        else if (pin.kind === "block") solid.box([3 * radius, 3 * radius, 3 * radius], pin.color, move);
        else solid.ball([2 * radius, 2 * radius, 2 * radius], pin.color, move, 8);
      }
    }
    for (const mark of data.marks) {
      const p = data.points[mark.point];
      if (p.body === k) solid.ball([1.9 * radius, 1.9 * radius, 1.9 * radius], mark.color, placed(at[mark.point], IDENTITY), 8);
    }
    const part = (mesh) => (mesh.positions.length ? { ...renderer.buffer(mesh), positions: new Float32Array(mesh.positions) } : null);
    return { solid: part(solid), faint: part(faint) };
  });
}

const pose = (k) => {
  if (!k) return [IDENTITY, [0, 0, 0]];
  const { rotation, position } = page.state;
  return [Array.from(rotation.subarray(9 * k - 9, 9 * k)), Array.from(position.subarray(3 * k - 3, 3 * k))];
};

/** The arrow of a force in the world, at most as long as the mechanism is large. */
function arrowOf(force) {
  const along = times(data.framing.perNewton * page.loudness, force);
  return times(Math.min(1, data.framing.size / norm(along)), along);
}

/** Where plots cover most of the width, the mechanism is drawn above them. */
function frameAbovePlots() {
  const [plots, title, stage] = ["plot", "title", "stage"].map((id) => byId(id).getBoundingClientRect());
  if (byId("plot").hidden || plots.width < 0.6 * stage.width) camera.between();
  else camera.between((title.bottom - stage.top) / stage.height, (plots.top - stage.top) / stage.height);
}

function draw() {
  const begin = performance.now();
  frameAbovePlots();
  const theme = THEMES[document.documentElement.dataset.theme];
  const [solids, faint] = [[], []];
  const poses = bodies.map((_, k) => pose(k));
  bodies.forEach((body, k) => {
    const model = matrixOf(...poses[k]);
    if (body.solid) solids.push([body.solid, model, page.pull && page.pull.body + 1 === k ? 0.25 : 0]);
    if (body.faint) faint.push([body.faint, model]);
  });
  const at = points();
  const world = (i) => plus(poses[data.points[i].body][1], rotate(poses[data.points[i].body][0], at[i]));
  const radius = data.framing.radius;
  for (const [i, j] of data.slides) solids.push(renderer.line(world(i), world(j), 0.45 * radius, GRAY));
  for (const [i, j] of data.ropes) solids.push(renderer.line(world(i), world(j), 0.45 * radius, GRAY));
  if (page.shown.forces) {
    for (const force of data.forces) {
      const local = Array.from(page.state.forces.subarray(force.row, force.row + 3));
      const along = arrowOf(rotate(poses[force.body][0], rotate(force.turn, local)));
      if (norm(along) > 4 * radius) solids.push(...renderer.arrow(world(force.point), plus(world(force.point), along), 0.8 * radius, force.held ? GREEN : RED));
    }
  }
  if (page.shown.contacts) {
    const { marks } = page.state;
    for (let k = 0; k < marks.length; k += 6) {
      const at = marks.slice(k, k + 3);
      const along = arrowOf(marks.slice(k + 3, k + 6));
      solids.push(renderer.dot(at, 1.2 * radius, GREEN));
      if (norm(along) > 4 * radius) solids.push(...renderer.arrow(at, plus(at, along), 0.8 * radius, GREEN));
    }
  }
  if (page.pull) {
    const [R, p] = poses[page.pull.body + 1];
    const from = plus(p, rotate(R, page.pull.local));
    solids.push(renderer.dot(from, 1.6 * radius, HAND), renderer.dot(page.pull.target, 1.6 * radius, HAND));
    if (norm(minus(page.pull.target, from)) > 1e-6) solids.push(renderer.line(from, page.pull.target, 0.5 * radius, HAND));
  }
  renderer.render(solids, faint, theme);
  const now = performance.now();
  if (!byId("plot").hidden && now - page.plotted > 45) {
    page.plotted = now;
    plot.draw(theme);
  }
  page.drawing = performance.now() - begin;
}

// Time -------------------------------------------------------------------------------------------------------

const source = URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" }));
const worker = new Worker(source);
const asked = (kind, more = {}) => {
  page.waiting = true;
  const hand = page.pull && { ...page.pull, ...data.bodies[page.pull.body + 1].hand };
  worker.postMessage({ kind, motors, pull: hand, parameters, ...more });
};

worker.onmessage = ({ data: answer }) => {
  page.waiting = false;
  if (answer.error) return say(answer.error);
  const lengths = data.lengths.length > 0 && page.state !== null && moved(page.state, answer.state);
  const first = page.state === null;
  page.state = answer.state;
  page.work = answer.work;
  if (answer.state.fault) page.playing = false;
  say(answer.state.fault);
  if (first || lengths) build();
  plot.push(answer.state);
  if (first) restore();
};
worker.onerror = (event) => say(`The worker stopped: ${event.message}`);

const moved = (a, b) => data.lengths.some(({ array }) => a.parameters[array].some((x, k) => Math.abs(x - b.parameters[array][k]) > 1e-5));

function say(words) {
  page.fault = words;
  byId("fault").textContent = words;
  byId("fault").hidden = !words;
}

function frame(now) {
  const seconds = Math.min((now - page.last) / 1000, 0.1);
  page.last = now;
  page.frames.push(now);
  while (page.frames[0] < now - 1000) page.frames.shift();
  if (now - page.adapted > 1000 && page.state) {
    page.adapted = now;
    renderer.adapt(page.frames.length);
  }
  if (page.state && renderer.shown && bodies.length) {
    if (page.playing && !page.waiting) asked("frame", { seconds: (seconds + (page.owed || 0)) * page.speed }), (page.owed = 0);
    else if (page.playing) page.owed = Math.min((page.owed || 0) + seconds, 0.1);
    draw();
    refresh();
  }
  requestAnimationFrame(frame);
}

function play(on = !page.playing) {
  page.playing = on && !page.fault;
  refresh();
}

function step() {
  play(false);
  if (!page.waiting) asked("step");
}

function reset() {
  motors.forEach((motor, k) => Object.assign(motor, data.motors[k]));
  for (const [name, values] of Object.entries(data.parameters)) parameters[name].set(values);
  history.replaceState(null, "", "#");
  say("");
  asked("put", { q: data.q, v: data.v, time: 0 });
  rows.forEach((row) => row());
}

function refresh() {
  const playing = String(page.playing);
  if (byId("play").dataset.on !== playing) {
    byId("play").dataset.on = playing;
    byId("play").innerHTML = ICONS[page.playing ? "pause" : "play"];
    byId("play").setAttribute("aria-label", page.playing ? "Pause" : "Play");
  }
  if (performance.now() - page.told < 200) return; // text costs more than pictures
  page.told = performance.now();
  if (!byId("plot").hidden) plot.tell();
  const unsolved = Object.entries(page.state.unsolved).map(([words, n]) => `${n} ${words}`);
  byId("unsolved").textContent = unsolved.length ? `Of ${page.state.steps} steps, ${unsolved.join(", ")}.` : "";
  byId("clock").textContent = `${page.state.time.toFixed(2)} s`;
  byId("clock").title = `${page.frames.length} frames a second`;
}

// State in the address -----------------------------------------------------------------------------------------

function share() {
  const { q, v, time } = page.state;
  const kept = { q: [...q], v: [...v], time, motors: motors.map(({ mode, value }) => [mode, value]) };
  kept.parameters = Object.fromEntries(Object.entries(parameters).map(([name, x]) => [name, [...x]]));
  const text = btoa(JSON.stringify(kept)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  history.replaceState(null, "", `#${text}`);
  navigator.clipboard?.writeText(location.href).catch(() => undefined);
  byId("share").classList.add("on");
  setTimeout(() => byId("share").classList.remove("on"), 900);
}

/** The state that the address has, if it is one of this mechanism. */
function restore() {
  if (location.hash.length < 2) return;
  const numbers = (x, n) => Array.isArray(x) && x.length === n && x.every(Number.isFinite);
  try {
    const kept = JSON.parse(atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/")));
    const fits = numbers(kept.q, data.q.length) && numbers(kept.v, data.v.length) && Number.isFinite(kept.time);
    const known = Object.entries(parameters).every(([name, x]) => numbers(kept.parameters[name], x.length));
    if (!fits || !known || kept.motors.length !== motors.length) throw new RangeError("of another mechanism");
    motors.forEach((motor, k) => {
      const [mode, value] = kept.motors[k];
      if (MODES.includes(mode) && Number.isFinite(value)) Object.assign(motor, { mode, value });
    });
    for (const [name, x] of Object.entries(parameters)) x.set(kept.parameters[name]);
    asked("put", { q: kept.q, v: kept.v, time: kept.time });
    rows.forEach((row) => row());
  } catch {
    history.replaceState(null, "", "#");
  }
}
