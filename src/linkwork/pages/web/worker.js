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
    this.time = time;
    this.targets = new Map();
    this.owed = 0;
    this.forces = null;
    this.fault = "";
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
    const { q, v, settings } = this.inputs;
    this.follow();
    this.drive();
    this.hold();
    settings[1] = 2;
    this.functions.step();
    const { q1, v1, result } = this.outputs.step;
    if (!(q1.every(Number.isFinite) && v1.every(Number.isFinite))) {
      this.fault = "The state is not finite any more: a motor, a mass or the hand was too much for steps of this length. Reset.";
      return;
    }
    q.set(q1);
    v.set(v1);
    this.forces = result || null;
    this.time += this.description.dt;
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
    const { q, v, tau, settings, wrenches, ...parameters } = this.inputs;
    return {
      time: this.time,
      rotation: rotation.slice(),
      position: position.slice(),
      q: q.slice(),
      v: v.slice(),
      tau: tau.slice(),
      forces: this.forces ? this.forces.slice(2, 2 + this.description.nc) : new Float64Array(this.description.nc),
      energy: [kinetic[0], potential[0]],
      parameters: Object.fromEntries(Object.entries(parameters).map(([name, x]) => [name, x.slice()])),
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
