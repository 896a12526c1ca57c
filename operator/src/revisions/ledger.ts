import { createHash } from 'node:crypto';
import { type ShadowReport, fieldManagers } from '@agentfleet/protocol/api';
import { probabilityBin } from '@agentfleet/protocol/inference';
import type { ArmEvidence } from '../rollout/index.ts';
import { addBins, noBins, addShadow, mostShadowTasks, noShadow, type ShadowTallies } from './shadow.ts';
import {
  compareVersions,
  controllerReference,
  isAlreadyExists,
  isConflict,
  isNotFound,
  ResourceClient,
  type Informer,
  type KubeObject,
  type Transport,
} from '@agentfleet/kube';
import { type ConfigMap, resources } from '../runtime/resources.ts';

/** The sample that the end of one task is for its arm. */
export interface Sample {
  readonly uid: string;
  readonly revision: string;
  /** Revision of the verifier that judged it; what counts where a model is tried. */
  readonly verifier?: string;
  /** Undefined: it ended for a reason that is not the arm's, and counts for nothing. */
  readonly passed: boolean | undefined;
  readonly acts: { readonly vetoed: number; readonly total: number };
  /** Undefined: no rollback was due. */
  readonly rolledBack: boolean | undefined;
  /** Set where a person cancelled it and had it undone: no evidence about the task, but about the acts that passed. Absent: no. */
  readonly revoked?: true;
  readonly energy: number | undefined;
  /** Calibrated probability of the last decision; undefined: none was reported. */
  readonly pSuccess?: number;
  /** Of a task that was assigned while the rollout was in shadow, which counts for no arm: its copies; null: there were none. */
  readonly shadow?: ShadowReport | null;
}

/** Counts of one revision. */
export interface Tallies extends Pick<ArmEvidence, 'tasks' | 'acts' | 'passedActs' | 'scores' | 'rollbacks' | 'energies'> {
  /** Tasks that ended for a reason that is not theirs. */
  readonly excluded: number;
}

/** The book of one rollout: sums, and who is in them already. */
interface Ledger {
  readonly rollout: string;
  readonly arms: Readonly<Record<string, Tallies>>;
  readonly counted: ReadonlySet<string>;
  /** Of copies of requests; absent: no task of a shadow phase has ended. */
  readonly shadow?: ShadowTallies;
}

/** Energies of an arm that are kept: enough for a test of distributions, few enough for a ConfigMap. */
const mostEnergies = 2000;

/** Tasks of one rollout that are counted: their marks are 8 bytes each, and a ConfigMap holds 1 MiB with what is beside them. */
export const mostTasks = 100_000;

const nothing: Tallies = {
  tasks: { passed: 0, total: 0 },
  acts: { vetoed: 0, total: 0 },
  passedActs: { missed: 0, total: 0 },
  scores: noBins,
  rollbacks: { verified: 0, total: 0 },
  energies: [],
  excluded: 0,
};

/** Tallies of a revision of which nothing was counted. */
export const noTallies = nothing;

export function emptyLedger(rollout: string): Ledger {
  return { rollout, arms: {}, counted: new Set() };
}

/** 48 bits of a task's uid: two of 100,000 tasks are taken for one in one rollout of 50,000. */
function markOf(uid: string): string {
  return createHash('sha256').update(uid).digest('base64').slice(0, 8);
}

/** Adds a sample to the passed acts. Where none passed nothing can have been missed. What was undone went wrong, whatever its end is. */
function addMissed(to: Tallies['passedActs'], { passed, revoked, acts, rolledBack }: Sample): Tallies['passedActs'] {
  if (acts.total <= acts.vetoed || (passed === undefined && revoked !== true)) return to;
  return { missed: to.missed + Number(passed === false || rolledBack !== undefined), total: to.total + 1 };
}

function add(to: Tallies, sample: Sample): Tallies {
  const { passed, acts, rolledBack, energy, pSuccess } = sample;
  const passedActs = addMissed(to.passedActs, sample);
  if (passed === undefined) return { ...to, passedActs, excluded: to.excluded + 1 };
  return {
    ...to,
    tasks: { passed: to.tasks.passed + Number(passed), total: to.tasks.total + 1 },
    acts: { vetoed: to.acts.vetoed + acts.vetoed, total: to.acts.total + acts.total },
    passedActs,
    scores: pSuccess === undefined ? to.scores : addBins(to.scores, noBins.with(probabilityBin(pSuccess), 1)),
    rollbacks:
      rolledBack === undefined ? to.rollbacks : { verified: to.rollbacks.verified + Number(rolledBack), total: to.rollbacks.total + 1 },
    energies: energy === undefined || to.energies.length >= mostEnergies ? to.energies : [...to.energies, energy],
  };
}

