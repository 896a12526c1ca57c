/**
 * A language model on GPUs, in a server of vLLM beside this one: proposals, readiness by a real generation, adapters, sleep.
 * Part of `engines`: may import `base`, `gpu`, `models` and protocol.
 */
import type { VllmConfig } from '../../base/config.ts';
import { codeDigest } from '../../base/served.ts';
import { VllmControl } from './control.ts';
import { VllmEngine } from './engine.ts';
import { Residency } from './residency.ts';

/** Time limit of other calls than generation, ms: the first one after a start compiles. */
const controlMs = 60_000;

/** The engine; it need not answer yet. */
export async function createVllmEngine(config: VllmConfig, now: () => number, onError: (error: unknown) => void): Promise<VllmEngine> {
  const { upstream, contextTokens, digest, sleepAfterSeconds } = config;
  const adapter = config.adapter ?? undefined;
  const model = adapter?.name ?? config.model;
  const control = new VllmControl({ origin: upstream, timeoutMs: controlMs });
  const idleMs = (sleepAfterSeconds ?? 0) * 1000;
  const residency = sleepAfterSeconds === null ? undefined : new Residency({ control, idleMs, timer, onError });
  const modelDigest = await codeDigest('vllm', [], `${digest ?? ''}\n${model}\n${adapter?.path ?? ''}`);
  return new VllmEngine({ control, model, adapter, contextTokens, residency, now, modelDigest });
}

function timer(millis: number, callback: () => void): () => void {
  const handle = setTimeout(callback, millis);
  handle.unref();
  return () => clearTimeout(handle);
}
