import type { Inventory, Owner, PlanSlot } from './model/index.ts';
import { nodeOfSlot, parseSlotName, pluginSlices } from '../../placement/index.ts';
import type { Node } from '../../runtime/resources.ts';

/** Nodes whose device plugin hands out MIG slices by a count for each profile, and why they are no slots. */
export function pluginSliceNodes(nodes: readonly Node[]): ReadonlyMap<string, string> {
  return new Map(
    nodes.flatMap((node) => {
      const resources = pluginSlices(node);
      if (resources.length === 0) return [];
      const { name } = node.metadata;
      const message =
        `node ${name}: the device plugin hands out MIG slices (${resources.join(', ')}) and does not say which: ` +
        'they are slots where the DRA driver publishes them; install it in the place of the plugin';
      return [[name, message] as const];
    }),
  );
}

/** The reason for engines that name a MIG slice of such a node, or that find no GPU at all; undefined: it does not concern them. */
export function slicesOfPlugin({ wishes }: Owner, slots: readonly PlanSlot[], inventory: Inventory): string | undefined {
  const named = wishes.flatMap(({ slot = '' }) => (parseSlotName(slot)?.slice === undefined ? [] : [nodeOfSlot(slot)]));
  const node = named.find((name) => inventory.pluginSlices.has(name));
  if (node !== undefined) return inventory.pluginSlices.get(node);
  return slots.length === 0 && inventory.slots.length === 0 ? [...inventory.pluginSlices.values()][0] : undefined;
}
