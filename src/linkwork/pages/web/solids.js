// Triangles of solids, as flat arrays of positions, normals and colors; rotations are matrices, row by row.

/**
 * Whether a graphics card draws; otherwise the page draws by itself, and rounds have fewer facets.
 * An address that ends in `?draw=webgl` or `?draw=canvas` decides it.
 */
const CARD = (() => {
  const wish = new URLSearchParams(location.search).get("draw");
  if (wish === "canvas") return false;
  if (wish === "webgl") return Boolean(document.createElement("canvas").getContext("webgl2"));
  const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  const known = gl && gl.getExtension("WEBGL_debug_renderer_info");
  const name = known ? gl.getParameter(known.UNMASKED_RENDERER_WEBGL) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext(); // browsers have few of them
  return Boolean(gl) && !/swiftshader|llvmpipe|software/i.test(name);
})();

const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const plus = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const times = (s, a) => [s * a[0], s * a[1], s * a[2]];
const norm = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => times(1 / (norm(a) || 1), a);
const rotate = (R, x) => [dot(R.slice(0, 3), x), dot(R.slice(3, 6), x), dot(R.slice(6, 9), x)];
const rotateBack = (R, x) => [0, 1, 2].map((k) => R[k] * x[0] + R[3 + k] * x[1] + R[6 + k] * x[2]);

/** A rotation whose third axis is a direction. */
function aligned(direction) {
  const z = unit(direction);
  const x = unit(cross(Math.abs(z[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0], z));
  const y = cross(z, x);
  return [x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]];
}

/** Triangles that grow. */
class Mesh {
  constructor() {
    this.positions = [];
    this.normals = [];
    this.colors = [];
  }

  triangle(points, normals, color) {
    for (let k = 0; k < 3; k++) {
      this.positions.push(...points[k]);
      this.normals.push(...normals[k]);
      this.colors.push(...color);
    }
  }

  quad(a, b, c, d, normals, color) {
    this.triangle([a, b, c], [normals[0], normals[1], normals[2]], color);
    this.triangle([a, c, d], [normals[0], normals[2], normals[3]], color);
  }

  /** A surface of revolution about z: profile points [radius, height, normal's radius, normal's height]. */
  turned(profile, color, move, most = 28) {
    const facets = CARD ? most : Math.ceil(0.6 * most);
    const at = (p, angle) => {
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      return [move.point([p[0] * c, p[0] * s, p[1]]), move.normal([p[2] * c, p[2] * s, p[3]])];
    };
    for (let k = 0; k < facets; k++) {
      const [from, to] = [(2 * Math.PI * k) / facets, (2 * Math.PI * (k + 1)) / facets];
      for (let j = 0; j + 1 < profile.length; j++) {
        const [a, b, c, d] = [at(profile[j], from), at(profile[j], to), at(profile[j + 1], to), at(profile[j + 1], from)];
        this.quad(a[0], b[0], c[0], d[0], [a[1], b[1], c[1], d[1]], color);
      }
    }
  }

