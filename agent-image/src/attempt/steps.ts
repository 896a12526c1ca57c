import type { ControlStep } from '@agentfleet/protocol/inference';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import type { TriedNote } from './notes.ts';
import type { Scope } from './scope.ts';

/** Most experts that a planner weighs. */
const maxProposers = 16;

/** Names of the experts that propose, in the order of the brief: what a planner weighs and what `ControlStep.expert` counts. */
export function proposers({ experts }: Pick<PoolBrief, 'experts'>): readonly string[] {
  return experts
    .filter(({ role }) => role === 'Generalist' || role === 'Specialist')
    .slice(0, maxProposers)
    .map(({ name }) => name);
}

/** What a note tells about its step beside the result, for the planner of whoever goes on. */
export interface StepFacts extends Omit<ControlStep, 'result' | 'expert' | 'entropyNats' | 'marginNats' | 'energy' | 'pSuccess'> {
  /** Who proposed it. */
  readonly expert: string;
}

/** What the decision about a candidate was based on. */
export interface StepSignals {
  readonly risk: number | null;
  readonly energy: number | null;
  readonly pSuccess: number | null;
  readonly margin: number | null;
  readonly entropyNats: number | null;
  readonly k: number;
  readonly deliberate: boolean;
  readonly degraded: readonly string[];
}

/** A tried candidate as the planner sees it; null for a note that tells too little. */
export function controlStep({ result, facts, signals }: TriedNote, experts: readonly string[]): ControlStep | null {
  if (facts === undefined) return null;
  const { expert, ...rest } = facts;
  return {
    ...rest,
    result,
    expert: experts.indexOf(expert),
    ...known('entropyNats', signals?.entropyNats, 0, 100),
    ...known('marginNats', signals?.margin, 0, 1000),
    ...known('energy', signals?.energy, -1e6, 1e6),
    ...known('pSuccess', signals?.pSuccess, 0, 1),
  };
}

/** A measure inside the bounds of its schema; left out where it is not known. */
function known<K extends string>(name: K, value: number | null | undefined, min: number, max: number): Partial<Record<K, number>> {
  if (value === undefined || value === null || !Number.isFinite(value)) return {};
  return { [name]: Math.min(max, Math.max(min, value)) } as Partial<Record<K, number>>;
}

/** Share of the task's budget and time that is used, 0…1: the bound that is nearest counts. */
export function budgetUsed({ context: { task, pool, used }, meter }: Pick<Scope, 'context' | 'meter'>): number {
  const { budget, deadlineSeconds } = task.spec;
  const now = meter.usage();
  const share = (of: 'wallSeconds' | 'toolCalls', bound: number | undefined): number =>
    bound === undefined ? 0 : (used.earlier[of] + now[of]) / Math.max(1, bound);
  const shares = [
    share('wallSeconds', budget.wallSeconds ?? pool.maxBudget.wallSeconds),
    share('toolCalls', budget.toolCalls ?? pool.maxBudget.toolCalls),
    share('wallSeconds', deadlineSeconds),
    meter.modelShare(),
  ];
  return Math.min(1, Math.max(...shares));
}
