// train, numeric: Adam, stochastic gradient descent over named arrays. May import inference-image, eval and protocol.
/** Adam (D. Kingma, J. Ba, ICLR 2015) over named arrays. */
export class Adam {
  readonly #first = new Map<string, Float32Array>();
  readonly #second = new Map<string, Float32Array>();
  readonly #rate: number;
  readonly #decay: number;
  #steps = 0;

  /** @param decay of the weights, per unit of the rate */
  constructor(rate: number, decay = 0) {
    this.#rate = rate;
    this.#decay = decay;
  }

  /** One step against the gradients, which are emptied. `share` scales the rate. */
  step(weights: Readonly<Record<string, Float32Array>>, gradients: Readonly<Record<string, Float32Array>>, share = 1): void {
    this.#steps += 1;
    const rate = this.#rate * share;
    const scale = (rate * Math.sqrt(1 - 0.999 ** this.#steps)) / (1 - 0.9 ** this.#steps);
    for (const [name, weight] of Object.entries(weights)) {
      const gradient = gradients[name];
      if (gradient === undefined) continue;
      update(weight, gradient, this.#of(this.#first, name, weight), this.#of(this.#second, name, weight), scale, rate * this.#decay);
    }
  }

  #of(all: Map<string, Float32Array>, name: string, like: Float32Array): Float32Array {
    const known = all.get(name) ?? new Float32Array(like.length);
    all.set(name, known);
    return known;
  }
}

function update(w: Float32Array, g: Float32Array, first: Float32Array, second: Float32Array, scale: number, decay: number): void {
  for (let i = 0; i < w.length; i += 1) {
    const gradient = g[i] as number;
    const m = 0.9 * (first[i] as number) + 0.1 * gradient;
    const v = 0.999 * (second[i] as number) + 0.001 * gradient * gradient;
    first[i] = m;
    second[i] = v;
    w[i] = (w[i] as number) * (1 - decay) - (scale * m) / (Math.sqrt(v) + 1e-8);
    g[i] = 0;
  }
}
