import { findCondition, keyOf, type Handler, type KubeObject } from '@agentfleet/kube';
import { conditionFaults } from '@agentfleet/kube/testing';
import { toMicros, type AgentTask, type Usage } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { isUnclaimed } from '../../../pools/resolve.ts';
import type { Pod } from '../../../runtime/resources.ts';
import { decisionAbout } from '../approvals.ts';
import { schemaFaults } from './objects.ts';

/** Calls handlers with every version; an `Informer` does. */
export interface Followed<T extends KubeObject> {
  addHandler(handler: Handler<T>): unknown;
}

/** Returns the amounts that budgets and caps count: tokens, millionths of money, calls. */
function counted(usage?: Pick<Usage, 'tokensIn' | 'tokensOut' | 'cost' | 'toolCalls'>): readonly number[] {
  const { tokensIn = 0, tokensOut = 0, cost = '0', toolCalls = 0 } = usage ?? {};
  return [tokensIn, tokensOut, Number(toMicros(cost)), toolCalls];
}

/**
 * Watches every version of tasks and pods, and collects what breaks a promise: the epoch only grows, and with every new
 * worker, sandbox or attempt; there is at most one sandbox, and it never changes hands; what is finished stays so; the totals are the sum of the
 * attempts; attempts are closed once; what was decided about an act stays; the clock stands while one waits; conditions and status fit the schema.
 */
export class Invariants {
  readonly faults: string[] = [];
  readonly #pods = new Map<string, Pod>();

  constructor(caches: { readonly tasks: Followed<AgentTask>; readonly pods: Followed<Pod> }) {
    caches.tasks.addHandler({
      onAdd: (task) => this.#check(undefined, task),
      onUpdate: (old, task) => this.#check(old, task),
    });
    caches.pods.addHandler({
      onAdd: (pod) => this.#pod(pod),
      onUpdate: (_, pod) => this.#pod(pod),
      onDelete: (pod) => void this.#pods.delete(keyOf(pod)),
    });
  }

  #pod(pod: Pod): void {
    if (pod.metadata.labels?.[labels.component] !== 'sandbox') return;
    const before = this.#pods.get(keyOf(pod));
    this.#pods.set(keyOf(pod), pod);
    const owner = pod.metadata.ownerReferences?.[0]?.uid;
    const had = before?.metadata.uid === pod.metadata.uid ? before?.metadata.ownerReferences?.[0]?.uid : undefined;
    if (had !== undefined && had !== owner) this.faults.push(`sandbox ${pod.metadata.name} went from one task to another`);
    if (isUnclaimed(pod) !== (owner === undefined)) this.faults.push(`sandbox ${pod.metadata.name} waits and has an owner, or neither`);
    if (owner === undefined) return;
    const same = [...this.#pods.values()].filter((other) => other.metadata.ownerReferences?.[0]?.uid === owner);
    if (same.length > 1) this.faults.push(`two sandboxes: ${same.map(({ metadata }) => metadata.name).join(', ')}`);
  }

  #check(old: AgentTask | undefined, task: AgentTask): void {
    const fault = (text: string): number => this.faults.push(`${task.metadata.name}: ${text}`);
    if (task.status?.conditions === undefined) return;
    for (const text of conditionFaults(task)) fault(text);
    const schema = schemaFaults(structuredClone(task));
    if (schema !== '') fault(schema);
    this.#books(task, fault);
    approvalFaults(task, fault);
    if (old !== undefined) this.#step(old, task, fault);
  }

  #books({ status }: AgentTask, fault: (text: string) => void): void {
    const { attempts = [], totals } = status ?? {};
    const numbers = attempts.map(({ number }) => number);
    if (new Set(numbers).size !== numbers.length) fault(`an attempt is closed twice: ${numbers.join(', ')}`);
    const paid = attempts.map(({ usage }) => counted(usage)).reduce((all, each) => all.map((sum, at) => sum + (each[at] ?? 0)), counted());
    const booked = counted(totals?.usage);
    if (paid.join() !== booked.join()) fault(`totals ${booked.join()} are not ${paid.join()}`);
  }

  #step(old: AgentTask, task: AgentTask, fault: (text: string) => void): void {
    if (old.status?.finished === 'true' && task.status?.finished !== 'true') fault('a finished task goes on');
    for (const decision of old.status?.approvals ?? []) {
      const now = decisionAbout(task.status?.approvals ?? [], decision.action);
      if (JSON.stringify(now) !== JSON.stringify(decision)) fault(`a decision about ${decision.action} was changed`);
    }
    if (old.status?.finished === 'true' && old.status.phase !== task.status?.phase) fault('a finished task has another phase');
    const [before, after] = [old.status?.assignment, task.status?.assignment];
    if (before === undefined) return;
    if (after === undefined) {
      fault('the assignment is gone');
      return;
    }
    if (after.epoch < before.epoch) fault(`epoch ${before.epoch} → ${after.epoch}`);
    const moved = (['worker', 'workerNamespace', 'sandbox', 'attempt'] as const).some((field) => before[field] !== after[field]);
    if (moved && after.epoch === before.epoch) fault(`another assignment under epoch ${after.epoch}`);
    if (after.attempt < before.attempt) fault(`attempt ${before.attempt} → ${after.attempt}`);
  }
}

function approvalFaults({ status }: AgentTask, fault: (text: string) => void): void {
  const actions = (status?.approvals ?? []).map(({ action }) => action);
  if (new Set(actions).size !== actions.length) fault(`an act is decided twice: ${actions.join(', ')}`);
  const waits = findCondition(status?.conditions, 'AwaitingApproval')?.status === 'True';
  if (waits !== (status?.phase === 'AwaitingApproval')) fault('condition AwaitingApproval and phase differ');
  if (waits && status?.clock?.pausedAt === undefined) fault('an act waits, and the clock runs');
}
