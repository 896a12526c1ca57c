import type { PlanSlot } from './model/index.ts';
import { parseSlotName, type Item, type Problem } from '../../placement/index.ts';

/** Whether it is nothing but a name now: a board that its slices stand for, or a slice of an earlier division. */
function isVoid({ name, fault }: PlanSlot): boolean {
  return fault?.reason === 'SlotPartitioned' || (fault?.reason === 'SlotGone' && parseSlotName(name)?.slice !== undefined);
}

/** The slots that a search is about: names that stand for nothing only where somebody asks for them, as nobody else reads why not. */
export function slotsInQuestion(slots: readonly PlanSlot[], items: readonly Item[]): Problem['slots'] {
  const named = new Set(items.flatMap((item) => item.slots ?? []));
  return slots
    .filter((slot) => !isVoid(slot) || named.has(slot.name))
    .map(({ name, node, usableBytes, fault, mig }) => ({
      name,
      node,
      usableBytes,
      healthy: fault === undefined,
      isolated: mig !== undefined,
    }));
}
