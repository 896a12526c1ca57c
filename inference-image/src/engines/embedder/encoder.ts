import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { loadRuntime, type GraphModel, type Runtime } from './runtime.ts';
import { Tokenizer, type Piece } from './tokenizer.ts';
import type { EmbedderFiles } from './files.ts';

/** Pieces that the model looks at; it drops the rest without a word, so that longer texts go in windows. */
const windowTokens = 128;
export const dimensions = 512;

/** Universal Sentence Encoder Lite (Cer et al., arXiv:1803.11175): English sentences to vectors of length 1. */
export class SentenceEncoder {
  readonly #runtime: Runtime;
  readonly #model: GraphModel;
  readonly #tokenizer: Tokenizer;

  private constructor(runtime: Runtime, model: GraphModel, tokenizer: Tokenizer) {
    this.#runtime = runtime;
    this.#model = model;
    this.#tokenizer = tokenizer;
  }

  static async load(files: EmbedderFiles): Promise<SentenceEncoder> {
    const runtime = await loadRuntime(files.binaries);
    const model = await runtime.loadGraphModel(pathToFileURL(files.model).href);
    const pieces = JSON.parse(await readFile(files.vocabulary, 'utf8')) as readonly Piece[];
    return new SentenceEncoder(runtime, model, new Tokenizer(pieces));
  }

  /**
   * The vector of a text, alone: other texts in one tensor would pad it, and so change its last digits. A text of more than
   * 128 pieces gets the mean of its windows, weighted by their pieces.
   */
  async embed(text: string, signal: AbortSignal): Promise<readonly number[]> {
    const ids = this.#tokenizer.encode(text);
    const sum = new Float64Array(dimensions);
    for (let start = 0; start < ids.length; start += windowTokens) {
      signal.throwIfAborted();
      const window = ids.slice(start, start + windowTokens);
      const vector = await this.#run(window);
      for (let at = 0; at < dimensions; at += 1) sum[at] = (sum[at] as number) + window.length * (vector[at] ?? 0);
    }
    const length = Math.hypot(...sum);
    return Array.from(sum, (value) => value / length);
  }

  close(): void {
    this.#model.dispose();
  }

  async #run(ids: readonly number[]): Promise<readonly number[]> {
    const indices = this.#runtime.tensor2d(
      ids.map((_id, at) => [0, at]),
      [ids.length, 2],
      'int32',
    );
    const values = this.#runtime.tensor1d(ids, 'int32');
    const output = await this.#model.executeAsync({ indices, values });
    const [vector] = (await output.array()) as readonly (readonly number[])[];
    for (const tensor of [indices, values, output]) tensor.dispose();
    return vector ?? [];
  }
}
