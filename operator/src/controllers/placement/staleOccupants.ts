import type { Holder } from './model/index.ts';
import { labels } from '@agentfleet/protocol/pool';
import type { KubeObject } from '@agentfleet/kube';
import { itemOf, slotLabel, valuesIn } from '../../placement/index.ts';
import type { Deployment, Pod } from '../../runtime/resources.ts';

/** An engine that has pods on a slot, or a Deployment that makes them there. */
export interface Occupant {
  /** As `Owner.key`. */
  readonly owner: string;
  readonly item: string;
  readonly slot: string;
}

type Marked = { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } } | undefined;

/** `object` carries the labels of an engine, `marked` the annotations of its pods. */
function occupantsIn({ metadata }: KubeObject, marked: Marked): readonly Occupant[] {
  const { labels: own = {}, namespace = '' } = metadata;
  const [model, pool, revision] = [own[labels.model], own[labels.pool], own[labels.revision]];
  const slots = valuesIn(marked?.metadata?.annotations?.[slotLabel]);
  if (model !== undefined)
    return slots.map((slot) => ({ owner: `EnergyModel ${namespace}/${model}`, item: itemOf(model, revision), slot }));
  if (pool === undefined) return [];
  const owner = `ExpertPool ${namespace}/${pool}`;
  const expert = own[labels.expert];
  return expert === undefined ? [] : slots.map((slot) => ({ owner, item: itemOf(expert, revision), slot }));
}

/**
 * Engines that are on GPUs as the cluster shows it, whatever plans say. Pods that hold a GPU for others are none; of engines
 * that share a pod the device plugin keeps the GPUs. Pure.
 */
export function occupantsOf(pods: readonly Pod[], deployments: readonly Deployment[]): readonly Occupant[] {
  return [
    ...pods.flatMap((pod) => occupantsIn(pod, pod)),
    ...deployments.flatMap((found) => (found.spec?.replicas === 0 ? [] : occupantsIn(found, found.spec?.template))),
  ];
}

/** Slots on which somebody is whom no plan has there any more: who moved and is not gone, or whose pool was deleted. Pure. */
export function staleOccupants(occupants: readonly Occupant[], holders: readonly Holder[]): ReadonlySet<string> {
  const keyOf = ({ owner, item, slot }: Occupant): string => `${owner} ${item} ${slot}`;
  const planned = new Set(
    holders.flatMap(({ owner, assignments }) => assignments.map(({ item, slot }) => keyOf({ owner: owner.key, item, slot }))),
  );
  return new Set(occupants.filter((occupant) => !planned.has(keyOf(occupant))).map(({ slot }) => slot));
}
