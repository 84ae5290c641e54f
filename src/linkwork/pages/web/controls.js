// Sliders, buttons, keys, and the hand that pulls at bodies.

const EMBEDDED = window !== window.top; // in a frame of another page
const MODES = ["free", "torque", "velocity", "position"];
const rows = []; // what brings sliders to their values

function element(tag, more = {}, ...children) {
  const made = Object.assign(document.createElement(tag), more);
  made.append(...children);
  return made;
}

function folder(title, open, ...children) {
  if (children.length) byId("controls").append(element("details", { open }, element("summary", { textContent: title }), ...children));
}

/** A slider with its name and value; `value()` reads what it stands for, `change(x)` writes it. */
function slider(name, low, high, value, change, unit, extra = []) {
  const range = element("input", { type: "range", min: low, max: high, step: (high - low) / 400, ariaLabel: name });
  const shown = element("output");
  const update = () => {
    range.value = value();
    shown.textContent = `${short(Number(value()))} ${unit()}`;
  };
  range.addEventListener("input", () => {
    change(Number(range.value));
    update();
  });
  rows.push(update);
  update();
  const head = element("div", { className: "head" }, element("span", { className: "name", textContent: name, title: name }), ...extra, shown);
  return { row: element("div", { className: "row" }, head, range), range, shown, update };
}

function motorRow(motor) {
  const mode = element("select", { ariaLabel: `Mode of ${motor.name}` }, ...MODES.map((name) => element("option", { textContent: name })));
  const units = { free: "", torque: motor.unit === "rad" ? "N m" : "N", velocity: `${motor.unit}/s`, position: motor.unit };
  const limits = () => motor.ranges[motor.mode] || [0, 1];
  const made = slider(motor.name, 0, 1, () => motor.value, (x) => (motor.value = x), () => units[motor.mode], [mode]);
  const arrange = () => {
    const [low, high] = limits();
    Object.assign(made.range, { min: low, max: high, step: (high - low) / 400, hidden: motor.mode === "free" });
    made.shown.hidden = motor.mode === "free";
    mode.value = motor.mode;
    made.update();
  };
  mode.addEventListener("change", () => {
    motor.mode = mode.value;
    const now = page.state ? page.state.q[motor.at.q] : 0;
    const [low, high] = limits();
    motor.value = motor.mode === "position" ? Math.max(low, Math.min(high, now)) : 0;
    arrange();
  });
  rows.push(arrange);
  arrange();
  return made.row;
}

function gravityRow() {
  const own = data.parameters.gravity;
  const size = norm(own);
  const down = size ? unit(own) : times(-1, data.framing.up);
  const value = () => dot(parameters.gravity, down);
  return slider("gravity", 0, 20, value, (x) => parameters.gravity.set(times(x, down)), () => "m/s²").row;
}

const massRow = ({ name, at, value }) =>
  slider(name, 0.1 * value, 4 * value, () => parameters.mass[at], (x) => (parameters.mass[at] = x), () => "kg").row;

/** A length: the distance of a joint or an anchor from the origin of its body, its direction kept. */
function lengthRow({ name, array, at, vector }) {
  const size = norm(vector);
  const value = () => norm(Array.from(parameters[array].subarray(at, at + 3)));
  const change = (x) => parameters[array].set(times(x / size, vector), at);
  return slider(name, 0.6 * size, 1.5 * size, value, change, () => "m").row;
}

function check(words, key, done) {
  const box = element("input", { type: "checkbox", checked: page.shown[key] });
  box.addEventListener("change", () => {
    page.shown[key] = box.checked;
    done();
  });
  return element("label", { className: "check" }, box, words);
}

function arrangeControls() {
  page.loudness = 1;
  document.querySelector("h1").textContent = data.name;
  byId("about").textContent = data.about;
  folder("Motors", true, ...motors.map(motorRow));
  folder("World", true, gravityRow());
  folder("Lengths", data.lengths.length <= 8, ...data.lengths.map(lengthRow));
  folder("Masses", data.masses.length <= 6, ...data.masses.map(massRow));
  const layers = [check("bones", "bones", build)];
  if (data.contact) layers.push(check("contact forces", "contacts", () => undefined));
  if (data.forces.length) layers.push(check("forces of loops", "forces", () => undefined));
  if (data.forces.length || data.contact) {
    layers.push(slider("length of forces", 0.1, 5, () => page.loudness, (x) => (page.loudness = x), () => "×").row);
  }
  folder("Show", false, ...layers);
  const keys = [["space", "play, pause"], [".", "one step"], ["R", "reset"], ["F", "view"], ["P", "plots"], ["D", "light, dark"]];
  const words = element("p", { className: "note" });
  keys.forEach(([key, what], k) => words.append(k ? ", " : "", element("kbd", { textContent: key }), ` ${what}`));
  folder("Help", false, element("p", { className: "note", textContent: "Drag a body to pull it through a spring. Drag the background to turn, scroll or pinch to zoom, drag with two fingers or the right button to move the view." }), words, ...data.notes.map((textContent) => element("p", { className: "note", textContent })));
}

