// Where one looks from, and matrices, column by column as WebGL has them.

/** The matrix of a rotation, row by row, a position, and scales of the axes. */
const matrixOf = (R, p, s = [1, 1, 1]) => [
  R[0] * s[0], R[3] * s[0], R[6] * s[0], 0, R[1] * s[1], R[4] * s[1], R[7] * s[1], 0,
  R[2] * s[2], R[5] * s[2], R[8] * s[2], 0, p[0], p[1], p[2], 1,
];
const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];

function product(a, b) {
  const c = new Array(16).fill(0);
  for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
  return c;
}

const RAISED = 0.12; // what is looked at is this part of half the picture above its middle: controls are below
const ROOM = 0.8; // of the height of the picture, which a mechanism needs to be drawn in full size

class Camera {
  constructor(framing) {
    this.up = framing.up;
    this.size = framing.size;
    this.fov = framing.fov;
    this.home = framing;
    this.raised = RAISED;
    this.part = 1;
    this.reset();
  }

  reset() {
    this.target = [...this.home.center];
    this.offset = minus(this.home.eye, this.home.center);
  }

  /** Draw in the middle of what is between two heights, as parts of the picture's, from above; by default in all of it. */
  between(top, bottom) {
    this.raised = bottom === undefined ? RAISED : 1 - top - bottom;
    this.part = bottom === undefined ? 1 : Math.min(1, Math.max(0.4, (bottom - top) / ROOM));
  }

  get eye() {
    return plus(this.target, this.offset);
  }

  get axes() {
    const back = unit(this.offset);
    const right = unit(cross(this.up, back));
    return { right, up: cross(back, right), back };
  }

  turn(dx, dy) {
    const spin = (x, axis, angle) => {
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      return plus(plus(times(c, x), cross(axis, x), s), axis, dot(axis, x) * (1 - c));
    };
    this.offset = spin(this.offset, this.up, -dx);
    const raised = spin(this.offset, this.axes.right, -dy);
    if (Math.abs(dot(unit(raised), this.up)) < 0.995) this.offset = raised;
  }

  pan(dx, dy) {
    const far = norm(this.offset);
    const { right, up } = this.axes;
    this.target = plus(plus(this.target, right, -dx * far), up, dy * far);
  }

  zoom(factor) {
    const far = norm(this.offset) * factor;
    if (far > 0.05 * this.size && far < 60 * this.size) this.offset = times(factor, this.offset);
  }

  viewProjection(aspect) {
    const { right, up, back } = this.axes;
    const eye = this.eye;
    const view = [
      right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
      -dot(right, eye), -dot(up, eye), -dot(back, eye), 1,
    ];
    const [near, far] = [0.02 * norm(this.offset), norm(this.offset) + 80 * this.size];
    const f = 1 / Math.tan(this.fov / 2) / Math.max(1, 1.15 / aspect) * this.part;
    const projection = [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, -this.raised, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
    this.slope = [aspect / f, 1 / f];
    return product(projection, view);
  }

  /** The ray through a point of the canvas, from -1 to 1 each. */
  ray(x, y) {
    const { right, up, back } = this.axes;
    return plus(plus(times(-1, back), right, x * this.slope[0]), up, (y - this.raised) * this.slope[1]);
  }
}

/** The matrix that projects along the sun onto the ground, a little above it. */
function flattened(up, sun, floor) {
  const d = dot(up, sun);
  const m = new Array(16).fill(0);
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 3; j++) m[4 * j + i] = (i === j ? 1 : 0) - (sun[i] * up[j]) / d;
    m[12 + i] = (sun[i] * floor) / d;
  }
  m[15] = 1;
  return m;
}
