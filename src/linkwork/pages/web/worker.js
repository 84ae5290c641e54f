// Steps the mechanism. The page asks for frames, this answers each with the state after it.
"use strict";

const SLOW = 40; // milliseconds of work after which a frame ends early, so that the page stays quick

let robot = null;

class Mechanism {
  constructor(description, module) {
    const { memory, ...functions } = new WebAssembly.Instance(module).exports;
    const view = ([at, n]) => new Float64Array(memory.buffer, 8 * at, n);
    const views = (places) => Object.fromEntries(Object.entries(places).map(([name, place]) => [name, view(place)]));
    this.description = description;
    this.functions = functions;
    this.inputs = views(description.layout.inputs);
    this.outputs = Object.fromEntries(Object.entries(description.layout.outputs).map(([name, places]) => [name, views(places)]));
    this.start = Object.fromEntries(Object.entries(this.inputs).map(([name, x]) => [name, x.slice()]));
    this.wanted = {};
    this.motors = [];
    this.pull = null;
    this.reset();
  }

  reset() {
    for (const [name, x] of Object.entries(this.inputs)) if (!(name in this.wanted)) x.set(this.start[name]);
    this.put(this.description.q, this.description.v, 0);
    this.fault = "";
  }

  put(q, v, time) {
    this.inputs.q.set(q);
    this.inputs.v.set(v);
    this.begun = time;
    this.targets = new Map();
    this.owed = 0;
    this.forces = null;
    this.fault = "";
    this.unsolved = {};
    this.steps = 0;
    if (this.description.contact) this.inputs.regularization.set(this.start.regularization);
  }

  /** Torques of motors at this state: servos of velocity and position are dampers and springs. */
  drive() {
    const { q, v, tau } = this.inputs;
    tau.fill(0);
    this.motors.forEach((motor, k) => {
      const { at, stiffness, damping, torque } = motor;
      let wanted = 0;
      if (motor.mode === "torque") wanted = motor.value;
      else if (motor.mode === "velocity") wanted = motor.gain * (motor.value - v[at.v]);
      else if (motor.mode === "position") {
        const target = this.targets.get(k) ?? q[at.q]; // it goes to its slider within some tenths of a second
        this.targets.set(k, target + Math.min(1, this.description.dt / 0.08) * (motor.value - target));
        wanted = stiffness * (target - q[at.q]) - damping * v[at.v];
      }
      if (motor.mode !== "position") this.targets.delete(k);
      tau[at.v] = Math.max(-torque, Math.min(torque, wanted));
    });
  }

  /** The wrench of the spring between a point of a body and the hand. */
  hold() {
    const { wrenches } = this.inputs;
    wrenches.fill(0);
    if (!this.pull) return;
    this.functions.placements();
    this.functions.velocities();
    const { body, local, target, stiffness, damping } = this.pull;
    const { rotation, position } = this.outputs.placements;
    const R = rotation.subarray(9 * body, 9 * body + 9);
    const V = this.outputs.velocities.velocity.subarray(6 * body, 6 * body + 6);
    const w = V.subarray(0, 3), u = V.subarray(3, 6);
    const speed = [u[0] + w[1] * local[2] - w[2] * local[1], u[1] + w[2] * local[0] - w[0] * local[2], u[2] + w[0] * local[1] - w[1] * local[0]];
    const apart = [0, 1, 2].map((i) => target[i] - position[3 * body + i] - R[3 * i] * local[0] - R[3 * i + 1] * local[1] - R[3 * i + 2] * local[2]);
    const f = [0, 1, 2].map((i) => stiffness * (R[i] * apart[0] + R[3 + i] * apart[1] + R[6 + i] * apart[2]) - damping * speed[i]);
    const moment = [local[1] * f[2] - local[2] * f[1], local[2] * f[0] - local[0] * f[2], local[0] * f[1] - local[1] * f[0]];
    wrenches.set([...moment, ...f], 6 * body);
  }

  /** Parameters follow their sliders within a tenth of a second, so that loops stay closed. */
  follow() {
    const rate = Math.min(1, this.description.dt / 0.03);
    for (const [name, values] of Object.entries(this.wanted)) {
      const x = this.inputs[name];
      for (let k = 0; k < x.length; k++) x[k] += rate * (values[k] - x[k]);
    }
  }

  step() {
    const { q, v, settings, timing = [] } = this.inputs;
    this.follow();
    this.drive();
    this.hold();
    settings[1] = 2;
    if (timing.length > 2) timing[2] = this.time / this.description.dt; // functions of time: the clock counts steps
    this.functions.step();
    const { q1, v1, result } = this.outputs.step;
    if (!(q1.every(Number.isFinite) && v1.every(Number.isFinite))) {
      this.fault = "The state is not finite any more: a motor, a mass or the hand was too much for steps of this length. Reset.";
      return;
    }
    q.set(q1);
    v.set(v1);
    this.forces = result || null;
    if (this.description.contact) this.keep(result);
    this.steps += 1;
  }

