import { type PoolArm, needsGpu, serverHash } from '../../../operands/index.ts';
import type { ExpertPool, PlanStatus, RolloutStatus } from '@agentfleet/protocol/api';
import { itemOf } from '../../../placement/index.ts';
import { isOpen } from '../../../revisions/index.ts';

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

const cure = 'give a smaller budget, another canarySlot, or remove a tenant; what serves stays where it is';

function itemsOf(arm: PoolArm): readonly string[] {
  return arm.experts.filter(needsGpu).map((expert) => itemOf(expert.name, serverHash(arm, expert)));
}

/** Which engines of a revision find no room beside what serves, with the least that they lack; undefined: none. Pure. */
export function shortOfPlaces({ status }: Pick<ExpertPool, 'status'>, arm: PoolArm): string | undefined {
  return shortOf(status?.plan, itemsOf(arm));
}

/** The same of items of a plan. Pure. */
export function shortOf(plan: PlanStatus | undefined, items: readonly string[]): string | undefined {
  const rejected = plan?.rejected ?? [];
  const words = items.flatMap((name) => {
    const first = rejected.find(({ item }) => item === name);
    if (first === undefined) return [];
    const { slot, reason, shortByBytes: short } = first;
    const why = short === undefined ? reason : `lacks ${short} bytes (${gib(short)})`;
    return [`${name}: ${slot === undefined ? reason : `${slot} ${why}`}`];
  });
  return words.length === 0 ? undefined : `no place on a GPU beside what serves: ${words.join('; ')}; ${cure}`;
}

/** Why a revision that is tried cannot go on: an engine of it had a place on a GPU and has lost it. Pure. */
export function lostPlace({ status }: Pick<ExpertPool, 'status'>, arm: PoolArm): string | undefined {
  return lostOf(status, arm.revision, itemsOf(arm));
}

/** What of a pool or a model tells of rollouts and places. */
interface Placed {
  readonly plan?: PlanStatus;
  readonly rollout?: RolloutStatus;
}

/** The same of the items of a revision. Pure. */
export function lostOf(status: Placed | undefined, revision: string, items: readonly string[]): string | undefined {
  const { rollout, plan } = status ?? {};
  const tried = rollout?.canary === revision && isOpen(rollout) && rollout.phase !== 'Loading';
  if (!tried) return undefined;
  const seated = new Set((plan?.assignments ?? []).filter(({ admitted }) => admitted).map(({ item }) => item));
  const lost = items.filter((item) => !seated.has(item));
  return lost.length === 0 ? undefined : `${lost.join(', ')} lost its place on a GPU: what serves needs it`;
}

/** The status of a rollout with what its engines lack, while they come up. Pure. */
export function withPlaces(status: RolloutStatus, short: string | undefined): RolloutStatus {
  if (!isOpen(status) || status.phase !== 'Loading') return status;
  if (short !== undefined) return { ...status, reason: 'NoPlace', message: short.slice(0, 512) };
  return status.reason === 'NoPlace' ? { ...status, reason: 'Loading', message: 'its engines are coming up' } : status;
}