function arrangeButtons() {
  for (const [id, icon] of Object.entries(ICONS)) if (byId(id)) byId(id).innerHTML = icon;
  for (const id of ["play", "step", "reset", "home", "plots", "share", "theme", "panel"]) byId(id).setAttribute("aria-label", byId(id).title);
  byId("speed").append(...SPEEDS.map((x) => element("option", { value: x, textContent: `${x}×`, selected: x === data.speed })));
  page.speed = data.speed;
  byId("speed").addEventListener("change", () => (page.speed = Number(byId("speed").value)));
  byId("group").append(...data.plots.map(({ name }, k) => element("option", { value: k, textContent: name })));
  byId("group").addEventListener("change", () => plot.choose(Number(byId("group").value)));
  const actions = { play: () => play(), step, reset, home: () => camera.reset(), plots: () => toggle("plots", "plot"), share, theme: turnTheme, panel: togglePanel };
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
  const keys = { " ": "play", ".": "step", r: "reset", f: "home", p: "plots", d: "theme", c: "panel" };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
    const action = keys[event.key.toLowerCase()];
    if (!action || (event.key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    actions[action]();
  });
}

function toggle(button, what) {
  byId(what).hidden = !byId(what).hidden;
  byId(button).classList.toggle("on", !byId(what).hidden);
}

function togglePanel() {
  const closed = byId("controls").classList.toggle("closed");
  byId("panel").classList.toggle("on", !closed);
}

function turnTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
}

// The hand -----------------------------------------------------------------------------------------------------

/** The direction from the eye through the pointer. */
function rayAt(event) {
  const box = byId("view").getBoundingClientRect();
  return camera.ray((2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height);
}

/** The body under the pointer, the place on it, and how far it is. */
function underPointer(event) {
  const direction = rayAt(event);
  let best = { distance: Infinity };
  bodies.forEach((body, k) => {
    if (!k || !data.bodies[k].hand) return;
    const [R, p] = pose(k);
    const origin = rotateBack(R, minus(camera.eye, p));
    const local = rotateBack(R, direction);
    for (const item of [body.solid, body.faint]) {
      const distance = item ? hit(item.positions, origin, local) : Infinity;
      if (distance < best.distance) best = { distance, body: k - 1, local: plus(origin, local, distance) };
    }
  });
  return { ...best, direction };
}

function arrangeHand() {
  const view = byId("view");
  const fingers = new Map();
  let plane = 0;
  view.addEventListener("pointerdown", (event) => {
    if (!page.state) return;
    view.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    if (fingers.size > 1 || event.button) return void (page.pull = null);
    const found = underPointer(event);
    if (found.distance === Infinity) return;
    const target = plus(camera.eye, found.direction, found.distance);
    plane = dot(minus(target, camera.eye), camera.axes.back);
    page.pull = { body: found.body, local: found.local, target };
    view.classList.add("pulling");
    if (!page.playing) play(true);
  });
  view.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) {
      if (page.state && event.pointerType === "mouse") view.classList.toggle("over", underPointer(event).distance < Infinity);
      return;
    }
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (fingers.size > 1) {
      const [other] = [...fingers.entries()].filter(([id]) => id !== event.pointerId).map(([, finger]) => finger);
      const apart = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY) || 1;
      camera.zoom(apart(before) / apart(event));
      camera.pan(dx / 2 / view.clientHeight, dy / 2 / view.clientHeight);
    } else if (page.pull) {
      const direction = rayAt(event);
      page.pull.target = plus(camera.eye, direction, plane / dot(direction, camera.axes.back));
    } else if (before.buttons === 2 || event.shiftKey) camera.pan(dx / view.clientHeight, dy / view.clientHeight);
    else camera.turn((4 * dx) / view.clientHeight, (4 * dy) / view.clientHeight);
    fingers.set(event.pointerId, event);
  });
  const release = (event) => {
    fingers.delete(event.pointerId);
    page.pull = null;
    view.classList.remove("pulling");
  };
  view.addEventListener("pointerup", release);
  view.addEventListener("pointercancel", release);
  view.addEventListener("contextmenu", (event) => event.preventDefault());
  view.addEventListener("wheel", (event) => {
    if (EMBEDDED && !document.hasFocus()) return; // the page around this one scrolls until this one is clicked on
    event.preventDefault();
    camera.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.002));
  }, { passive: false });
}

// Begin --------------------------------------------------------------------------------------------------------

const plot = new Plot(byId("curves"), byId("legend"), data.plots);
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
arrangeControls();
arrangeButtons();
arrangeHand();
byId("view").addEventListener("webglcontextlost", (event) => event.preventDefault());
new IntersectionObserver(([{ isIntersecting }]) => renderer.show(isIntersecting, () => page.state && build())).observe(byId("view"));
byId("view").classList.toggle("embedded", EMBEDDED);
const small = innerWidth < 760 || EMBEDDED;
byId("controls").classList.toggle("closed", small);
byId("panel").classList.toggle("on", !small);
byId("plot").hidden = innerHeight < 520 || small;
byId("plots").classList.toggle("on", !byId("plot").hidden);
page.playing = data.playing;
const bytes = bytesOf(data.wasm);
const { q, v, dt, nc, layout, contact, springs } = data;
const known = { q, v, dt, nc, layout, contact, springs, parameters: Object.keys(data.parameters) };
worker.postMessage({ kind: "start", description: known, bytes });
requestAnimationFrame(frame);

/** For tests and for pages around this one: what is shown. */
window.linkwork = {
  get state() { return page.state; },
  get fps() { return page.frames.length; },
  get work() { return page.work; }, // milliseconds of the worker for the last frame
  get drawing() { return page.drawing; }, // milliseconds of this script for it
  get fault() { return page.fault; },
  get playing() { return page.playing; },
};
