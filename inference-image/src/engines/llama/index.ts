/**
 * A small language model on the CPU (llama.cpp through node-llama-cpp): likelihoods of candidates, and weak proposals
 * of its own. The package and the weights are only in the image inference-llama; other images load nothing of it. Part
 * of `engines`: may import `base`, `gpu`, `models` and protocol.
 */
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeDigest } from '../../base/served.ts';
import { LlamaEngine, type LlamaOptions } from './engine.ts';

export { LlamaEngine } from './engine.ts';

/** Name of the weights below the folder of weights. */
export const llamaWeights = 'smollm2-135m-instruct-q4_1.gguf';

/** Returns the package's path: next to the bundle in the image; for sources the destination of `hack/images/main.ts llama`. */
export function llamaLibrary(): string {
  const own = import.meta.filename;
  if (!own.endsWith('.ts')) return 'node-llama-cpp';
  return join(dirname(own), '../../../llama/node_modules/node-llama-cpp/dist/index.js');
}

/** Creates the engine with its weights loaded. @throws Error naming the image that has the missing files */
export async function createLlamaEngine(
  options: Omit<LlamaOptions, 'modelDigest' | 'library'> & { readonly library?: string },
): Promise<LlamaEngine> {
  await access(options.model).catch((cause: unknown) => {
    throw new Error(`engine Llama: there is no ${options.model}: the image inference-llama has it`, { cause });
  });
  return LlamaEngine.load({ library: llamaLibrary(), ...options, modelDigest: await codeDigest('llama', [options.model]) });
}
