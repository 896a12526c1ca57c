// operator, rollout/gates: table of the rollout phases in which each gate counts. May import statistics, routing and protocol.
import type { Gate } from './gate.ts';

/** Source of the evidence of a gate, which decides in which phase it counts. */
type Source =
  /** A Job, before any task: looked at whenever the engines answer. */
  | 'Job'
  /** Labelled acts, measured by a Job or reported by the verifier: whenever the engines answer, so that a worse one gets no task. */
  | 'Acts'
  /** Copies of requests: while the revision is in shadow; what it said last stands. */
  | 'Copies'
  /** Scores that a verifier gives to live acts: those of copies in shadow, those of tasks while it is tried. */
  | 'Scores'
  /** Figures that the engines report of themselves, for requests of any caller: in shadow, and while it is tried. */
  | 'Engines'
  /** Tasks that work with the revision, and what only they may bring: while it is tried. */
  | 'Tasks';

/** The one table of which gate speaks when. */
const sources: Readonly<Record<Gate['type'], Source>> = {
  GoldenLoss: 'Job',
  Agreement: 'Copies',
  FalseVeto: 'Copies',
  ErrorRate: 'Engines',
  LatencyRatio: 'Engines',
  DraftAcceptance: 'Engines',
  AUC: 'Acts',
  AUCLoss: 'Acts',
  ECE: 'Acts',
  ECEGain: 'Acts',
  BrierRatio: 'Acts',
  CalibrationMap: 'Acts',
  ScoreDrift: 'Scores',
  TaskLoss: 'Tasks',
  VetoRatio: 'Tasks',
  EnergyShift: 'Tasks',
  RollbackSuccess: 'Tasks',
  MissedVeto: 'Tasks',
  // It may be about tasks, and only who wrote it knows.
  Query: 'Tasks',
};

const speaking = {
  Loading: ['Job', 'Acts'],
  Shadowing: ['Job', 'Acts', 'Copies', 'Scores', 'Engines'],
  Canary: ['Job', 'Acts', 'Scores', 'Engines', 'Tasks'],
} as const satisfies Readonly<Record<string, readonly Source[]>>;

/** Reports whether a gate is looked at in a phase. Pure. */
export function speaks(type: Gate['type'], phase: string): boolean {
  return phase in speaking && speaking[phase as keyof typeof speaking].some((source) => source === sources[type]);
}

/** Gates that have to pass before the first task, by where their evidence comes from. Pure. */
export function mustPassBefore(type: Gate['type']): 'Shadowing' | 'Canary' | undefined {
  if (sources[type] === 'Job') return 'Shadowing';
  return sources[type] === 'Copies' ? 'Canary' : undefined;
}
