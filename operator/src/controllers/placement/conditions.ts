import type { ConditionValue } from '../../runtime/resources.ts';
import type { Inventory, Owner, OwnerPlan, PlanSlot } from './model/index.ts';
import type { ConditionType } from '@agentfleet/protocol/api';
import { nodeOfSlot, slotClaimName } from '../../placement/index.ts';
import { slicesOfPlugin } from './inventory.ts';
import { isShut, lacksHolder } from './problem.ts';
import { sharingCondition } from './slots.ts';

type Rejected = NonNullable<OwnerPlan['plan']['rejected']>[number]['reason'];

/** No driver publishes NVLink, and who has shards on GPUs that nothing joins waits for most of its time. */
const notJoined =
  'tensorParallel needs whole GPUs of one node that NVLink joins, no MIG slices: declare them in data.links of ConfigMap agentfleet-slots of the operator ' +
  '(dgx-1/gpu0 dgx-1/gpu1 NV4), lower engine.vLLM.tensorParallel, or set spec.placement.nvlink to Ignore';

/** Cures by reason. The first of these that occurs is the reason of the condition. */
const cures: Readonly<Record<Rejected, string>> = {
  SizeUnknown: 'wait until the weights are read, or give the budget in bytes',
  NotDivisible: 'take a number of GPUs that divides them',
  DraftVocabulary: 'take a draft of the same vocab_size, or no speculative',
  UnknownSlot: 'correct the slot: ConfigMap agentfleet-slots of the operator lists all',
  NotEnoughMemory: 'give smaller budgets, fewer tokens or another slot, or remove a tenant',
  HeldElsewhere: 'engines of another namespace are on it, whose claim nobody can join: take another slot',
  Exclusive: 'one of the two shares its GPU with nobody: take another slot, or loosen spec.placement.antiAffinity',
  Apart: 'they share no GPU: take another slot, or loosen spec.placement.antiAffinity',
  NotLinked:
    'no NVLink joins it to its target, and a MIG slice never has any: give both one slot, or whole boards and set spec.placement.nvlink to Preferred',
  NotJoined: notJoined,
  GroupElsewhere: 'a draft and its target are on one slot: give both the same',
  Unhealthy: 'see to the device',
  NotAllowed: 'name another slot, or none',
};
const order = Object.keys(cures) as readonly Rejected[];

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

const longestList = 4;

/** Returns the reason and the message of a condition about a slot that cannot be used. */
function faultWords({ reason, message }: NonNullable<PlanSlot['fault']>): Pick<ConditionValue, 'reason' | 'message'> {
  return { reason: reason === 'Conflict' ? 'PlacementConflict' : reason, message };
}

/** Reports the engines that did not get a place, the reason, and the cure. */
function refused(owner: Owner, { plan, unplaced }: OwnerPlan, { slots }: Inventory): ConditionValue {
  const rejected = plan.rejected ?? [];
  const reason = order.find((known) => rejected.some((conditionValue) => conditionValue.reason === known)) ?? 'NotAllowed';
  const chosen = rejected.filter((conditionValue) => conditionValue.reason === reason);
  const closed = slots.find((slot) => isShut(slot) && chosen.some((rejection) => rejection.slot === slot.name))?.fault;
  if (reason === 'Unhealthy' && closed !== undefined) return { status: 'False', ...faultWords(closed) };
  const lacks = owner.requests.flatMap(({ demand }) =>
    'lack' in demand && (demand.reason ?? 'SizeUnknown') === reason ? [demand.lack] : [],
  );
  const places = chosen.slice(0, longestList).map(({ item, slot, shortByBytes }) => {
    const short = shortByBytes === undefined ? '' : ` lacks ${shortByBytes} bytes (${gib(shortByBytes)})`;
    return `${item}: ${slot ?? 'no slot'}${short}`;
  });
  const more = chosen.length > longestList ? ` and ${chosen.length - longestList} more` : '';
  const what = lacks.length > 0 ? lacks.join('; ') : `${places.join('; ')}${more}; ${cures[reason]}`;
  const held = owner.requests.length > unplaced.length || plan.assignments.length > 0 ? '; those that have a place keep it' : '';
  return { status: 'False', reason, message: `${what}${held}` };
}

