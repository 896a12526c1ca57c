import { labels } from '@agentfleet/protocol/pool';
import type { Pod } from '../../../operator/src/runtime/resources.ts';

/** Returns the kubelet's status of pods where jobs read such weights at once, and all other bound pods are ready. */
export function readingWeights(report: object): (pod: Pod) => object {
  return ({ metadata }) => {
    const running = { phase: 'Running', podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] };
    if (metadata.labels?.[labels.component] !== 'weights') return running;
    const state = { terminated: { exitCode: 0, reason: 'Completed', message: JSON.stringify(report) } };
    const container = { name: 'weights', image: 'a', imageID: '', ready: false, restartCount: 0, state };
    return { phase: 'Succeeded', podIP: '10.0.0.1', containerStatuses: [container] };
  };
}
