import { referenceOf, type Assignment, type Holder, type Inventory, type Owner, type PlanSlot, type Place } from './model/index.ts';
import type { KubeObject, OwnerReference } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import {
  parseSlotName,
  renderShareClaim,
  renderSlotClaim,
  sharingInName,
  type SlotClaim,
  sharingSuffix,
  slotClaimName,
} from '../../placement/index.ts';
import { createHash } from 'node:crypto';
import type { GpuDriver } from '../../runtime/context.ts';

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
    // The setting that is written now is for the next claim: the spec of this one cannot be changed.
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

/** NVIDIA's class of MIG slices. */
export const defaultMigClass = 'mig.nvidia.com';

/** The DeviceClass that a claim of the slot names. */
function deviceClassOf({ mig }: Pick<PlanSlot, 'mig'>, { deviceClass, migDeviceClass = defaultMigClass }: GpuDriver): string {
  return mig === undefined ? deviceClass : migDeviceClass;
}

/** Reports whether the DeviceClasses that claims of these slots name exist. Only its name marks a slice its driver does not publish. */
export function hasClasses(slots: readonly PlanSlot[], { deviceClass, migDeviceClass }: Inventory): boolean {
  const slices = slots.filter(({ name }) => parseSlotName(name)?.slice !== undefined);
  const boards = slices.length < slots.length || slots.length === 0;
  return (!boards || deviceClass) && (slices.length === 0 || migDeviceClass);
}

/** A claim that is in force on a slot. */
interface UsedClaim {
  readonly slot: string;
  readonly claim: string;
}

/** Claims that the engines of a namespace name, its own first. */
export function claimsInUse(owner: Owner, others: readonly Holder[]): readonly UsedClaim[] {
  const near = others.filter((holder) => holder.owner.namespace === owner.namespace);
  return [...(owner.plan?.assignments ?? []), ...near.flatMap(({ assignments }) => assignments)].flatMap(({ slot, claim }) =>
    claim === undefined ? [] : [{ slot, claim }],
  );
}

/** The beginning of its name: of what cannot be changed in it, apart from how the slot is shared. */
function claimBaseOf({ key }: Owner, { item, bytes }: Place, slot: PlanSlot, driver: GpuDriver): string {
  const { tolerated = [] } = slot;
  const content = [slot.uuid, deviceClassOf(slot, driver), ...(slot.sharedByBytes ? [key, item, bytes] : []), ...tolerated];
  const hash = createHash('sha256').update(content.join(' ')).digest('hex').slice(0, 10);
  return `${slotClaimName(slot.name)}-${hash}`;
}

/** The taints that a claim of this name tolerates: one that was made before a human acknowledged them does not. */
function toleratedIn(claim: string, owner: Owner, place: Place, slot: PlanSlot, driver: GpuDriver): readonly string[] {
  return claim.startsWith(claimBaseOf(owner, place, slot, driver)) ? (slot.tolerated ?? []) : [];
}

/**
 * The claim that the pods of an engine name: another board or, where bytes are claimed, another size is another claim. How its slot
 * is shared stands in its name; while it has a tenant, a new one joins the claim in force, whatever is written now: tenants of one
 * GPU have one claim, and another one starts all of them again, which a human has to ask for.
 */
export function claimNameOf(
  owner: Owner,
  place: Place,
  slot: PlanSlot,
  { driver, lines }: Pick<Inventory, 'driver' | 'lines'>,
  used: readonly UsedClaim[],
): string {
  const base = claimBaseOf(owner, place, slot, driver);
  const inForce = used.filter(({ claim }) => claim === base || claim.startsWith(`${base}-`));
  const fresh = `${base}${sharingSuffix(lines.rules.get(slot.name))}`;
  return lines.asked.has(slot.name) ? fresh : (inForce[0]?.claim ?? fresh);
}
