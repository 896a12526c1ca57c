/** A language model on GPUs, in a server of vLLM beside this one: proposals, readiness by a real generation, adapters, sleep. */
import { randomUUID } from 'node:crypto';
import { bearerOf, TurnstileClient, type TurnsConfig } from '../../turnstile/index.ts';
import { codeDigest } from '../digest.ts';
import { VllmControl, type Adapter } from './control.ts';
import { VllmEngine } from './engine.ts';
import { Residency, type Resident } from './residency.ts';
import { Swap } from './swap.ts';

export { VllmEngine } from './engine.ts';

export interface VllmSettings {
  /** `http://host:port`. */
  readonly origin: string;
  readonly model: string;
  readonly adapter: Adapter | undefined;
  readonly contextTokens: number;
  /** `sha256:` of the weights as they were found; null when nobody told. */
  readonly digest: string | null;
  /** Null: it never sleeps. */
  readonly sleepAfterSeconds: number | null;
  /** Null: it has its GPU for itself. */
  readonly turns: TurnsConfig | null;
}

/** Time for what is no generation, ms: the first one after a start compiles. */
const controlMs = 60_000;

/** The engine; it need not answer yet. */
export async function createVllmEngine(settings: VllmSettings, now: () => number, onError: (error: unknown) => void): Promise<VllmEngine> {
  const { origin, model, adapter, contextTokens, digest } = settings;
  const control = new VllmControl({ origin, timeoutMs: controlMs });
  const residency = residentOf(settings, control, onError);
  const modelDigest = await codeDigest('vllm', [], `${digest ?? ''}\n${model}\n${adapter?.path ?? ''}`);
  return new VllmEngine({ control, model, adapter, contextTokens, residency, now, modelDigest });
}

function residentOf(
  { sleepAfterSeconds, turns }: VllmSettings,
  control: VllmControl,
  onError: (error: unknown) => void,
): Resident | undefined {
  if (turns !== null) {
    const client = new TurnstileClient({ ...turns, bearer: bearerOf(turns.tokenFile, onError), newId: randomUUID });
    client.start();
    return new Swap({ control, turns: client });
  }
  return sleepAfterSeconds === null ? undefined : new Residency({ control, idleMs: sleepAfterSeconds * 1000, timer, onError });
}

function timer(millis: number, callback: () => void): () => void {
  const handle = setTimeout(callback, millis);
  handle.unref();
  return () => clearTimeout(handle);
}