function feasible(owner: Owner, outcome: OwnerPlan, inventory: Inventory): ConditionValue {
  const { stuck, unplaced, modeLack } = outcome;
  const [first] = stuck;
  const fault = inventory.slots.find(({ name }) => name === first?.slot)?.fault;
  if (first !== undefined && fault !== undefined) {
    return { status: 'False', ...faultWords(fault), message: `${first.slot}: ${fault.message}` };
  }
  const waiting = owner.requests.filter(({ item }) => unplaced.includes(item));
  const named = namedIn(waiting).flatMap((slot) => inventory.slots.find(({ name }) => name === slot)?.fault ?? []);
  const [bad] = named;
  if (unplaced.length > 0 && bad !== undefined) {
    return { status: 'False', ...faultWords(bad) };
  }
  if (modeLack !== undefined) return { status: 'False', reason: 'NoMode', message: `${modeLack}${skippedWords(outcome)}` };
  const slices = unplaced.length === 0 ? undefined : slicesOfPlugin(owner, [], inventory);
  if (slices !== undefined) return { status: 'False', reason: 'NoMode', message: slices };
  if (unplaced.length > 0 && inventory.slots.length === 0) {
    const message = 'no GPU is known: install a DRA driver or the device plugin of the GPUs on a node';
    return { status: 'False', reason: 'NoGPUs', message };
  }
  if (unplaced.length > 0) return refused(owner, outcome, inventory);
  return placed(outcome, inventory);
}

/** Better modes than the one in use, with what each lacks. */
function skippedWords({ skipped, modeLack }: OwnerPlan): string {
  const others = skipped.filter(({ reason }) => reason !== modeLack);
  return others.map(({ mode, reason }) => `; not ${mode}: ${reason.slice(0, 512)}`).join('');
}

/** Engines whose turn to start has not come, with those that keep them waiting. */
function turnWords({ waits = [] }: OwnerPlan): string {
  const more = waits.length > longestList ? [`and ${waits.length - longestList} more`] : [];
  return [...waits.slice(0, longestList), ...more].map((words) => `; ${words}`).join('');
}

/** All have a place; with pods that hold GPUs it may not be there yet. */
function placed(outcome: OwnerPlan, inventory: Inventory): ConditionValue {
  const { plan } = outcome;
  const waiting = new Set(plan.assignments.filter((place) => lacksHolder(plan.mode, place)).map(({ slot }) => slot));
  const troubled = inventory.slots.find(({ name, trouble }) => waiting.has(name) && trouble !== undefined);
  if (troubled !== undefined) {
    const message = `${troubled.name}: the pod ${slotClaimName(troubled.name)} that is to hold it does not get on: ${troubled.trouble ?? ''}`;
    return { status: 'False', reason: 'SlotNotHeld', message };
  }
  const slots = new Set(plan.assignments.map(({ slot }) => slot));
  const engines = new Set(plan.assignments.map(({ item }) => item));
  const placed = `${engines.size} engines on ${slots.size} GPUs, mode ${plan.mode ?? 'none'}`;
  const wait = waiting.size === 0 ? '' : `; ${[...waiting].join(', ')} not held yet`;
  return { status: 'True', reason: 'Placed', message: `${placed}${wait}${turnWords(outcome)}${skippedWords(outcome)}` };
}

/** Two stacks that hand out the GPUs of a node that this owner names or sits on. */
function conflict(owner: Owner, { plan, unplaced }: OwnerPlan, { conflicts }: Inventory): ConditionValue {
  const nodes = new Set([...namedIn(owner.requests), ...plan.assignments.map(({ slot }) => slot)].map(nodeOfSlot));
  const found = [...conflicts].find(([node]) => nodes.has(node) || unplaced.length > 0);
  if (found === undefined) return { status: 'False', reason: 'NoConflict', message: 'one stack hands out the GPUs' };
  return { status: 'True', reason: 'TwoStacks', message: found[1] };
}

function namedIn(requests: Owner['requests']): readonly string[] {
  return requests.flatMap(({ slot, slots = [] }) => [...slots, ...(slot === undefined ? [] : [slot])]);
}

/** The state of a plan as conditions. Pure. */
export function placementWords(
  owner: Owner,
  outcome: OwnerPlan,
  inventory: Inventory,
): readonly (readonly [ConditionType<'ExpertPool'>, ConditionValue | undefined])[] {
  if (owner.requests.length === 0) return [];
  return [
    ['PlacementFeasible', feasible(owner, outcome, inventory)],
    ['PlacementConflict', conflict(owner, outcome, inventory)],
    ['PlacementSharing', sharingCondition(owner, outcome, inventory)],
  ];
}
