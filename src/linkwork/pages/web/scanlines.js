// The picture without a graphics card: triangles row by row, with a depth for each pixel, on a plain canvas.
// Brightness is computed at corners and changes linearly between them; shadows are rows of a darker copy of the ground.

const SHADES = 255; // steps of brightness, up to BRIGHT
const BRIGHT = 1.5;
const NEAR = 1e-4; // of clip coordinates' w: what is nearer is cut off
const FAINT = 0.32;

const bounded = (x, low, high) => Math.max(low, Math.min(high, x));
const fading = (x, from, to) => {
  const t = bounded((x - from) / (to - from), 0, 1);
  return 1 - t * t * (3 - 2 * t);
};
const pixelOf = (r, g, b) => ((255 << 24) | (Math.round(255 * b) << 16) | (Math.round(255 * g) << 8) | Math.round(255 * r)) >>> 0;
const mixed = (from, to, part) => pixelOf(...[0, 8, 16].map((k) => ((from >>> k) & 255) / 255).map((x, k) => x + part * (to[k] - x)));

class PlainPicture extends Picture {
  constructor(canvas, framing) {
    super(canvas, framing);
    this.pen = canvas.getContext("2d", { alpha: false, willReadFrequently: true }); // in this process's own memory
    this.shades = new Map();
    this.corners = 0;
  }

  /** A mesh as arrays: positions, normals, and for each triangle the number of its color. */
  buffer(mesh) {
    const triangles = mesh.positions.length / 9;
    const colors = [];
    const numbers = new Map();
    const color = new Uint16Array(triangles);
    for (let k = 0; k < triangles; k++) {
      const key = mesh.colors.slice(9 * k, 9 * k + 3).join();
      if (!numbers.has(key)) {
        numbers.set(key, colors.length);
        colors.push(key);
      }
      color[k] = numbers.get(key);
    }
    if (3 * triangles > this.corners) {
      this.corners = 3 * triangles;
      for (const name of ["x", "y", "z", "w", "f"]) this[name] = new Float64Array(this.corners + 4); // four from cutting
    }
    return { triangles, points: new Float32Array(mesh.positions), normals: new Float32Array(mesh.normals), color, colors, free: () => undefined };
  }

  /** Pixels of a color by brightness. */
  shadesOf(key) {
    if (!this.shades.has(key)) {
      const base = key.split(",").map((x) => Number(x) ** 2.2);
      const lit = (k) => base.map((x) => Math.min(1, (x * BRIGHT * k) / SHADES) ** (1 / 2.2));
      this.shades.set(key, Uint32Array.from({ length: SHADES + 1 }, (_, k) => pixelOf(...lit(k))));
    }
    return this.shades.get(key);
  }

