import type { Capability } from '@agentfleet/protocol/inference';
import { expertPort } from '@agentfleet/protocol/pool';
import { expertsToken, portForward } from '../../sandbox/index.ts';
import { boundOf, bucketsBy, countOf, merged, type Buckets } from './histogram.ts';
import { namespaces, type Stage } from './stage.ts';

const metric = 'agentfleet_inference_request_seconds';
const reported: readonly (readonly [Capability, string])[] = [
  ['Score', 'energy'],
  ['Control', 'control vector'],
  ['Embed', 'embedding'],
  ['Judge', 'policy'],
  ['Generate', 'proposals'],
];

interface Pods {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** How long the servers of the fleet took to answer, by their own histograms: a bound, not the figure itself. */
export async function answerTimes({ kubectl, proofs }: Stage): Promise<void> {
  const selector = 'agentfleet.dev/component in (expert, verifier)';
  const { items } = await kubectl.json<Pods>(['-n', namespaces.pools, 'get', 'pods', '-l', selector]);
  const headers = { authorization: `Bearer ${await expertsToken(kubectl, namespaces.system, namespaces.pools)}` };
  const seen = new Map<string, Buckets[]>();
  for (const { metadata } of items) {
    const forward = await portForward(kubectl, namespaces.pools, metadata.name, expertPort);
    const response = await fetch(`${forward.url}/metrics`, { headers });
    const text = await response.text();
    await forward.close();
    if (!response.ok) throw new Error(`pod ${metadata.name} answered GET /metrics with ${response.status}: ${text}`);
    for (const [capability, buckets] of bucketsBy(text, metric, 'capability'))
      seen.set(capability, [...(seen.get(capability) ?? []), buckets]);
  }
  for (const [capability, name] of reported) {
    const buckets = merged(seen.get(capability) ?? []);
    const bound = boundOf(buckets, 0.95);
    const within = bound === undefined ? 'nobody asked' : Number.isFinite(bound) ? `p95 ≤ ${bound * 1000} ms` : 'p95 beyond all buckets';
    proofs.fact(`${name}, as its servers saw it: ${within}, ${countOf(buckets)} requests`);
  }
}
