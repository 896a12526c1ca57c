/**
 * The engines of experts, one folder each, and the list of them: another engine is a folder and a line here.
 * May import `base`, `gpu`, `models` and protocol.
 */
import { dirname, join } from 'node:path';
import type { Config, LlamaConfig, VllmConfig } from '../base/config.ts';
import { ConfigError } from '@agentfleet/protocol/environment';
import { createBuiltin, weightsFolder } from './builtin/index.ts';
import { codeDigest, alone, generating, type ServedEngine } from '../base/served.ts';
import { createLlamaEngine, llamaWeights } from './llama/engine.ts';
import { readRecords, ReplayEngine } from './replay/replay.ts';
import { createVllmEngine } from './vllm/engine.ts';
import { bundledGrammars, Grammars, installedGrammars, SynthEngine } from './synth/index.ts';

type EngineOptions = Pick<Config, 'engine' | 'grammars'>;

type OnEngineError = (error: unknown) => void;

/** The engine that the configuration names, loaded. @throws Error when its files are absent or wrong */
export async function createEngine({ engine, grammars }: EngineOptions, now: () => number, onError: OnEngineError): Promise<ServedEngine> {
  if (engine.type === 'Replay') return generating(new ReplayEngine(await readRecords(engine.record), now));
  if (engine.type === 'Builtin') return createBuiltin(engine);
  if (engine.type === 'Llama') return createLlama(engine, now);
  if (engine.type === 'VLLM') return createVllm(engine, now, onError);
  return generating(await createSynth(grammars, now));
}

/** Llama fails for files that its image lacks: the configured engine is then wrong for this image. */
async function createLlama({ weights, threads, contextTokens }: LlamaConfig, now: () => number): Promise<ServedEngine> {
  const model = join(weightsFolder({ weights }), llamaWeights);
  const engine = await createLlamaEngine({ model, threads, contextTokens, now }).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`AGENTFLEET_ENGINE: Llama does not start: ${message}; use the image inference-llama, or another engine`]);
  });
  return generating(engine, { abilities: { Prior: alone((request, signal) => engine.prior(request, signal)) }, about: engine.about });
}

async function createVllm(config: VllmConfig, now: () => number, onError: OnEngineError): Promise<ServedEngine> {
  const { model, adapter, digest } = config;
  return generating(await createVllmEngine(config, now, onError), {
    about: { model, adapter: adapter?.name ?? null, artifactDigest: digest },
  });
}

async function createSynth(grammars: string | null, now: () => number): Promise<SynthEngine> {
  const folder = grammars ?? (import.meta.filename.endsWith('.ts') ? null : dirname(import.meta.filename));
  const files = folder === null ? installedGrammars() : bundledGrammars(folder);
  const modelDigest = await codeDigest('synth', Object.values(files));
  return new SynthEngine({ grammars: await Grammars.open(files), modelDigest, now });
}