  box(size, color, move) {
    const half = times(0.5, size);
    for (let axis = 0; axis < 3; axis++) {
      for (const side of [-1, 1]) {
        const [u, w] = [(axis + 1) % 3, (axis + 2) % 3];
        const corner = (a, b) => {
          const x = [0, 0, 0];
          x[axis] = side * half[axis];
          x[u] = a * half[u];
          x[w] = b * half[w];
          return move.point(x);
        };
        const n = [0, 0, 0];
        n[axis] = side;
        const normal = move.normal(n);
        const corners = [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)];
        this.quad(...(side > 0 ? corners : corners.reverse()), [normal, normal, normal, normal], color);
      }
    }
  }

  /** A ball, or an ellipsoid with radii. */
  ball(radii, color, move, most = 14) {
    const rings = CARD ? most : Math.ceil(0.6 * most);
    const stretched = {
      point: (x) => move.point([x[0] * radii[0], x[1] * radii[1], x[2] * radii[2]]),
      normal: (n) => move.normal(unit([n[0] / radii[0], n[1] / radii[1], n[2] / radii[2]])),
    };
    const profile = [];
    for (let k = 0; k <= rings; k++) {
      const a = (Math.PI * k) / rings;
      profile.push([Math.sin(a), -Math.cos(a), Math.sin(a), -Math.cos(a)]);
    }
    this.turned(profile, color, stretched, 2 * most);
  }

  cylinder(radius, length, color, move, facets = 28) {
    const h = length / 2;
    this.turned([[0, -h, 0, -1], [radius, -h, 0, -1]], color, move, facets);
    this.turned([[radius, -h, 1, 0], [radius, h, 1, 0]], color, move, facets);
    this.turned([[radius, h, 0, 1], [0, h, 0, 1]], color, move, facets);
  }

  capsule(radius, length, color, move, facets = 20) {
    const profile = [];
    const rings = 4;
    for (let k = 0; k <= 2 * rings + 1; k++) {
      const lower = k <= rings;
      const a = (Math.PI * (lower ? k : k - 1)) / (2 * rings);
      const [s, c] = [Math.sin(a), -Math.cos(a)];
      profile.push([radius * s, radius * c + (lower ? -length / 2 : length / 2), s, c]);
    }
    this.turned(profile, color, move, facets);
  }

  /** A rod with round ends between two points. */
  rod(from, to, radius, color, facets = 14) {
    const along = minus(to, from);
    if (norm(along) < 1e-9) return;
    this.capsule(radius, norm(along), color, placed(times(0.5, plus(from, to)), aligned(along)), facets);
  }

  cone(radius, length, color, move, facets = 24) {
    const slope = Math.hypot(radius, length);
    this.turned([[radius, 0, length / slope, radius / slope], [0, length, length / slope, radius / slope]], color, move, facets);
    this.turned([[0, 0, 0, -1], [radius, 0, 0, -1]], color, move, facets);
  }

  /** Triangles of a file: corners and indices, with flat faces. */
  faces(vertices, indices, color, move) {
    for (let k = 0; k < indices.length; k += 3) {
      const p = [0, 1, 2].map((j) => {
        const i = 3 * indices[k + j];
        return move.point([vertices[i], vertices[i + 1], vertices[i + 2]]);
      });
      const n = unit(cross(minus(p[1], p[0]), minus(p[2], p[0])));
      this.triangle(p, [n, n, n], color);
    }
  }

  /** A shape of a body, as the page's data has it. */
  shape(shape, meshes) {
    const move = placed(shape.position, shape.rotation);
    const color = shape.color;
    if (shape.kind === "box") this.box(shape.size, color, move);
    else if (shape.kind === "ball") this.ball(shape.size, color, move);
    else if (shape.kind === "cylinder") this.cylinder(...shape.size, color, move);
    else if (shape.kind === "capsule") this.capsule(...shape.size, color, move);
    else if (shape.kind === "mesh") this.faces(...meshes[shape.mesh], color, move);
  }
}

/** How points and normals of a solid are put into its body. */
function placed(position, rotation) {
  return { point: (x) => plus(position, rotate(rotation, x)), normal: (n) => rotate(rotation, n) };
}

/** Where a ray meets triangles first: its parameter, or Infinity (Moeller and Trumbore). */
function hit(positions, origin, direction) {
  let best = Infinity;
  for (let i = 0; i < positions.length; i += 9) {
    const a = [positions[i], positions[i + 1], positions[i + 2]];
    const u = [positions[i + 3] - a[0], positions[i + 4] - a[1], positions[i + 5] - a[2]];
    const w = [positions[i + 6] - a[0], positions[i + 7] - a[1], positions[i + 8] - a[2]];
    const p = cross(direction, w);
    const det = dot(u, p);
    if (Math.abs(det) < 1e-15) continue;
    const s = minus(origin, a);
    const x = dot(s, p) / det;
    if (x < 0 || x > 1) continue;
    const q = cross(s, u);
    const y = dot(direction, q) / det;
    if (y < 0 || x + y > 1) continue;
    const t = dot(w, q) / det;
    if (t > 0 && t < best) best = t;
  }
  return best;
}
