// Curves that scroll: the last seconds of chosen numbers of the state.

const CURVES = ["#4c9be8", "#e8743b", "#3fb68b", "#c678dd", "#e5b567", "#e06c9f", "#56b6c2", "#9aa5b1"];
const SECONDS = 6;

class Plot {
  constructor(canvas, legend, groups) {
    this.canvas = canvas;
    this.legend = legend;
    this.groups = groups;
    this.choose(0);
  }

  choose(k) {
    this.group = this.groups[k];
    this.clear();
    this.legend.replaceChildren(
      ...this.group.curves.slice(0, CURVES.length).map((curve, j) => {
        const item = document.createElement("span");
        const mark = document.createElement("i");
        mark.style.background = CURVES[j];
        const words = document.createElement("span");
        words.textContent = curve.name;
        const value = document.createElement("b");
        item.append(mark, words, value);
        return item;
      }),
    );
    this.values = [...this.legend.querySelectorAll("b")];
  }

  clear() {
    this.times = [];
    this.samples = this.group.curves.slice(0, CURVES.length).map(() => []);
  }

  push(state) {
    const last = this.times[this.times.length - 1];
    if (last !== undefined && state.time < last) this.clear();
    if (last === state.time) return;
    this.times.push(state.time);
    this.samples.forEach((samples, k) => samples.push(read(state, this.group.curves[k])));
    while (this.times[0] < state.time - SECONDS) {
      this.times.shift();
      this.samples.forEach((samples) => samples.shift());
    }
  }

  draw(theme) {
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const { clientWidth, clientHeight } = this.canvas;
    const [width, height] = [Math.round(clientWidth * scale), Math.round(clientHeight * scale)];
    if (!width || !height) return;
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const pen = this.canvas.getContext("2d", { willReadFrequently: true }) /* small: quicker without the graphics card */;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, clientWidth, clientHeight);
    if (!this.times.length) return;
    let [low, high] = [Infinity, -Infinity];
    for (const samples of this.samples) for (const x of samples) [low, high] = [Math.min(low, x), Math.max(high, x)];
    const middle = (low + high) / 2;
    const half = Math.max((high - low) / 2, 1e-9 + 1e-3 * Math.abs(middle)) * 1.12;
    [low, high] = [middle - half, middle + half];
    const end = this.times[this.times.length - 1];
    const left = 46;
    const x = (t) => left + ((t - end + SECONDS) / SECONDS) * (clientWidth - left - 4);
    const y = (value) => 6 + ((high - value) / (high - low)) * (clientHeight - 12);
    pen.font = "10px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.lineWidth = 1;
    for (const value of ticks(low, high)) {
      pen.strokeStyle = theme.grid;
      pen.beginPath();
      pen.moveTo(left, y(value));
      pen.lineTo(clientWidth, y(value));
      pen.stroke();
      pen.fillStyle = theme.faint;
      pen.fillText(short(value), left - 6, y(value));
    }
    pen.lineWidth = 1.6;
    pen.lineJoin = "round";
    this.samples.forEach((samples, k) => {
      pen.strokeStyle = CURVES[k];
      pen.beginPath();
      samples.forEach((value, j) => pen.lineTo(x(this.times[j]), y(value)));
      pen.stroke();
    });
  }

  /** Write the last values beside the names. */
  tell() {
    this.samples.forEach((samples, k) => {
      if (samples.length) this.values[k].textContent = `${short(samples[samples.length - 1])} ${this.group.unit}`;
    });
  }
}

/** A number of a state that a curve shows: an entry, the length of several, or a sum. */
function read(state, curve) {
  if (curve.length) return Math.hypot(...Array.from(state[curve.of].subarray(curve.at, curve.at + curve.length)));
  if (curve.sum) return state.energy.reduce((sum, part) => sum + part);
  return state[curve.of][curve.at];
}

function ticks(low, high) {
  const rough = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((k) => k * power >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(Math.abs(value) < 1e-9 * step ? 0 : value);
  return found;
}

function short(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(1);
  return String(Number(x.toPrecision(size >= 100 ? 4 : 3)));
}