/** The ledger with samples, each task once; the same ledger when all of them are in it, or it is full. Pure. */
export function countLedger(ledger: Ledger, samples: readonly Sample[]): Ledger {
  const arms: Record<string, Tallies> = { ...ledger.arms };
  const counted = new Set(ledger.counted);
  let { shadow } = ledger;
  for (const sample of samples) {
    const mark = markOf(sample.uid);
    if (counted.has(mark) || counted.size >= mostTasks) continue;
    if (sample.shadow !== undefined && (shadow?.tasks ?? 0) >= mostShadowTasks) continue;
    counted.add(mark);
    if (sample.shadow !== undefined) shadow = addShadow(shadow ?? noShadow, sample.shadow, sample.passed);
    else arms[sample.revision] = add(arms[sample.revision] ?? nothing, sample);
  }
  return counted.size === ledger.counted.size ? ledger : { ...ledger, arms, counted, ...(shadow === undefined ? {} : { shadow }) };
}

/** Keys of the ConfigMap. */
const ledgerKeys = { counts: 'counts.json', counted: 'counted' } as const;

/** Content of the ConfigMap of a ledger. Pure. */
export function ledgerText({ rollout, arms, counted, shadow }: Ledger): Readonly<Record<string, string>> {
  return { [ledgerKeys.counts]: JSON.stringify({ rollout, arms, shadow }), [ledgerKeys.counted]: [...counted].join('') };
}

/** Reports whether a value has all that the model has, in the same types. */
function isLike(value: unknown, model: unknown): boolean {
  if (typeof model !== 'object' || model === null) return typeof value === typeof model;
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(model)) return false;
  return Object.entries(model).every(([key, part]) => isLike((value as Readonly<Record<string, unknown>>)[key], part));
}

type Sums = Omit<Ledger, 'counted'>;

/** The sums in a ConfigMap; undefined: it holds none; null: they cannot be read, as people can write what they like there. */
function sumsIn(data: Readonly<Record<string, string>> | undefined): Sums | null | undefined {
  const text = data?.[ledgerKeys.counts];
  if (text === undefined) return undefined;
  try {
    const kept = JSON.parse(text) as Sums;
    // An operator from before some of the sums wrote none of them: its counts hold nothing of these.
    const arms = Object.fromEntries(Object.entries(kept.arms).map(([revision, sums]) => [revision, { ...nothing, ...sums }]));
    const shadow = { ...noShadow, ...kept.shadow };
    const whole =
      typeof kept.rollout === 'string' && isLike(shadow, noShadow) && Object.values(arms).every((sums) => isLike(sums, nothing));
    return whole ? { rollout: kept.rollout, arms, ...(kept.shadow === undefined ? {} : { shadow }) } : null;
  } catch {
    return null;
  }
}

/** Returns the tallies of copies that a ConfigMap holds for a rollout; undefined: none, or none that can be read. Pure. */
export function shadowIn(data: Readonly<Record<string, string>> | undefined, rollout: string): ShadowTallies | undefined {
  const sums = sumsIn(data);
  return sums?.rollout === rollout ? sums.shadow : undefined;
}

/** The ledger in a ConfigMap; empty for another rollout, and where there is none; null: it cannot be read. Pure. */
export function ledgerOf(data: Readonly<Record<string, string>> | undefined, rollout: string): Ledger | null {
  const sums = sumsIn(data);
  if (sums === null) return null;
  if (sums?.rollout !== rollout) return emptyLedger(rollout);
  return { ...sums, counted: new Set(data?.[ledgerKeys.counted]?.match(/.{8}/g) ?? []) };
}

/** A book that cannot be read. Nothing is counted over it: it may have been written by a newer operator. */
export class DamagedBook extends Error {
  constructor(place: LedgerPlace) {
    super(
      `ConfigMap ${keyOfPlace(place)}, which holds what the tasks of the rollout came to, is damaged in key ${ledgerKeys.counts}; correct it, or delete it, by which they are counted anew`,
    );
  }
}

/** Owner of a ledger, and its name and labels. */
export interface LedgerPlace {
  readonly owner: KubeObject;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Known {
  readonly uid: string | undefined;
  readonly version: string | undefined;
  readonly data: ConfigMap['data'];
  /** The ledger in it that was read last. */
  readonly ledger: Ledger | undefined;
}

/**
 * Writer of the books of rollouts, each in one ConfigMap: the sums and the tasks that are in them change in one write, which
 * holds for one version only. So no task counts twice, whichever process crashes and whatever a cache shows.
 */
export class LedgerWriter {
  readonly #client: ResourceClient<ConfigMap>;
  readonly #cache: Informer<ConfigMap>;
  readonly #known = new Map<string, Known>();

