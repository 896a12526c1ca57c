// hack, bench/operator: load and failures of the operator's benchmark. May import any package.

/** Load and events that a subject is tested with. */
export interface Scenario {
  readonly name: string;
  readonly objects: number;
  /** Created a second; Infinity: all at once. */
  readonly rate: number;
  /** Objects take sandboxes that wait. */
  readonly warm?: boolean;
  /** The leader gets this signal when half of the objects are ready; another process stands by. */
  readonly kill?: 'SIGKILL' | 'SIGTERM';
  /** Seconds of rest with all objects there, in which the CPU is measured. */
  readonly idleSeconds?: number;
}

export const scenarios: readonly Scenario[] = [
  { name: 'rate', objects: 500, rate: 50 },
  { name: 'burst', objects: 1000, rate: Infinity },
  { name: 'sustained', objects: 2000, rate: 100, idleSeconds: 30 },
  { name: 'warm', objects: 100, rate: 20, warm: true },
  { name: 'kill', objects: 2000, rate: Infinity, kill: 'SIGKILL' },
  { name: 'term', objects: 2000, rate: Infinity, kill: 'SIGTERM' },
];

export interface Choice {
  readonly only?: string | undefined;
  readonly objects?: number | undefined;
  readonly rate?: number | undefined;
}

/** A pool holds no more sandboxes that wait. */
const mostWarm = 100;

/** The scenarios that are asked for, with other sizes when those are asked for. Throws when there is none of a name. Pure. */
export function choose({ only, objects, rate }: Choice): readonly Scenario[] {
  const names = only?.split(',') ?? scenarios.map(({ name }) => name);
  return names.map((name) => {
    const found = scenarios.find((scenario) => scenario.name === name);
    if (found === undefined) throw new Error(`there is no scenario "${name}"; known: ${scenarios.map((one) => one.name).join(', ')}`);
    const size = objects ?? found.objects;
    return {
      ...found,
      objects: found.warm === true ? Math.min(size, mostWarm) : size,
      rate: Number.isFinite(found.rate) && rate !== undefined ? rate : found.rate,
    };
  });
}
