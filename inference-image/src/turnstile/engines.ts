import { once } from 'node:events';
import { connect } from 'node:net';
import { VllmControl, VllmError } from '../engines/vllm/control.ts';
import type { Look } from './member.ts';

/** Engines, as they are told and looked at. Nothing of it rejects but for the signal: a failure is what was seen. */
export interface Engines {
  look(origin: string, signal: AbortSignal): Promise<Look>;
  /** Tells it, and looks. */
  sleep(origin: string, signal: AbortSignal): Promise<Look>;
  wake(origin: string, signal: AbortSignal): Promise<Look>;
}

/** Time to reach an address, and for an answer of one line, ms. */
const connectMs = 2_000;
const lookMs = 5_000;
/** Time to move the weights between the memory of the host and that of the GPU, ms. */
const moveMs = 120_000;

const looking = (origin: string): VllmControl => new VllmControl({ origin, timeoutMs: lookMs });
const moving = (origin: string): VllmControl => new VllmControl({ origin, timeoutMs: moveMs });

/** Engines of vLLM over their own HTTP. */
export const httpEngines: Engines = {
  look,
  sleep: (origin, signal) => told(origin, signal, () => moving(origin).sleep(signal)),
  wake: (origin, signal) => told(origin, signal, () => moving(origin).wake(signal)),
};

/** The engine itself says how it is afterwards, also when it answered with an error, or not in time. */
async function told(origin: string, signal: AbortSignal, tell: () => Promise<void>): Promise<Look> {
  const failure = await tell().then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
  const seen = await look(origin, signal);
  return { kind: seen.kind, fault: failure ?? seen.fault };
}

async function look(origin: string, signal: AbortSignal): Promise<Look> {
  const missing = await unreachable(origin, signal);
  if (missing !== null) return missing;
  try {
    return { kind: (await looking(origin).isSleeping(signal)) ? 'Asleep' : 'Awake', fault: null };
  } catch (error) {
    const fault = (error as Error).message;
    // Without sleep mode it has no such route: it is awake for ever.
    if (error instanceof VllmError && error.status === 404) return { kind: 'Awake', fault: `it cannot sleep: ${fault}` };
    return { kind: 'Failing', fault };
  }
}

/** Why nobody can be asked there; null: somebody listens. */
async function unreachable(origin: string, signal: AbortSignal): Promise<Look | null> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(connectMs)]) });
    return null;
  } catch (error) {
    const refused = (error as { readonly code?: unknown }).code === 'ECONNREFUSED';
    const fault = refused ? `nobody listens at ${origin}` : `there is no way to ${origin}: ${(error as Error).message}`;
    return { kind: refused ? 'Refused' : 'NoRoute', fault };
  } finally {
    socket.destroy();
  }
}