  constructor(transport: Transport, cache: Informer<ConfigMap>) {
    this.#client = new ResourceClient(transport, resources.configMaps);
    this.#cache = cache;
  }

  /** The book of a rollout as far as it is known to be written. @throws DamagedBook */
  read(place: LedgerPlace, rollout: string): Ledger {
    const known = this.#newest(place);
    if (known.ledger?.rollout === rollout) return known.ledger;
    const ledger = ledgerOf(known.data, rollout);
    if (ledger === null) throw new DamagedBook(place);
    this.#known.set(keyOfPlace(place), { ...known, ledger });
    return ledger;
  }

  /** Another text in the book, as far as it is known to be written; undefined when there is none. */
  text(place: LedgerPlace, name: string): string | undefined {
    return this.#newest(place).data?.[name];
  }

  /** Writes another text into the book. False: another writer was faster; it has to be tried again. */
  async write(place: LedgerPlace, name: string, text: string, signal: AbortSignal): Promise<boolean> {
    return this.#change(place, { [name]: text }, this.#newest(place).ledger, signal);
  }

  /** Adds samples. False: another writer was faster; it has to be tried again. */
  async count(place: LedgerPlace, rollout: string, samples: readonly Sample[], signal: AbortSignal): Promise<boolean> {
    const before = this.read(place, rollout);
    const ledger = countLedger(before, samples);
    if (ledger === before) return true;
    return this.#change(place, ledgerText(ledger), ledger, signal);
  }

  #newest(place: LedgerPlace): Known {
    const key = keyOfPlace(place);
    const known = this.#known.get(key);
    const cached = this.#cache.lister.get(key);
    if (known !== undefined && !this.#isNewer(key, cached, known)) return known;
    const { uid, resourceVersion: version } = cached?.metadata ?? {};
    const newest = { uid, version, data: cached?.data, ledger: undefined };
    this.#known.set(key, newest);
    return newest;
  }

  /** Reports whether the cache is newer than what is known. Gone is newer than what it has shown, and not than what it will show. */
  #isNewer(key: string, cached: ConfigMap | undefined, { uid, version }: Known): boolean {
    if (version === undefined) return true;
    if (cached === undefined) return this.#cache.hasSeen(version, key);
    if (cached.metadata.uid !== uid) return true;
    const order = compareVersions(cached.metadata.resourceVersion, version);
    return order === undefined || order > 0;
  }

  /** `ledger`: the one in the book afterwards. */
  async #change(
    place: LedgerPlace,
    change: Readonly<Record<string, string>>,
    ledger: Ledger | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const key = keyOfPlace(place);
    const known = this.#known.get(key);
    try {
      const written = await this.#write(place, known, change, signal);
      const { uid, resourceVersion: version } = written.metadata;
      this.#known.set(key, { uid, version, data: written.data, ledger });
      return true;
    } catch (error) {
      this.#known.delete(key);
      if (isNotFound(error)) return false;
      if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      await this.#readLive(place, signal);
      return false;
    }
  }

  /** Reads a book that another client wrote, as the cache may not show it for long: only the server knows what stands there now. */
  async #readLive(place: LedgerPlace, signal: AbortSignal): Promise<void> {
    const namespace = place.owner.metadata.namespace ?? '';
    const live = await this.#client.find({ namespace, name: place.name }, { signal });
    if (live === undefined) return;
    const { uid, resourceVersion: version } = live.metadata;
    this.#known.set(keyOfPlace(place), { uid, version, data: live.data, ledger: undefined });
  }

  #write({ owner, name, labels }: LedgerPlace, known: Known | undefined, data: Readonly<Record<string, string>>, signal: AbortSignal) {
    const namespace = owner.metadata.namespace ?? '';
    const fieldManager = fieldManagers.operator;
    if (known?.version === undefined) {
      const metadata = { name, namespace, labels, ownerReferences: [controllerReference(owner)] };
      return this.#client.create({ metadata, data }, { fieldManager, signal });
    }
    const precondition = { resourceVersion: known.version, ...(known.uid === undefined ? {} : { uid: known.uid }) };
    return this.#client.patch({ namespace, name }, { metadata: precondition, data }, { fieldManager, signal });
  }
}

const keyOfPlace = ({ owner, name }: LedgerPlace): string => `${owner.metadata.namespace ?? ''}/${name}`;
