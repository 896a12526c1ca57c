import { findCondition, type Condition } from '@agentfleet/kube';
import type { Degradation, DegradedState } from '@agentfleet/protocol/api';
import { endsAt } from './degraded.ts';
import type { Inventory } from './inventory.ts';
import type { Owner } from './owners.ts';
import type { OwnerPlan } from './plan.ts';

/** The condition that is there only while a plan goes without something. */
export const degradedCondition = 'PlacementDegraded';

/** What is said of one engine. The first of these that occurs is the reason of the condition. */
const told: Readonly<Record<Degradation, (item: string) => string>> = {
  NoDraft: (item) => `${item} goes without its draft`,
  CpuVerifier: (item) => `${item} runs on CPU`,
  SharedVerifier: (item) => `${item} shares a GPU although spec.placement.antiAffinity keeps experts and the verifier apart`,
};
const order = Object.keys(told) as readonly Degradation[];

const meanwhile = 'while a GPU is lost';

/** Where consent was given. */
const consent: Readonly<Record<Owner['kind'], string>> = {
  ExpertPool: 'spec.placement.degradeTo',
  EnergyModel: 'spec.resources.withoutGpu, or spec.placement.degradeTo of its pool',
};

function wordOf({ mode, item }: DegradedState, wishes: Owner['wishes']): string {
  const isDraft = mode === 'NoDraft' && wishes.some((wish) => wish.item === item && wish.rank === 'Draft');
  return isDraft ? `${item} has no place` : told[mode](item);
}

/** What helps: what is known of boards that are lost, or else room. */
function cureOf({ slots }: Inventory): string {
  const faults = slots.flatMap(({ name, fault }) => (fault === undefined ? [] : [`${name}: ${fault.message}`]));
  const [first] = faults;
  if (first === undefined) return 'make room: give smaller budgets, remove a tenant, or bring the board back';
  return faults.length === 1 ? first : `${first} (and ${faults.length - 1} more)`;
}

/** When it ends, or else what helps. */
function endOf(degraded: readonly DegradedState[], inventory: Inventory): string {
  const times = degraded.flatMap((entry) => endsAt(entry) ?? []);
  if (times.length === 0) return `${cureOf(inventory)}; it ends by itself when there has been room for a while`;
  const at = new Date(Math.max(...times)).toISOString().replace(/\.\d+Z$/, 'Z');
  return `there is room again, and it ends at ${at} unless that is lost before`;
}

interface Word {
  readonly status: 'True';
  readonly reason: string;
  readonly message: string;
}

/** What is said while a plan goes without something, as a condition; none while it does not. Pure. */
export function degradedWords(owner: Owner, { plan }: OwnerPlan, inventory: Inventory): readonly (readonly [string, Word])[] {
  const degraded = plan.degraded ?? [];
  const reason = order.find((mode) => degraded.some((entry) => entry.mode === mode));
  if (reason === undefined) return [];
  const what = degraded.map((entry) => wordOf(entry, owner.wishes)).join('; ');
  const message = `since a GPU was lost, ${what} (${consent[owner.kind]}); ${endOf(degraded, inventory)}`;
  return [[degradedCondition, { status: 'True', reason, message }]];
}

/** Refusals that would not have been made, had more been agreed to: those for want of room, and of a board. */
const wants = /^(NotEnoughMemory|Apart|Unhealthy|Slot(Tainted|Gone|Rebound|Partitioned|Unhealthy))$/;

/** What may be agreed to for the time in which a GPU is lost; nothing where all is, or where it would not help. */
export function optionOf({ kind, wishes, consents: given }: Owner, reason: string): string {
  if (!wants.test(reason)) return '';
  if (kind === 'EnergyModel')
    return given?.has('CpuVerifier') === true ? '' : `; spec.resources.withoutGpu: CPU lets it run on CPU ${meanwhile}`;
  const drafted = wishes.some(({ rank, withoutDraft }) => rank === 'Draft' || withoutDraft !== undefined);
  const apart = wishes.some((wish) => wish.apart.includes('EnergyModel'));
  const options = [...(drafted ? ['NoDraft'] : []), ...(apart ? ['SharedVerifier'] : [])].filter(
    (mode) => given?.has(mode as Degradation) !== true,
  );
  return options.length === 0 ? '' : `; spec.placement.degradeTo: [${options.join(', ')}] lets it go without that ${meanwhile}`;
}

/** An event about a plan. */
export interface PlanNote {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

/** What is told when a plan begins or ends to go without something, or goes without something else; undefined: nothing is news. Pure. */
export function degradedNote(before: readonly Condition[] | undefined, after: readonly Condition[] | undefined): PlanNote | undefined {
  const [was, is] = [findCondition(before, degradedCondition), findCondition(after, degradedCondition)];
  if (was?.reason === is?.reason) return undefined;
  if (is !== undefined) return { type: 'Warning', reason: is.reason, action: 'Degrade', note: is.message };
  return { type: 'Normal', reason: 'PlanRestored', action: 'Restore', note: 'nothing is gone without any more' };
}
