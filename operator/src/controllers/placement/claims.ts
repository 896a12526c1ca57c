import { referenceOf, type Assignment, type Holder, type Inventory, type Owner, type PlanSlot } from './model/index.ts';
import type { KubeObject, OwnerReference } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { renderShareClaim, renderSlotClaim, sharingInName, type SlotClaim } from '../../placement/index.ts';
import { deviceClassOf, toleratedIn } from './claimNames.ts';

/** Component of claims. */
export const placementComponent = 'placement';

export type ClaimManifest = Omit<SlotClaim, 'metadata'> & {
  readonly metadata: SlotClaim['metadata'] & { readonly ownerReferences: readonly OwnerReference[] };
};

interface Tenant {
  readonly owner: Owner;
  readonly assignment: Assignment;
}

function claimOf(name: string, tenants: readonly Tenant[], slot: PlanSlot, uuid: string, inventory: Inventory): ClaimManifest | undefined {
  const [first] = tenants;
  if (first === undefined) return undefined;
  const { driver } = inventory.driver;
  const options = {
    namespace: first.owner.namespace,
    driver,
    deviceClass: deviceClassOf(slot, inventory.driver),
    ...(slot.mig === undefined ? {} : { profile: slot.mig.profile }),
    tolerated: toleratedIn(name, first.owner, first.assignment, slot, inventory.driver),
    // What is written now is for the next claim: the spec of this one cannot be changed.
    sharing: sharingInName(name),
  };
  const binding = { slot: slot.name, uuid, pciBusID: slot.pciBusID };
  const base = slot.sharedByBytes ? renderShareClaim(binding, options, '', first.assignment.bytes) : renderSlotClaim(binding, options);
  const owners = new Map(tenants.map(({ owner }) => [owner.key, referenceOf(owner)]));
  const metadata = {
    ...base.metadata,
    name,
    labels: { ...base.metadata.labels, [labels.component]: placementComponent },
    ownerReferences: [...owners].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, reference]) => reference),
  };
  return { ...base, metadata };
}

/** The claims that the pods of all plans name. Pure. */
export function claimsOf(holders: readonly Holder[], inventory: Inventory): readonly ClaimManifest[] {
  const groups = new Map<string, Tenant[]>();
  for (const { owner, assignments } of holders) {
    if (owner.going) continue;
    for (const assignment of assignments) {
      if (assignment.claim === undefined) continue;
      const key = `${owner.namespace}/${assignment.claim}`;
      groups.set(key, [...(groups.get(key) ?? []), { owner, assignment }]);
    }
  }
  return [...groups].flatMap(([key, tenants]): readonly ClaimManifest[] => {
    const [{ assignment } = { assignment: undefined }] = tenants;
    const slot = inventory.slots.find(({ name }) => name === assignment?.slot);
    // A board that is gone has no claim to be made; one that is there stays.
    if (slot === undefined || assignment?.uuid === undefined || !slot.published || slot.uuid !== assignment.uuid) return [];
    const claim = claimOf(key.slice(key.indexOf('/') + 1), tenants, slot, assignment.uuid, inventory);
    return claim === undefined ? [] : [claim];
  });
}

/** Claims that no plan names any more. Pure. */
export function surplusClaims(holders: readonly Holder[], present: readonly KubeObject[]): readonly KubeObject[] {
  const named = new Set(holders.flatMap(({ owner, assignments }) => assignments.map(({ claim = '' }) => `${owner.namespace}/${claim}`)));
  return present.filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined && !named.has(`${metadata.namespace ?? ''}/${metadata.name}`),
  );
}
