import type { Holder, Inventory, Owner, Place, PlanSlot } from './model/index.ts';
import { createHash } from 'node:crypto';
import { sharingSuffix, slotClaimName } from '../../placement/index.ts';
import type { GpuDriver } from '../../runtime/context.ts';

/** NVIDIA's class of MIG slices. */
export const defaultMigClass = 'mig.nvidia.com';

/** The DeviceClass that a claim of the slot names. */
export function deviceClassOf({ mig }: Pick<PlanSlot, 'mig'>, { deviceClass, migDeviceClass = defaultMigClass }: GpuDriver): string {
  return mig === undefined ? deviceClass : migDeviceClass;
}

/** Whether the DeviceClasses are there that claims of these slots name. */
export function hasClasses(slots: readonly PlanSlot[], { deviceClass, migDeviceClass }: Inventory): boolean {
  const slices = slots.filter(({ mig }) => mig !== undefined);
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
export function toleratedIn(claim: string, owner: Owner, place: Place, slot: PlanSlot, driver: GpuDriver): readonly string[] {
  return claim.startsWith(claimBaseOf(owner, place, slot, driver)) ? (slot.tolerated ?? []) : [];
}

/**
 * The claim that the pods of an engine name: another board or, where bytes are claimed, another size is another claim. How its slot
 * is shared stands in its name; while somebody is there, who comes joins the claim in force, whatever is written now: tenants of one
 * GPU have one claim, and another one starts all of them again, which a human has to ask for.
 */
export function claimNameOf(
  owner: Owner,
  place: Place,
  slot: PlanSlot,
  { driver, sharings, sharingAsked }: Pick<Inventory, 'driver' | 'sharings' | 'sharingAsked'>,
  used: readonly UsedClaim[],
): string {
  const base = claimBaseOf(owner, place, slot, driver);
  const inForce = used.filter(({ claim }) => claim === base || claim.startsWith(`${base}-`));
  const fresh = `${base}${sharingSuffix(sharings.get(slot.name))}`;
  return sharingAsked.has(slot.name) ? fresh : (inForce[0]?.claim ?? fresh);
}
