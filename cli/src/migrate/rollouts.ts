// `spec.rollout` of before RolloutPolicy, as the spec of one.

import { obeyedWeight, type RolloutGate } from '@agentfleet/protocol/api';

type Fields = Readonly<Record<string, unknown>>;

/** Result of the migration of a rollout. */
interface MigratedRollout {
  readonly policy: Fields;
  readonly notes: readonly string[];
}

interface Renamed {
  readonly metric: string;
  /** The bound and its new name. */
  readonly bound: readonly [string, 'atLeast' | 'atMost'];
  /** A second bound, which is a gate of its own now. */
  readonly second?: readonly [string, string, string];
}

const metrics: Readonly<Record<string, Renamed>> = {
  TaskPass: { metric: 'TaskLoss', bound: ['margin', 'atMost'] },
  ErrorRate: { metric: 'ErrorRate', bound: ['max', 'atMost'] },
  Latency: { metric: 'LatencyRatio', bound: ['maxRatio', 'atMost'] },
  EnergyShift: { metric: 'EnergyShift', bound: ['maxDistance', 'atMost'] },
  VetoRate: { metric: 'VetoRatio', bound: ['maxRatio', 'atMost'] },
  DraftAcceptance: { metric: 'DraftAcceptance', bound: ['min', 'atLeast'] },
  RollbackSuccess: { metric: 'RollbackSuccess', bound: ['min', 'atLeast'] },
  AUC: { metric: 'AUC', bound: ['min', 'atLeast'], second: ['maxLoss', 'AUCLoss', 'loss'] },
  ECE: { metric: 'ECE', bound: ['max', 'atMost'], second: ['maxGain', 'ECEGain', 'gain'] },
  GoldenSet: { metric: 'GoldenLoss', bound: ['maxLoss', 'atMost'] },
  Agreement: { metric: 'Agreement', bound: ['minKappa', 'atLeast'] },
  FalseVeto: { metric: 'FalseVeto', bound: ['max', 'atMost'] },
  Brier: { metric: 'BrierRatio', bound: ['maxRatio', 'atMost'] },
  CalibrationMap: { metric: 'CalibrationMap', bound: ['minDistance', 'atLeast'] },
  ScoreDrift: { metric: 'ScoreDrift', bound: ['max', 'atMost'] },
  MissedVeto: { metric: 'MissedVeto', bound: ['margin', 'atMost'] },
};

/** Parameters that are constants now; another value than the constant is lost, which is reported. */
const constants: Readonly<Record<string, string | number>> = {
  alpha: '0.01',
  beta: '0.045',
  baseRate: '0.9',
  quantile: '0.95',
  maxInFlight: 4,
  failureLimit: 0,
  stepTimeoutSeconds: 86_400,
  cooldownSeconds: 3600,
  keepLastGreen: 2,
};

function dropped(where: string, name: string, value: unknown): readonly string[] {
  const constant = constants[name];
  if (constant === undefined || Number(value) === Number(constant)) return [];
  return [`${where}.${name}: ${String(value)} is ${constant} from now on, and no field any more`];
}

interface Gates {
  readonly gates: readonly Fields[];
  readonly notes: readonly string[];
}

const memberOf = (gate: Fields): Fields =>
  (Object.entries(gate).find(([key, value]) => key !== 'name' && key !== 'type' && typeof value === 'object')?.[1] ?? {}) as Fields;

function queryOf(gate: Fields): Gates {
  const { min, max, failureLimit, ...rest } = memberOf(gate);
  const bounds = { ...(min === undefined ? {} : { atLeast: min }), ...(max === undefined ? {} : { atMost: max }) };
  return {
    gates: [{ name: gate['name'], metric: 'Query', ...rest, ...bounds }],
    notes: dropped(`gate ${String(gate['name'])}`, 'failureLimit', failureLimit ?? 0),
  };
}