  get time() {
    return this.begun + this.steps * this.description.dt;
  }

  /** Forces that the next step starts from, none where this one is not solved; and what is not solved is counted. */
  keep(result) {
    const { copies, kind, unsolved } = this.description.contact;
    const { regularization } = this.inputs;
    const solved = result[0] <= regularization[0];
    for (const [from, to, n] of copies)
      if (solved) for (let k = 0; k < n; k++) regularization[to + k] = result[from + k];
      else regularization.fill(0, to, to + n);
    for (const [from, to] of kind) regularization[to] = result[from];
    for (const [words, at] of Object.entries(unsolved)) if (result[at] > 0) this.unsolved[words] = (this.unsolved[words] || 0) + 1;
  }

  /** Points and forces of contacts in the world, six numbers each, and normal forces by pair, then of all. */
  contacts() {
    const { contact } = this.description;
    const found = { marks: [], normals: new Float64Array(contact ? contact.count + 1 : 0) };
    if (!contact || !this.forces) return found;
    const { point, contact_R: axes } = this.outputs.step;
    for (let k = 0; k < contact.room; k++) {
      const slot = contact.listed ? contact.slots[this.forces[contact.points + contact.listed * k]] : k;
      if (slot === undefined) continue;
      const at = contact.points + (contact.listed ? contact.listed * k + 1 : 3 * k);
      const [a, b, n] = this.forces.subarray(at, at + 3);
      if (!(n > 0)) continue;
      found.normals[contact.pairs[slot]] += n;
      found.normals[contact.count] += n;
      for (let i = 0; i < 3; i++) found.marks.push(point[3 * slot + i]);
      for (let i = 9 * slot; i < 9 * slot + 9; i += 3) found.marks.push(axes[i] * a + axes[i + 1] * b + axes[i + 2] * n);
    }
    return found;
  }

  /** Energy of springs of joints. */
  elastic() {
    const { q } = this.inputs;
    return this.description.springs.reduce((sum, [at, rest, stiffness]) => sum + 0.5 * stiffness * (q[at] - rest) ** 2, 0);
  }

  /** So many seconds; how long a frame may take is bounded. */
  advance(seconds) {
    const { dt } = this.description;
    this.owed = Math.min(this.owed + seconds, 0.25);
    const begin = performance.now();
    let steps = 0;
    for (; this.owed >= dt && !this.fault; steps++) {
      this.step();
      this.owed -= dt;
      if (performance.now() - begin > SLOW) this.owed = 0;
    }
    return { steps, work: performance.now() - begin };
  }

  state() {
    this.functions.placements();
    this.functions.energy();
    const { rotation, position } = this.outputs.placements;
    const { kinetic, potential } = this.outputs.energy;
    const { q, v, tau } = this.inputs;
    const parameters = this.description.parameters.map((name) => [name, this.inputs[name].slice()]);
    const first = this.description.contact ? this.description.contact.multipliers : 2;
    return {
      time: this.time,
      rotation: rotation.slice(),
      position: position.slice(),
      q: q.slice(),
      v: v.slice(),
      tau: tau.slice(),
      forces: this.forces ? this.forces.slice(first, first + this.description.nc) : new Float64Array(this.description.nc),
      energy: [kinetic[0], potential[0], this.elastic()],
      parameters: Object.fromEntries(parameters),
      steps: this.steps,
      unsolved: { ...this.unsolved },
      ...this.contacts(),
      fault: this.fault,
    };
  }
}

const answers = {
  async start({ description, bytes }) {
    robot = new Mechanism(description, await WebAssembly.compile(bytes));
    return { steps: 0, work: 0 };
  },
  frame({ seconds, motors, pull, parameters }) {
    Object.assign(robot, { motors, pull, wanted: parameters });
    return robot.advance(seconds);
  },
  step({ motors, pull, parameters }) {
    Object.assign(robot, { motors, pull, wanted: parameters });
    if (!robot.fault) robot.step();
    return { steps: 1, work: 0 };
  },
  reset() {
    robot.reset();
    return { steps: 0, work: 0 };
  },
  put({ q, v, time, parameters }) {
    robot.wanted = parameters;
    for (const [name, x] of Object.entries(parameters)) robot.inputs[name].set(x);
    robot.put(q, v, time);
    return { steps: 0, work: 0 };
  },
};

onmessage = async ({ data }) => {
  try {
    const done = await answers[data.kind](data);
    postMessage({ ...done, state: robot.state() });
  } catch (error) {
    postMessage({ error: String(error) });
  }
};