  /** Room for the pixels of the canvas. */
  fit() {
    if (!super.fit(1)) return false;
    const { width, height } = this.canvas;
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.depths = new Float32Array(width * height);
      this.ground = new Uint32Array(width * height);
      this.shadow = new Uint32Array(width * height);
      this.drawn = "";
    }
    return true;
  }

  /** Draw solids [[buffer, model, glow]], then what is seen through, with shadows and the ground. */
  render(solids, faint, theme) {
    if (!this.fit()) return;
    const { width, height } = this.canvas;
    const { camera, framing } = this;
    const around = this.surroundings();
    this.eye = camera.eye;
    this.view = camera.viewProjection(width / height);
    const now = [width, height, theme.paper, this.view].join();
    if (now !== this.drawn) this.drawGround(theme, around);
    this.drawn = now;
    this.pixels.set(this.ground);
    this.depths.fill(1);
    if (dot(this.eye, framing.up) > framing.floor) {
      const flat = flattened(framing.up, around.sun, framing.floor);
      for (const [item, model] of [...solids, ...faint]) this.drawShadow(item, product(this.view, product(flat, model)));
    }
    const lights = { light: around.light, sky: theme.sky, glow: 0 };
    for (const [item, model, glow] of solids) this.drawBody(item, model, { ...lights, glow: glow || 0 }, false);
    for (const [item, model] of faint) this.drawBody(item, model, lights, true);
    this.pen.putImageData(this.image, 0, 0);
  }

  /** Squares of the ground, bright and in shadow, once for each place of the camera. Along a row, points are linear. */
  drawGround(theme, { middle, reach }) {
    const { width, height } = this.canvas;
    const { up, floor, square, size, xAxis, yAxis } = this.framing;
    const { camera, eye, ground, shadow } = this;
    const paper = pixelOf(...theme.paper);
    const black = mixed(paper, [0, 0, 0], theme.shadow);
    ground.fill(paper);
    shadow.fill(paper);
    const { right } = camera.axes;
    const step = (2 * camera.slope[0]) / width; // from pixel to pixel, in units of a ray
    const [stepX, stepY] = [step * dot(right, xAxis), step * dot(right, yAxis)];
    const [mx, my] = [dot(middle, xAxis) / square, dot(middle, yAxis) / square];
    const lines = (x, wx, y, wy, thin) => Math.max(line(x, wx, thin), line(y, wy, thin));
    const line = (x, w, thin) => {
      const apart = Math.abs(x - Math.round(x)) / w;
      return apart > thin + 0.5 ? 0 : bounded(thin + 0.5 - apart, 0, 1) * fading(w, 0.25, 0.6);
    };
    for (let row = 0; row < height; row++) {
      const ray = camera.ray(-1 + 1 / width, 1 - (2 * row + 1) / height);
      const far = (floor - dot(eye, up)) / dot(ray, up);
      if (!(far > 0)) continue;
      const next = camera.ray(-1 + 1 / width, 1 - (2 * row + 3) / height);
      const farther = (floor - dot(eye, up)) / dot(next, up);
      const place = (axis, s, r) => (dot(eye, axis) + s * dot(r, axis)) / square;
      let [x, y, below, beside] = [place(xAxis, far, ray), place(yAxis, far, ray), place(xAxis, farther, next), place(yAxis, farther, next)];
      const [dx, dy, dBelow, dBeside] = [far * stepX, far * stepY, farther * stepX, farther * stepY].map((d) => d / square);
      for (let o = row * width; o < (row + 1) * width; o++, x += dx, y += dy, below += dBelow, beside += dBeside) {
        const distance = square * Math.hypot(x - mx, y - my);
        if (distance >= reach) continue;
        const wx = Math.abs(dx) + Math.abs(below - x) + 1e-6;
        const wy = Math.abs(dy) + Math.abs(beside - y) + 1e-6;
        const fade = fading(distance, 0.12 * reach, reach);
        const strength = Math.max(0.32 * lines(x, wx, y, wy, 0.5), 0.62 * lines(x / 5, wx / 5, y / 5, wy / 5, 0.7)) * fade * fade;
        const dark = distance < 1.5 * size ? 1 : fading(distance, 1.5 * size, 3 * size);
        if (strength > 0.004) {
          ground[o] = mixed(paper, theme.line, strength);
          shadow[o] = mixed(ground[o], [0, 0, 0], theme.shadow * dark);
        } else if (dark === 1) shadow[o] = black;
        else if (dark > 0) shadow[o] = mixed(paper, [0, 0, 0], theme.shadow * dark);
      }
    }
  }

  /** Corners of a mesh in clip coordinates, then in pixels. */
  place(points, n, m) {
    const { x, y, z, w } = this;
    const [halfX, halfY] = [this.canvas.width / 2, this.canvas.height / 2];
    for (let k = 0; k < n; k++) {
      const px = points[3 * k], py = points[3 * k + 1], pz = points[3 * k + 2];
      const cw = m[3] * px + m[7] * py + m[11] * pz + m[15];
      const cx = m[0] * px + m[4] * py + m[8] * pz + m[12];
      const cy = m[1] * px + m[5] * py + m[9] * pz + m[13];
      const cz = m[2] * px + m[6] * py + m[10] * pz + m[14];
      w[k] = cw;
      if (cw < NEAR) [x[k], y[k], z[k]] = [cx, cy, cz]; // stays as it is, for cutting
      else {
        x[k] = (cx / cw + 1) * halfX;
        y[k] = (1 - cy / cw) * halfY;
        z[k] = cz / cw;
      }
    }
  }

  /** Brightness of a corner, up to SHADES: the dome of the sky, and the sun, on the side that is seen. */
  shine(corner, { points, normals }, m, { light, sky, glow }) {
    const { up } = this.framing;
    const { eye } = this;
    const i = 3 * corner;
    const nx = normals[i], ny = normals[i + 1], nz = normals[i + 2];
    const ax = m[0] * nx + m[4] * ny + m[8] * nz, ay = m[1] * nx + m[5] * ny + m[9] * nz, az = m[2] * nx + m[6] * ny + m[10] * nz;
    const px = points[i], py = points[i + 1], pz = points[i + 2];
    const ex = eye[0] - m[0] * px - m[4] * py - m[8] * pz - m[12];
    const ey = eye[1] - m[1] * px - m[5] * py - m[9] * pz - m[13];
    const ez = eye[2] - m[2] * px - m[6] * py - m[10] * pz - m[14];
    const size = (ax * ex + ay * ey + az * ez < 0 ? -1 : 1) / Math.sqrt(ax * ax + ay * ay + az * az);
    const dome = 0.5 + 0.5 * size * (ax * up[0] + ay * up[1] + az * up[2]);
    const sun = size * (ax * light[0] + ay * light[1] + az * light[2]);
    const bright = sky * (0.55 + 0.45 * dome) + (sun > 0 ? 0.58 * sun : 0) + glow;
    return (SHADES / BRIGHT) * (bright > BRIGHT ? BRIGHT : bright);
  }

  /** A body, or one that is seen through, under lights { light, sky, glow }. */
  drawBody(item, model, lights, seenThrough) {
    const { triangles, color } = item;
    const { f } = this;
    const tables = item.colors.map((key) => this.shadesOf(key));
    this.place(item.points, 3 * triangles, product(this.view, model));
    const lit = (t) => {
      for (let c = 3 * t; c < 3 * t + 3; c++) f[c] = this.shine(c, item, model, lights);
    };
    if (seenThrough) this.each(triangles, lit, (i, j, k, t) => this.veil(i, j, k, tables[color[t]]));
    else this.each(triangles, lit, (i, j, k, t) => this.fill(i, j, k, tables[color[t]]));
  }

  drawShadow(item, matrix) {
    this.place(item.points, 3 * item.triangles, matrix);
    this.each(item.triangles, () => undefined, (i, j, k) => this.darken(i, j, k));
  }

  /** Call `lit(triangle)`, then `drawn(i, j, k, triangle)` with corners, for all that may be seen; those near the eye are cut. */
  each(triangles, lit, drawn) {
    const { x, y, w } = this;
    const { width, height } = this.canvas;
    for (let t = 0; t < triangles; t++) {
      const i = 3 * t, j = i + 1, k = i + 2;
      const behind = (w[i] < NEAR) + (w[j] < NEAR) + (w[k] < NEAR);
      if (behind === 3) continue;
      if (behind) {
        lit(t);
        this.cut(i, j, k, drawn, t);
        continue;
      }
      const top = Math.ceil(Math.min(y[i], y[j], y[k]) - 0.5), bottom = Math.ceil(Math.max(y[i], y[j], y[k]) - 0.5);
      if (top === bottom || bottom <= 0 || top >= height) continue; // no middle of a row of pixels is in it
      const left = Math.ceil(Math.min(x[i], x[j], x[k]) - 0.5), right = Math.ceil(Math.max(x[i], x[j], x[k]) - 0.5);
      if (left === right || right <= 0 || left >= width) continue;
      lit(t);
      drawn(i, j, k, t);
    }
  }

  /** The part of a triangle in front of the eye: three or four corners. */
  cut(i, j, k, drawn, t) {
    const { x, y, z, w, f, corners } = this;
    const [halfX, halfY] = [this.canvas.width / 2, this.canvas.height / 2];
    const clip = (a) => (w[a] < NEAR ? [x[a], y[a], z[a], w[a], f[a]] : [(x[a] / halfX - 1) * w[a], (1 - y[a] / halfY) * w[a], z[a] * w[a], w[a], f[a]]);
    const ends = [i, j, k].map(clip);
    let n = 0;
    const keep = ([cx, cy, cz, cw, cf]) => {
      const at = corners + n++;
      [x[at], y[at], z[at], w[at], f[at]] = [(cx / cw + 1) * halfX, (1 - cy / cw) * halfY, cz / cw, cw, cf];
    };
    ends.forEach((a, side) => {
      const b = ends[(side + 1) % 3];
      if (a[3] >= NEAR) keep(a);
      if (a[3] < NEAR !== b[3] < NEAR) {
        const part = (NEAR - a[3]) / (b[3] - a[3]);
        keep(a.map((value, c) => value + part * (b[c] - value)));
      }
    });
    drawn(corners, corners + 1, corners + 2, t);
    if (n === 4) drawn(corners, corners + 2, corners + 3, t);
  }

  /** The rows of a triangle: `span(from, to, x, y)` with places of its pixels and the middle of the first. */
  rows(i, j, k, span) {
    const { x, y } = this;
    const { width, height } = this.canvas;
    if (y[j] < y[i]) [i, j] = [j, i];
    if (y[k] < y[j]) [j, k] = [k, j];
    if (y[j] < y[i]) [i, j] = [j, i];
    const x0 = x[i], y0 = y[i], x1 = x[j], y1 = y[j], x2 = x[k], y2 = y[k];
    const last = Math.min(height, Math.ceil(y2 - 0.5));
    const long = (x2 - x0) / (y2 - y0), upper = (x1 - x0) / (y1 - y0), lower = (x2 - x1) / (y2 - y1);
    for (let row = Math.max(0, Math.ceil(y0 - 0.5)); row < last; row++) {
      const middle = row + 0.5;
      const a = x0 + (middle - y0) * long;
      const b = middle < y1 ? x0 + (middle - y0) * upper : x1 + (middle - y1) * lower;
      const from = Math.max(0, Math.ceil((a < b ? a : b) - 0.5));
      const to = Math.min(width, Math.ceil((a < b ? b : a) - 0.5));
      if (from < to) span(row * width + from, row * width + to, from + 0.5, middle);
    }
  }

  fill(i, j, k, table) {
    const { x, y, z, f, depths, pixels } = this;
    const ax = x[j] - x[i], ay = y[j] - y[i], bx = x[k] - x[i], by = y[k] - y[i];
    const area = ax * by - bx * ay;
    if (!area) return;
    const za = z[j] - z[i], zb = z[k] - z[i], fa = f[j] - f[i], fb = f[k] - f[i];
    const zx = (za * by - zb * ay) / area, zy = (zb * ax - za * bx) / area;
    const fx = (fa * by - fb * ay) / area, fy = (fb * ax - fa * bx) / area;
    this.rows(i, j, k, (from, to, px, py) => {
      let depth = z[i] + zx * (px - x[i]) + zy * (py - y[i]);
      let bright = f[i] + fx * (px - x[i]) + fy * (py - y[i]);
      for (let o = from; o < to; o++, depth += zx, bright += fx) {
        if (depth >= depths[o]) continue;
        depths[o] = depth;
        pixels[o] = table[bright | 0];
      }
    });
  }

  /** A triangle that is seen through: it hides nothing. */
  veil(i, j, k, table) {
    const { x, y, z, f, depths, pixels } = this;
    const ax = x[j] - x[i], ay = y[j] - y[i], bx = x[k] - x[i], by = y[k] - y[i];
    const area = ax * by - bx * ay;
    if (!area) return;
    const za = z[j] - z[i], zb = z[k] - z[i];
    const zx = (za * by - zb * ay) / area, zy = (zb * ax - za * bx) / area;
    const color = table[Math.min(SHADES, (f[i] + f[j] + f[k]) / 3) | 0];
    const part = Math.round(256 * FAINT);
    const [odd, even] = [(color & 0xff00ff) * part, (color & 0x00ff00) * part];
    this.rows(i, j, k, (from, to, px, py) => {
      let depth = z[i] + zx * (px - x[i]) + zy * (py - y[i]);
      for (let o = from; o < to; o++, depth += zx) {
        if (depth >= depths[o]) continue;
        const under = pixels[o];
        const red = ((odd + (under & 0xff00ff) * (256 - part)) >>> 8) & 0xff00ff;
        const green = ((even + (under & 0x00ff00) * (256 - part)) >>> 8) & 0x00ff00;
        pixels[o] = 0xff000000 | red | green;
      }
    });
  }

  darken(i, j, k) {
    const { pixels, shadow } = this;
    this.rows(i, j, k, (from, to) => {
      for (let o = from; o < to; o++) pixels[o] = shadow[o];
    });
  }
}
