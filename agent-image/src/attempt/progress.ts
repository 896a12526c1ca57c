import { changeNode, addNode, endPlan, establish, findNode, firstUnmet, initialPlan, noFacts, planDigest } from '../plan/index.ts';
import type { Fact, Facts, NodeChange, PlanNode } from '../plan/index.ts';
import { AttemptFailure } from './failure.ts';
import type { Meter } from './meter.ts';
import type { AttemptContext, Report } from './ports.ts';

const maxMessage = 256;

/** Where the attempt is: the current plan, the facts that hold, and what is told about it. The only state that phases share. */
export class Progress {
  #plan: PlanNode;
  #facts: Facts = noFacts;
  #steps = 0;
  #done = 0;
  #total = 0;
  readonly #context: AttemptContext;
  readonly #meter: Meter;

  constructor(context: AttemptContext, meter: Meter) {
    this.#context = context;
    this.#meter = meter;
    this.#plan = initialPlan(context.task.spec.goal);
  }

  get plan(): PlanNode {
    return this.#plan;
  }

  /** Begins a node. @throws AttemptFailure when what its contract requires does not hold: a fault of the engine */
  begin(id: string, message: string): void {
    const node = findNode(this.#plan, id);
    this.#require(id, node?.contract.requires ?? []);
    this.#change(id, { state: 'Running', attempts: (node?.attempts ?? 0) + 1 });
    this.say(message, { urgent: true });
  }

  /** Ends a node as done and holds it to its contract. */
  finish(id: string, change: NodeChange = {}): void {
    this.#require(id, findNode(this.#plan, id)?.contract.establishes ?? []);
    this.#change(id, { ...change, state: 'Done' });
    this.say(null, { urgent: true });
  }

  change(id: string, change: NodeChange): void {
    this.#change(id, change);
  }

  /** Adds a step below a node and begins it; gives its id back. */
  step(parent: string, intent: string, p: number | undefined): string {
    this.#steps += 1;
    const id = `r${this.#steps}`;
    const contract = { requires: ['TreeClean'], establishes: [] } as const;
    this.#plan = addNode(this.#plan, parent, {
      id,
      kind: 'Step',
      intent,
      state: 'Running',
      attempts: 1,
      contract,
      ...(p !== undefined && { p }),
    });
    this.#require(id, contract.requires);
    return id;
  }

  establish(...facts: readonly Fact[]): void {
    this.#facts = establish(this.#facts, facts);
  }

  revoke(fact: Fact): void {
    this.#facts = new Set([...this.#facts].filter((known) => known !== fact));
  }

  /** How many candidates were judged, and how many are known in all. */
  count(done: number, total: number): void {
    this.#done = done;
    this.#total = Math.max(total, done);
  }

  /** Ends the plan with the attempt; what was counted is all there is. Returns what is to be reported. */
  end(result: 'Succeeded' | 'Failed' | 'Stopped'): Report {
    this.#plan = endPlan(this.#plan, ({ Succeeded: 'Done', Failed: 'Failed', Stopped: 'Dropped' } as const)[result]);
    this.#total = this.#done;
    return this.#report();
  }

  /** Tells what is going on; null keeps the message as it is. */
  say(message: string | null, options: { readonly urgent?: boolean } = {}, more: Report = {}): void {
    if (message !== null) this.#message = message;
    this.#context.report({ ...this.#report(), usage: this.#meter.usage(), ...more }, options);
  }

  #report(): Report {
    const message = Array.from(this.#message).slice(0, maxMessage).join('');
    const progress = { done: Math.min(this.#done, 100_000), total: Math.min(this.#total, 100_000), message };
    return { progress, plan: [...planDigest(this.#plan)] };
  }

  #message = '';

  #change(id: string, change: NodeChange): void {
    this.#plan = changeNode(this.#plan, id, change);
  }

  #require(id: string, facts: readonly Fact[]): void {
    const unmet = firstUnmet(facts, this.#facts);
    if (unmet === null) return;
    throw new AttemptFailure(
      'AgentError',
      'ContractBroken',
      `node ${id} of the plan needs ${unmet}, which does not hold; report this fault`,
    );
  }
}