/** One gate as one or two of the new form. @throws RangeError for a type that never was */
function gateOf(gate: Fields): Gates {
  const { name, type } = gate;
  if (type === 'Query') return queryOf(gate);
  const known = metrics[String(type)];
  if (known === undefined) throw new RangeError(`spec.rollout.gates[${String(name)}].type: there is no gate ${String(type)}; correct it`);
  const { metric, bound, second } = known;
  const member = memberOf(gate);
  const { minSamples, templateRef, timeoutSeconds } = member;
  const common = minSamples === undefined || metric === 'TaskLoss' ? {} : { minSamples };
  const golden = templateRef === undefined ? {} : { templateRef };
  const late = `gate ${String(name)}.timeoutSeconds: ${String(timeoutSeconds)} is gone: write activeDeadlineSeconds in the pod of the PodTemplate`;
  const of = (field: string, side: string): Fields => (member[field] === undefined ? {} : { [side]: member[field] });
  const notes = [
    ...Object.entries(member).flatMap(([field, value]) => dropped(`gate ${String(name)}`, field, value)),
    ...(timeoutSeconds === undefined ? [] : [late]),
  ];
  const first = { name, metric, ...golden, ...of(bound[0], bound[1]), ...common };
  if (second === undefined) return { gates: [first], notes };
  const [field, other, suffix] = second;
  return { gates: [first, { name: `${String(name)}-${suffix}`, metric: other, ...of(field, 'atMost'), ...common }], notes };
}

const without = (fields: unknown, name: string): Fields | undefined => {
  if (fields === undefined) return undefined;
  const { [name]: _, ...rest } = fields as Fields;
  return rest;
};

const lost = (fields: unknown, where: string, name: string): readonly string[] =>
  dropped(where, name, (fields as Fields | undefined)?.[name] ?? constants[name]);

/** Steps whose weights its gates can compare; undefined: none has to change. */
function lowered({ steps }: Fields, gates: readonly Fields[]): readonly Fields[] | undefined {
  if (!Array.isArray(steps)) return undefined;
  const weightOf = ({ weight }: Fields): unknown =>
    typeof weight === 'number' ? obeyedWeight(weight, gates as readonly Pick<RolloutGate, 'metric'>[]) : weight;
  const all = steps as readonly Fields[];
  return all.every((step) => weightOf(step) === step['weight']) ? undefined : all.map((step) => ({ ...step, weight: weightOf(step) }));
}

/** A rollout as a policy. Pure. @throws RangeError for what cannot be one */
export function migrateRollout(rollout: Fields): MigratedRollout {
  const { surge, canarySlot, onMissingData, gates = [], shadow, rollback, prometheus, stepTimeoutSeconds, ...rest } = rollout;
  const found = (gates as readonly Fields[]).map(gateOf);
  const written = found.flatMap((gate) => gate.gates);
  const steps = lowered(rest, written);
  const notes = [
    ...found.flatMap((gate) => gate.notes),
    ...(steps === undefined ? [] : ['steps[].weight is 90 at most beside a gate that compares with the stable revision']),
    ...lost(shadow, 'shadow', 'maxInFlight'),
    ...lost(rollback, 'rollback', 'keepLastGreen'),
    ...lost(rollback, 'rollback', 'cooldownSeconds'),
    ...dropped('rollout', 'stepTimeoutSeconds', stepTimeoutSeconds ?? constants['stepTimeoutSeconds']),
    ...Object.entries({ surge, canarySlot })
      .filter(([, value]) => value !== undefined && value !== 'Auto')
      .map(([name, value]) => `${name} ${JSON.stringify(value)} is gone: a canary is beside what serves, else anywhere`),
    ...(onMissingData === 'Abort' ? ['onMissingData "Abort" is gone: a rollout without its data is held'] : []),
  ];
  const parts = {
    shadow: without(shadow, 'maxInFlight'),
    steps,
    gates: found.length === 0 ? undefined : written,
    rollback: without(without(rollback, 'keepLastGreen'), 'cooldownSeconds'),
    prometheus: without(prometheus, 'timeoutSeconds'),
  };
  const kept = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
  const byHand =
    rest['strategy'] === 'Manual' ? { strategy: 'Canary', promotion: { ...(rest['promotion'] as Fields), requireApproval: true } } : {};
  return { policy: { ...rest, ...byHand, ...kept }, notes };
}
