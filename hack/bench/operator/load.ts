import { ResourceClient, type KubeObject, type Transport } from '@agentfleet/kube';
import type { Subject } from './subject.ts';
import type { Tracker } from './tracker.ts';

export interface Load {
  readonly count: number;
  /** A second; Infinity: all at once. */
  readonly rate: number;
  readonly prefix: string;
}

export interface Loaded {
  readonly seconds: number;
  /** How far the last object was behind its time: more than a little says that the generator was the bottleneck. */
  readonly behindMs: number;
}

/** Creates objects at a steady rate, whatever the server answers to those before. Rejects when one is refused. */
export async function createAll(
  transport: Transport,
  { resource, manifest }: Pick<Subject, 'resource' | 'manifest'>,
  tracker: Tracker,
  namespace: string,
  { count, rate, prefix }: Load,
): Promise<Loaded> {
  const client = new ResourceClient<KubeObject>(transport, resource);
  const began = performance.now();
  const calls: Promise<unknown>[] = [];
  let behindMs = 0;
  for (let index = 0; index < count; index += 1) {
    const due = began + (index / rate) * 1000;
    const early = due - performance.now();
    if (early > 1) await new Promise((resolve) => setTimeout(resolve, early));
    behindMs = Math.max(behindMs, performance.now() - due);
    const name = `${prefix}-${index}`;
    tracker.creating(name);
    const call = client.create({ ...manifest(name, namespace) }, { timeoutMs: 120_000 });
    call.catch(() => undefined);
    calls.push(call);
  }
  await Promise.all(calls);
  return { seconds: (performance.now() - began) / 1000, behindMs };
}
