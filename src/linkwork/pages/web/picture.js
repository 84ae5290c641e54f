// What both ways to draw have in common: the camera, lights, and rods, tips and balls in colors.

class Picture {
  constructor(canvas, framing) {
    this.canvas = canvas;
    this.framing = framing;
    this.camera = new Camera(framing);
    this.scale = 1; // pixels of the picture for each of the screen, fewer where frames come too slowly
    this.shown = true;
    this.colored = new Map();
    const [rod, tip, ball] = [new Mesh(), new Mesh(), new Mesh()];
    rod.cylinder(1, 1, [1, 1, 1], placed([0, 0, 0.5], IDENTITY), 14);
    tip.cone(1, 1, [1, 1, 1], placed([0, 0, 0], IDENTITY), 18);
    ball.ball([1, 1, 1], [1, 1, 1], placed([0, 0, 0], IDENTITY), 10);
    this.parts = { rod, tip, ball };
  }

  /** Whether nothing can be drawn at the moment. */
  get lost() {
    return false;
  }

  show(shown) {
    this.shown = shown;
  }

  /** Fewer pixels where less than 45 frames come in a second, and again more where all do. */
  adapt(fps) {
    if (fps < 45) this.scale = Math.max(0.7, 0.85 * this.scale);
    else if (fps > 57) this.scale = Math.min(1, 1.05 * this.scale);
  }

  /** Give the canvas the pixels it has room for; false where it has none. */
  fit(density) {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map((x) => Math.round(x * this.scale * density));
    if (!width || !height) return false;
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    return true;
  }

  /** The light on bodies, the sun of their shadows, and the middle and reach of the ground that is seen. */
  surroundings() {
    const { up, floor, size, xAxis, yAxis } = this.framing;
    const { right, back } = this.camera.axes;
    const { target, offset } = this.camera;
    return {
      light: unit(plus(plus(times(1.0, up), right, -0.45), back, 0.35)),
      sun: unit(plus(plus(times(1.0, up), xAxis, -0.25), yAxis, -0.18)),
      middle: plus(target, up, floor - dot(target, up)),
      reach: 5 * size + 1.2 * norm(offset),
    };
  }

  /** A rod, tip or ball in a color. */
  part(kind, color) {
    const key = `${kind} ${color}`;
    if (!this.colored.has(key)) {
      const mesh = new Mesh();
      Object.assign(mesh, { positions: this.parts[kind].positions, normals: this.parts[kind].normals });
      mesh.colors = mesh.positions.map((_, k) => color[k % 3]);
      this.colored.set(key, this.buffer(mesh));
    }
    return this.colored.get(key);
  }

  line(from, to, radius, color) {
    const along = minus(to, from);
    return [this.part("rod", color), matrixOf(aligned(along), from, [radius, radius, norm(along)])];
  }

  arrow(from, to, radius, color) {
    const along = minus(to, from);
    const head = Math.min(5 * radius, 0.6 * norm(along));
    const neck = plus(to, unit(along), -head);
    return [
      [this.part("rod", color), matrixOf(aligned(along), from, [radius, radius, norm(minus(neck, from))])],
      [this.part("tip", color), matrixOf(aligned(along), neck, [2.3 * radius, 2.3 * radius, head])],
    ];
  }

  dot(at, radius, color) {
    return [this.part("ball", color), matrixOf(IDENTITY, at, [radius, radius, radius])];
  }
}
