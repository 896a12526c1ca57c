import { Applier, keyOf, ResourceClient } from '@agentfleet/kube';
import { fieldManagers, type EnergyModel, type EnergyModelStatus } from '@agentfleet/protocol/api';
import { rolloutEvent, rolloutMoved } from '../../revisions/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { resources } from '../../runtime/resources.ts';
import { readyEvent } from '../expertpool/statusWriter.ts';

/** Writes the status: one apply, and only when it tells something new. */
export function modelStatusWriter({ transport, caches, events }: OperatorContext) {
  const client = new ResourceClient<EnergyModel>(transport, resources.energyModels);
  const applier = new Applier({ client, view: caches.energyModels, fieldManager: fieldManagers.operator, subresource: 'status' });
  caches.energyModels.addHandler({ onDelete: (model) => applier.forget(keyOf(model)) });
  return async ({ apiVersion, kind, metadata, status: present }: EnergyModel, status: EnergyModelStatus, signal: AbortSignal) => {
    const { name, namespace = '', uid } = metadata;
    // Where a rollout moves, what it was decided by must be what stands there.
    const version = rolloutMoved(present, status) ? metadata.resourceVersion : undefined;
    // The uid: a model of the same name that was made since is another one.
    const { written } = await applier.apply({ apiVersion, kind, metadata: { name, namespace, uid }, status }, signal, undefined, version);
    if (!written) return;
    for (const event of [readyEvent(present, status), rolloutEvent(present, status)])
      if (event !== undefined) events.record({ apiVersion, kind, metadata }, event);
  };
}
