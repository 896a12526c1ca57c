import { holderComponent } from '../../../operands/index.ts';
import { labels } from '@agentfleet/protocol/pool';
import { holderAnnotation, valuesIn } from '../../../placement/index.ts';
import type { Caches } from '../../../runtime/context.ts';
import type { Deployment, Pod } from '../../../runtime/resources.ts';
import { gpuIndex, onGpus } from '../../../runtime/caches.ts';
import { probeComponent, probeName } from './probe.ts';

/** Of pods that hold GPUs, and those that ask for them. */
export const reserveSelector = `${labels.component} in (${holderComponent},${probeComponent})`;

/** Whether a pod holds a GPU or asks for one. */
export function isReserve({ metadata }: Pod): boolean {
  const component = metadata.labels?.[labels.component];
  return component === holderComponent || component === probeComponent;
}

/** The pod that asks a node for GPUs; its name makes it the only one. */
export function probeIn(pods: readonly Pod[], namespace: string): Pod | undefined {
  return pods.find(({ metadata }) => metadata.name === probeName && metadata.namespace === namespace);
}

const holderOf = (metadata: { readonly annotations?: Readonly<Record<string, string>> } | undefined): readonly string[] => {
  return valuesIn(metadata?.annotations?.[holderAnnotation]);
};

/** Uids of pods that hold GPUs for these. Pure. */
export function holdersInUse(deployments: readonly Deployment[], pods: readonly Pod[]): ReadonlySet<string> {
  const made = deployments.flatMap(({ spec }) => (spec?.replicas === 0 ? [] : holderOf(spec?.template?.metadata)));
  const there = pods.flatMap(({ metadata, status }) =>
    status?.phase === 'Failed' || status?.phase === 'Succeeded' ? [] : holderOf(metadata),
  );
  return new Set([...made, ...there]);
}

/** Pods that hold or ask, as the cache shows them; `namespace` is that of the operator. */
export function cachedReserve({ pods }: Pick<Caches, 'pods'>, namespace: string): readonly Pod[] {
  const probe = pods.lister.get(`${namespace}/${probeName}`);
  return [...pods.lister.byIndex(gpuIndex, onGpus).filter(isReserve), ...(probe === undefined ? [] : [probe])];
}

/** Uids of pods that hold GPUs for engines that are there, or that a Deployment makes. */
export function usedHolders({ pods, deployments }: Pick<Caches, 'pods' | 'deployments'>): ReadonlySet<string> {
  return holdersInUse(deployments.lister.list(), pods.lister.byIndex(gpuIndex, onGpus));
}
