// The picture by a graphics card: bodies under a soft light, their shadows on squares of the ground. WebGL 2.

const BODY_VERTEX = `#version 300 es
in vec3 position; in vec3 normal; in vec3 color;
uniform mat4 viewProjection; uniform mat4 model;
out vec3 vNormal; out vec3 vColor; out vec3 vPosition;
void main() {
  vec4 world = model * vec4(position, 1.0);
  vNormal = mat3(model) * normal; vColor = color; vPosition = world.xyz;
  gl_Position = viewProjection * world;
}`;
const BODY_FRAGMENT = `#version 300 es
precision highp float;
in vec3 vNormal; in vec3 vColor; in vec3 vPosition;
uniform vec3 eye; uniform vec3 up; uniform vec3 light; uniform float alpha; uniform float sky; uniform float glow;
out vec4 result;
void main() {
  vec3 n = normalize(vNormal), toEye = normalize(eye - vPosition);
  if (dot(n, toEye) < 0.0) n = -n;
  float dome = 0.5 + 0.5 * dot(n, up);
  float sun = max(dot(n, light), 0.0);
  float shine = pow(max(dot(n, normalize(light + toEye)), 0.0), 42.0);
  float rim = pow(1.0 - max(dot(n, toEye), 0.0), 3.0);
  vec3 base = pow(vColor, vec3(2.2));
  vec3 lit = base * (sky * mix(0.55, 1.0, dome) + 0.58 * sun) + vec3(0.16) * shine + rim * 0.10 * sky + glow * base;
  result = vec4(pow(lit, vec3(1.0 / 2.2)), 1.0) * alpha;
}`;
const SHADOW_FRAGMENT = `#version 300 es
precision highp float;
in vec3 vNormal; in vec3 vColor; in vec3 vPosition;
uniform vec3 middle; uniform float reach; uniform float depth;
out vec4 result;
void main() {
  float fade = 1.0 - smoothstep(0.5 * reach, reach, distance(vPosition, middle));
  result = vec4(0.0, 0.0, 0.0, depth * fade);
}`;
const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec3 vNormal; in vec3 vColor; in vec3 vPosition;
uniform vec3 middle; uniform float reach; uniform float square; uniform vec3 lineColor; uniform vec3 xAxis; uniform vec3 yAxis;
out vec4 result;
float lines(vec2 x, float width) {
  vec2 w = fwidth(x) + 1e-6;
  vec2 d = abs(fract(x - 0.5) - 0.5) / w;
  vec2 near = 1.0 - smoothstep(width - 0.5, width + 0.5, d);
  vec2 seen = 1.0 - smoothstep(0.25, 0.6, w);
  return max(near.x * seen.x, near.y * seen.y);
}
void main() {
  vec2 x = vec2(dot(vPosition, xAxis), dot(vPosition, yAxis)) / square;
  float strength = max(0.32 * lines(x, 0.5), 0.62 * lines(x / 5.0, 0.7));
  float fade = 1.0 - smoothstep(0.12 * reach, reach, distance(vPosition, middle));
  float a = strength * fade * fade;
  result = vec4(lineColor * a, a);
}`;

class CardPicture extends Picture {
  constructor(canvas, framing) {
    super(canvas, framing);
    this.gl = canvas.getContext("webgl2", { antialias: true, stencil: true, alpha: true, premultipliedAlpha: true });
    this.setUp();
  }

  get lost() {
    return this.gl.isContextLost();
  }

  /** Everything that lives in the memory of the graphics card. */
  setUp() {
    this.programs = { body: this.program(BODY_FRAGMENT), shadow: this.program(SHADOW_FRAGMENT), ground: this.program(GROUND_FRAGMENT) };
    this.generation = (this.generation || 0) + 1;
    this.colored = new Map();
    const plane = new Mesh();
    const n = [0, 0, 1];
    plane.quad([-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [n, n, n, n], [1, 1, 1]);
    this.plane = this.buffer(plane);
  }

  /** Give the graphics card back while nobody looks: browsers serve a dozen pages at a time. `restored` draws anew. */
  show(shown, restored) {
    const { lost } = this;
    this.loser ??= this.gl.getExtension("WEBGL_lose_context");
    this.shown = shown;
    if (!shown && !lost) this.loser?.loseContext();
    if (shown && lost) {
      const again = () => {
        this.setUp();
        restored();
      };
      this.canvas.addEventListener("webglcontextrestored", again, { once: true });
      this.loser?.restoreContext();
    }
  }

  program(fragment) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, BODY_VERTEX], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    ["position", "normal", "color"].forEach((name, k) => gl.bindAttribLocation(program, k, name));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const places = {};
    for (let k = 0; k < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); k++) {
      const { name, type } = gl.getActiveUniform(program, k);
      places[name] = [gl.getUniformLocation(program, name), type];
    }
    return { program, places };
  }

  /** A mesh in the memory of the graphics card; free() gives it back. */
  buffer(mesh) {
    const gl = this.gl;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const buffers = [mesh.positions, mesh.normals, mesh.colors].map((values, k) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.STATIC_DRAW);
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 0, 0);
      return buffer;
    });
    const made = this.generation;
    const free = () => {
      if (made !== this.generation) return; // lost with the context that it was made in
      buffers.forEach((buffer) => gl.deleteBuffer(buffer));
      gl.deleteVertexArray(array);
    };
    return { array, count: mesh.positions.length / 3, free };
  }

  use(name, values) {
    const gl = this.gl;
    const { program, places } = this.programs[name];
    gl.useProgram(program);
    for (const [key, value] of Object.entries(values)) this.set(places, key, value);
    return places;
  }

  set(places, key, value) {
    const gl = this.gl;
    const known = places[key];
    if (!known) return;
    if (known[1] === gl.FLOAT) gl.uniform1f(known[0], value);
    else if (known[1] === gl.FLOAT_VEC3) gl.uniform3fv(known[0], value);
    else gl.uniformMatrix4fv(known[0], false, value);
  }

  draw(places, item, model) {
    const gl = this.gl;
    this.set(places, "model", model);
    gl.bindVertexArray(item.array);
    gl.drawArrays(gl.TRIANGLES, 0, item.count);
  }

  /** Draw solids [[buffer, model]], then what is seen through, with shadows and the ground. */
  render(solids, faint, theme) {
    const gl = this.gl;
    if (this.lost) return;
    if (!this.fit(Math.min(window.devicePixelRatio || 1, 2))) return;
    const { width, height } = this.canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const { up, floor, square, size, xAxis, yAxis } = this.framing;
    const camera = this.camera;
    const viewProjection = camera.viewProjection(width / height);
    const { light, sun, middle, reach } = this.surroundings();
    const common = { viewProjection, eye: camera.eye, up, light, alpha: 1, sky: theme.sky, glow: 0 };

    if (dot(camera.eye, up) > floor) {
      gl.depthMask(false);
      const ground = this.use("ground", { ...common, middle, reach, square, lineColor: theme.line, xAxis, yAxis });
      this.draw(ground, this.plane, matrixOf([xAxis[0], yAxis[0], up[0], xAxis[1], yAxis[1], up[1], xAxis[2], yAxis[2], up[2]], middle, [reach, reach, 1]));
      gl.enable(gl.STENCIL_TEST);
      gl.stencilFunc(gl.EQUAL, 0, 255);
      gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
      const shadow = this.use("shadow", { ...common, middle, reach: 3 * size, depth: theme.shadow });
      const flat = flattened(up, sun, floor);
      for (const [item, model] of [...solids, ...faint]) this.draw(shadow, item, product(flat, model));
      gl.disable(gl.STENCIL_TEST);
      gl.depthMask(true);
    }
    const body = this.use("body", common);
    for (const [item, model, glow] of solids) {
      this.set(body, "glow", glow || 0);
      this.draw(body, item, model);
    }
    this.set(body, "glow", 0);
    this.set(body, "alpha", 0.32);
    gl.depthMask(false);
    for (const [item, model] of faint) this.draw(body, item, model);
    gl.depthMask(true);
  }
}
